// Where circular buffers, dataflow buffers and scratchpads of a program lie in L1, and programs that do not fit there.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "../tallies.hpp"
#include "programs.hpp"

using fake::Arrived;
using fake::Asked;

namespace tt::tt_metal {
namespace {

constexpr uint64_t kCbAlignment = 32;

uint64_t after(uint64_t address, uint64_t bytes) {
    return (address + bytes + kCbAlignment - 1) / kCbAlignment * kCbAlignment;
}

}  // namespace

uint32_t CircularBufferImpl::address() const { return place; }
bool CircularBufferImpl::uses_buffer_index(uint32_t index) const { return index == 0; }
uint32_t CircularBufferImpl::num_pages(uint32_t) const { return pages_; }
uint32_t CircularBufferImpl::page_size(uint32_t) const { return page_bytes_; }
bool CircularBufferImpl::is_on_logical_core(const xy_pair& core) const {
    for (const auto& range : cores)
        if (holds(range, core)) return true;
    return false;
}
bool CircularBufferImpl::is_on_logical_corerange(const CoreRange& range) const {
    return is_on_logical_core(range.start) || is_on_logical_core(range.end);
}
void CircularBufferImpl::set_global_buffer(const Buffer& buffer, uint32_t size_bytes, uint32_t offset_bytes) {
    const Arrived here("set_global_buffer", this, &buffer, size_bytes, offset_bytes);
    global = &buffer;
    Asked call("assign_global_address", this);
    assign_global_address();
    call.back();
}
void CircularBufferImpl::set_global_circular_buffer(const experimental::GlobalCircularBuffer& buffer) {
    const Arrived here("set_global_circular_buffer", this, &buffer);
    global = buffer.buffer;
    place = static_cast<uint32_t>(global->place);
}
void CircularBufferImpl::assign_global_address() {
    const Arrived here("assign_global_address", this);
    place = static_cast<uint32_t>(global->place);
}

namespace detail {

void ProgramImpl::allocate_circular_buffers(const IDevice* device) {
    const Arrived here("allocate_circular_buffers", this, device);
    if (has_places) return;
    has_places = true;
    mesh = dynamic_cast<const distributed::MeshDevice*>(device);
    region_end = fake::kL1Base;
    auto& tracker = GraphTracker::instance();
    for (const auto& cb : cbs) {
        if (cb->global != nullptr) continue;  // of these nobody is told
        const uint64_t size = uint64_t{cb->num_pages(0)} * cb->page_size(0);
        cb->place = static_cast<uint32_t>(region_end);
        region_end = after(region_end, size);
        const CoreRangeSet cores(cb->cores);
        for (const auto& chip : mesh->impl->devices) {
            Asked call("track_allocate_cb", &tracker, &cores, uint64_t{cb->place}, size, false, chip.get());
            tracker.track_allocate_cb(cores, cb->place, size, false, chip.get());
            call.back();
        }
    }
}

void ProgramImpl::deallocate_circular_buffers() {
    const Arrived here("deallocate_circular_buffers", this);
    has_places = false;
    auto& tracker = GraphTracker::instance();
    if (mesh == nullptr || cbs.empty()) return;
    for (const auto& chip : mesh->impl->devices) {
        Asked call("track_deallocate_cb", &tracker, chip.get());
        tracker.track_deallocate_cb(chip.get());
        call.back();
    }
}

void ProgramImpl::CircularBufferAllocator::mark_address(uint64_t address, uint64_t size, uint64_t base) {
    const Arrived here("mark_address", this, address, size, base);
}

namespace {

uint64_t marked(const std::vector<ProgramImpl::Owned>& all, uint64_t address) {
    for (const auto& owned : all)
        for (const auto& range : owned.cores) {
            ProgramImpl::CircularBufferAllocator allocator{range};
            Asked call("mark_address", &allocator, address, owned.size_bytes, fake::kL1Base);
            allocator.mark_address(address, owned.size_bytes, fake::kL1Base);
            call.back();
            if (&range == &owned.cores.back()) address = after(address, owned.size_bytes);
        }
    return address;
}

}  // namespace

uint64_t ProgramImpl::reserve_program_local_l1(const IDevice* device, const CoreRangeSet& cores) {
    const Arrived here("reserve_program_local_l1", this, device, &cores);
    return fake::gave("reserve_program_local_l1", std::max(region_end, fake::kL1Base));
}

namespace {

uint64_t asked_for_room(ProgramImpl& program, const IDevice* device, const CoreRangeSet& cores) {
    Asked call("reserve_program_local_l1", &program, device, &cores);
    return call.got(program.reserve_program_local_l1(device, cores));
}

bool is_among(const std::vector<CoreRange>& ranges, const CoreRange& one,
              bool (*is_alike)(const CoreRange&, const CoreRange&)) {
    for (const auto& range : ranges)
        if (is_alike(range, one)) return true;
    return false;
}
bool are_equal(const CoreRange& a, const CoreRange& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
bool overlap(const CoreRange& a, const CoreRange& b) {
    return a.start.x <= b.end.x && b.start.x <= a.end.x && a.start.y <= b.end.y && b.start.y <= a.end.y;
}

}  // namespace

// There is one allocator for each range of cores that any of them has; a buffer is marked wherever ranges overlap.
void ProgramImpl::place_dataflow_buffer(const IDevice* device, const Owned& buffer) {
    std::vector<CoreRange> allocators;
    for (const auto& other : dataflow_buffers)
        for (const auto& range : other.cores)
            if (!is_among(allocators, range, are_equal)) allocators.push_back(range);
    const uint64_t address = asked_for_room(*this, device, CoreRangeSet(buffer.cores));
    for (const auto& range : allocators) {
        if (!is_among(buffer.cores, range, overlap)) continue;
        asked_for_room(*this, device, CoreRangeSet({range}));
        CircularBufferAllocator allocator{range};
        Asked call("mark_address", &allocator, address, buffer.size_bytes, fake::kL1Base);
        allocator.mark_address(address, buffer.size_bytes, fake::kL1Base);
        call.back();
    }
    region_end = after(address, buffer.size_bytes);
}

void ProgramImpl::allocate_dataflow_buffers(const IDevice* device) {
    const Arrived here("allocate_dataflow_buffers", this, device);
    if (std::exchange(has_dataflow_buffers, true)) return;
    for (const auto& buffer : dataflow_buffers) asked_for_room(*this, device, CoreRangeSet(buffer.cores));
    for (const auto& buffer : dataflow_buffers) place_dataflow_buffer(device, buffer);
}
void ProgramImpl::allocate_scratchpads(const IDevice* device) {
    const Arrived here("allocate_scratchpads", this, device);
    if (!std::exchange(has_scratchpads, true)) region_end = marked(scratchpads, std::max(region_end, fake::kL1Base));
}

namespace {

void refuse_clash(const ProgramImpl& program, const char* what) {
    const auto& l1 = program.mesh->impl->impl->banks[static_cast<size_t>(BufferType::L1)].blocks;
    if (l1.empty() || l1.begin()->first >= program.region_end) return;
    throw std::runtime_error("Statically allocated " + std::string(what) + "s in program " +
                             std::to_string(program.get_id()) +
                             " clash with L1 buffers on core range [0-0 - 7-7]. L1 " + "buffer allocated at " +
                             std::to_string(l1.begin()->first) + " and static " + what + " region ends at " +
                             std::to_string(program.region_end));
}

}  // namespace

void ProgramImpl::validate_circular_buffer_region(const IDevice* device) {
    const Arrived here("validate_circular_buffer_region", this, device);
    if (!cbs.empty()) refuse_clash(*this, "circular buffer");
}
void ProgramImpl::validate_dataflow_buffer_region(const IDevice* device) {
    const Arrived here("validate_dataflow_buffer_region", this, device);
    if (!dataflow_buffers.empty()) refuse_clash(*this, "dataflow buffer");
}
}  // namespace detail
}  // namespace tt::tt_metal
