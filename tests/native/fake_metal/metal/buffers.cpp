// Buffers and where they lie: the samples' addresses come out when their buffers are asked for in the samples' order.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "../tallies.hpp"
#include "devices.hpp"

using fake::Arrived;
using fake::Asked;

namespace tt::tt_metal {
namespace {

constexpr uint64_t kAlignment = 32;  // of DRAM, also in L1
constexpr const char* kTypeNames[] = {"DRAM", "L1", "SYSTEM_MEMORY", "L1_SMALL", "TRACE"};

uint64_t rounded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
size_t place_of(BufferType type) { return static_cast<size_t>(type); }

// Several threads allocate on one mesh.
std::atomic_flag is_busy;
struct OneAtATime {
    OneAtATime() {
        while (is_busy.test_and_set()) sched_yield();
    }
    ~OneAtATime() { is_busy.clear(); }
};

std::runtime_error out_of_memory(const Buffer& buffer, const Banks& banks) {
    const auto held = banks.statistics();
    const uint64_t per_bank = buffer.aligned_size_per_bank();
    return std::runtime_error("Out of Memory: Not enough space to allocate " + std::to_string(buffer.form.size_bytes) +
                              " B " + kTypeNames[place_of(buffer.form.type)] + " buffer across " +
                              std::to_string(banks.count) + " banks, where each bank needs to store " +
                              std::to_string(per_bank) + " B, but bank size is " + std::to_string(held.total_bytes) +
                              " B (allocated: " + std::to_string(held.allocated_bytes) +
                              " B, free: " + std::to_string(held.free_bytes) +
                              " B, largest free block: " + std::to_string(held.largest_free_bytes) + " B).");
}

}  // namespace

std::optional<uint64_t> Banks::place(uint64_t bytes, bool is_bottom_up) const {
    std::optional<uint64_t> found;
    uint64_t begin = base;
    const auto consider = [&](uint64_t end) {
        if (end - begin < bytes || (found && is_bottom_up)) return;
        found = is_bottom_up ? begin : end - bytes;
    };
    for (const auto& [address, size] : blocks) {
        consider(address);
        begin = address + size;
    }
    consider(base + size_bytes);
    return found;
}

Statistics Banks::statistics() const {
    Statistics all{size_bytes, 0, size_bytes, 0};
    uint64_t begin = base;
    for (const auto& [address, size] : blocks) {
        all.allocated_bytes += size;
        all.largest_free_bytes = std::max(all.largest_free_bytes, address - begin);
        begin = address + size;
    }
    all.largest_free_bytes = std::max(all.largest_free_bytes, base + size_bytes - begin);
    all.free_bytes -= all.allocated_bytes;
    return all;
}

Allocator::Allocator(AllocatorImpl* impl) : impl_(impl) {}
uint32_t Allocator::get_num_banks(const BufferType& type) const { return impl_->banks[place_of(type)].count; }
uint64_t Allocator::get_bank_size(const BufferType& type) const { return impl_->banks[place_of(type)].size_bytes; }
Statistics Allocator::get_statistics(const BufferType& type) const { return impl_->banks[place_of(type)].statistics(); }
uint32_t Allocator::get_alignment(BufferType) const { return kAlignment; }
uint32_t Allocator::get_base_allocator_addr(const HalMemType& memory) const {
    return static_cast<uint32_t>(memory == HalMemType::L1 ? fake::kL1Base : fake::kDramBase);
}

AllocatorImpl::AllocatorImpl() : view_(std::make_unique<Allocator>(this)) {
    const auto cores = static_cast<uint32_t>(fake::board.grid_x * fake::board.grid_y);
    banks[place_of(BufferType::DRAM)] = {fake::kDramBase, fake::kDramTop - fake::kDramBase, fake::kDramBanks, {}};
    banks[place_of(BufferType::TRACE)] = {fake::kDramTop, fake::kTraceTop - fake::kDramTop, fake::kDramBanks, {}};
    banks[place_of(BufferType::L1)] = {fake::kL1Base, fake::kL1Top - fake::kL1Base, cores, {}};
    banks[place_of(BufferType::L1_SMALL)] = {fake::kL1Top, fake::board.l1_small_bytes, cores, {}};
}
const std::unique_ptr<Allocator>& AllocatorImpl::view() const { return view_; }

thread_local bool AllocatorImpl::is_ending_thread = false;

uint64_t AllocatorImpl::allocate_buffer(Buffer* buffer) {
    if (is_ending_thread) pthread_exit(nullptr);
    const Arrived here("allocate_buffer", this, buffer);
    const OneAtATime turn;
    if (!buffer->form.cores.empty()) return fake::gave("allocate_buffer", allocate_by_core(*buffer));
    auto& held = banks[place_of(buffer->form.type)];
    const uint64_t bytes = rounded(buffer->aligned_size_per_bank());
    const auto address = held.place(bytes, buffer->form.is_bottom_up);
    if (!address) throw out_of_memory(*buffer, held);
    if (buffer->form.type == BufferType::L1_SMALL && buffer->form.core_count == 0)
        throw std::runtime_error("L1_SMALL only supports sharded allocations");
    held.blocks[*address] = bytes;
    return fake::gave("allocate_buffer", *address);
}
// Each core gives memory where it has room. What all banks hold together is left out: no script has both.
uint64_t AllocatorImpl::allocate_by_core(Buffer& buffer) {
    if (std::getenv("TT_METAL_ALLOCATOR_MODE_HYBRID") == nullptr)
        throw std::runtime_error("Per-core allocation requires AllocatorMode::HYBRID when opening the device");
    const uint64_t bytes = rounded(buffer.aligned_size_per_bank());
    std::unordered_map<xy_pair, uint64_t> found;
    for (const auto& core : buffer.form.cores) {
        auto& held = cores.try_emplace(core, Banks{fake::kL1Base, fake::kL1Top - fake::kL1Base, 1, {}}).first->second;
        const auto address = held.place(bytes, buffer.form.is_bottom_up);
        if (!address) throw out_of_memory(buffer, held);
        found[core] = *address;
    }
    for (const auto& [core, address] : found) cores.at(core).blocks[address] = bytes;
    buffer.core_places = std::move(found);
    return buffer.core_places.at(buffer.form.cores.front());
}
void AllocatorImpl::deallocate_buffer(Buffer* buffer) {
    const OneAtATime turn;
    for (const auto& [core, address] : buffer->core_places) cores.at(core).blocks.erase(address);
    if (buffer->core_places.empty()) banks[place_of(buffer->form.type)].blocks.erase(buffer->place);
}

// Allocates as the runtime does: a capture may take over; whoever tracks is told afterwards.
Buffer::Buffer(IDevice* device, AllocatorImpl* allocator, const Form& asked)
    : form(asked), holder(device), owner(allocator) {
    auto& tracker = GraphTracker::instance();
    Asked hooking("hook_allocate", &tracker, this);
    is_hooked = hooking.got(tracker.hook_allocate(this));
    if (!is_hooked) {
        Asked call("allocate_buffer", allocator, this);
        place = call.got(allocator->allocate_buffer(this));
    }
    Asked call("track_allocate", &tracker, this);
    tracker.track_allocate(this);
    call.back();
}
Buffer::~Buffer() {
    auto& tracker = GraphTracker::instance();
    Asked call("track_deallocate", &tracker, this);
    tracker.track_deallocate(this);
    call.back();
    if (!is_hooked && owner != nullptr) owner->deallocate_buffer(this);
}
uint64_t Buffer::aligned_page_size() const { return rounded(form.page_bytes); }
uint64_t Buffer::aligned_size_per_bank() const {
    const uint64_t pages = (form.size_bytes + form.page_bytes - 1) / form.page_bytes;
    const uint64_t banks = form.core_count ? form.core_count : owner->banks[place_of(form.type)].count;
    return (pages + banks - 1) / banks * aligned_page_size();
}
std::optional<uint32_t> Buffer::num_cores() const {
    return form.core_count ? std::optional<uint32_t>(form.core_count) : std::nullopt;
}
bool Buffer::is_allocated() const { return true; }
bool Buffer::is_dram() const { return form.type == BufferType::DRAM || form.type == BufferType::TRACE; }
bool Buffer::is_l1() const { return !is_dram(); }
bool Buffer::is_trace() const { return form.type == BufferType::TRACE; }
uint32_t Buffer::num_pages() const { return static_cast<uint32_t>(form.size_bytes / form.page_bytes); }

bool experimental::per_core_allocation::is_per_core_allocation(const Buffer& buffer) {
    return !buffer.form.cores.empty();
}
const std::unordered_map<xy_pair, uint64_t>& experimental::per_core_allocation::get_per_core_addresses(
    const Buffer& buffer) {
    return buffer.core_places;
}

GraphTracker& GraphTracker::instance() {
    static GraphTracker tracker;
    return tracker;
}
void GraphTracker::track_allocate(const Buffer* buffer) { const Arrived here("track_allocate", this, buffer); }
void GraphTracker::track_deallocate(Buffer* buffer) { const Arrived here("track_deallocate", this, buffer); }
bool GraphTracker::hook_allocate(const Buffer* buffer) {
    const Arrived here("hook_allocate", this, buffer);
    return fake::gave("hook_allocate", is_capturing_only);
}
bool GraphTracker::hook_deallocate(Buffer*) { return is_capturing_only; }
void GraphTracker::track_allocate_cb(const CoreRangeSet& cores, uint64_t address, uint64_t size, bool is_global,
                                     const IDevice* device) {
    const Arrived here("track_allocate_cb", this, &cores, address, size, is_global, device);
}
void GraphTracker::track_deallocate_cb(const IDevice* device) {
    const Arrived here("track_deallocate_cb", this, device);
}

}  // namespace tt::tt_metal
