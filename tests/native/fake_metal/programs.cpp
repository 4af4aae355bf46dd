#include "programs.hpp"

#include <pthread.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tallies.hpp"

using fake::Arrived;
using fake::Asked;

namespace tt::tt_metal {
namespace {

constexpr uint64_t kBuildKey = 2752194815558545679;
constexpr uint64_t kCbAlignment = 32;

uint64_t after(uint64_t address, uint64_t bytes) {
    return (address + bytes + kCbAlignment - 1) / kCbAlignment * kCbAlignment;
}

bool holds(const CoreRange& range, const xy_pair& core) {
    return core.x >= range.start.x && core.x <= range.end.x && core.y >= range.start.y && core.y <= range.end.y;
}

struct Compiler {
    const detail::ProgramImpl* program;
    const IDevice* device;
    const std::shared_ptr<Kernel>* kernel;
    pthread_t thread;
};

// Told on a thread of its own, as the runtime's compilers do.
void* kernel_compiled(void* given) {
    static const JitBuildOptions options;
    const auto& [program, device, compiled, thread] = *static_cast<Compiler*>(given);
    const auto& kernel = *compiled;
    const std::string path = "cache/tt-metal-cache" + std::to_string(kBuildKey) + "/kernels/";
    kernel->is_compiled = true;
    Asked call("program_kernel_compile_finished", program, device, &kernel, &options, &path);
    Inspector::program_kernel_compile_finished(program, device, kernel, options, path);
    call.back();
    return nullptr;
}

}  // namespace

KernelSource::KernelSource(std::string text, SourceType kind, std::filesystem::path from)
    : source(std::move(text)), type(kind), path(std::move(from)) {}
KernelSource KernelSource::from_path(ContextId context, const std::filesystem::path& path) {
    const Arrived here("from_path", context.value, &path);
    return {path.text, FILE_PATH, path};
}

Kernel::Kernel(Form asked) : form(std::move(asked)), full_name_(form.name + "/1234567890/") {}
Kernel::~Kernel() = default;
std::string Kernel::name() const { return form.name; }
const std::string& Kernel::get_full_kernel_name() const { return full_name_; }
uint32_t Kernel::get_binary_packed_size(IDevice*, int index) const {
    return is_compiled ? form.packed_bytes.at(static_cast<size_t>(index)) : 0;
}
std::vector<CoreRange> Kernel::logical_coreranges() const { return form.cores; }
HalProgrammableCoreType Kernel::get_kernel_core_type() const { return form.core_type; }
DataMovementKernel::~DataMovementKernel() = default;
uint8_t DataMovementKernel::expected_num_binaries() const { return 1; }
ComputeKernel::~ComputeKernel() = default;
uint8_t ComputeKernel::expected_num_binaries() const { return 3; }
EthernetKernel::~EthernetKernel() = default;
uint8_t EthernetKernel::expected_num_binaries() const { return 1; }

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

ProgramImpl::ProgramImpl(uint64_t id) : id_(id) {
    Asked call("program_created", this);
    Inspector::program_created(this);
    call.back();
}
ProgramImpl::~ProgramImpl() {
    if (has_places) {
        Asked call("deallocate_circular_buffers", this);
        deallocate_circular_buffers();
        call.back();
    }
    Asked call("program_destroyed", this);
    Inspector::program_destroyed(this);
    call.back();
}
uint64_t ProgramImpl::get_id() const { return id_; }

uint32_t ProgramImpl::add_kernel(const std::shared_ptr<Kernel>& kernel, const HalProgrammableCoreType& core_type) {
    const Arrived here("add_kernel", this, &kernel, static_cast<int>(core_type));
    kernels.push_back(kernel);
    return fake::gave("add_kernel", static_cast<uint32_t>(kernels.size() - 1));
}

void ProgramImpl::compile(IDevice* device, bool) {
    if (std::exchange(is_compiled, true)) {
        Asked call("program_compile_already_exists", this, device, kBuildKey);
        Inspector::program_compile_already_exists(this, device, kBuildKey);
        return call.back();
    }
    Compiler compilers[8];
    for (size_t i = 0; i < kernels.size(); ++i) {
        compilers[i] = {this, device, &kernels[i], {}};
        pthread_create(&compilers[i].thread, nullptr, kernel_compiled, &compilers[i]);
    }
    for (size_t i = 0; i < kernels.size(); ++i) pthread_join(compilers[i].thread, nullptr);
    Asked call("program_compile_finished", this, device, kBuildKey);
    Inspector::program_compile_finished(this, device, kBuildKey);
    call.back();
}

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

void ProgramImpl::allocate_dataflow_buffers(const IDevice* device) {
    const Arrived here("allocate_dataflow_buffers", this, device);
    if (!std::exchange(has_dataflow_buffers, true))
        region_end = marked(dataflow_buffers, std::max(region_end, fake::kL1Base));
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
std::span<const std::shared_ptr<CircularBufferImpl>> ProgramImpl::circular_buffers() const { return cbs; }
// All cores of its kernels: by type of core, each once.
std::vector<std::vector<xy_pair>> ProgramImpl::logical_cores() const {
    std::vector<std::vector<xy_pair>> all(3);
    for (uint64_t x = 0; x < 16; ++x)
        for (uint64_t y = 0; y < 16; ++y)
            for (size_t type = 0; type < all.size(); ++type)
                if (runs_on({x, y}, type)) all[type].push_back({x, y});
    return all;
}
bool ProgramImpl::runs_on(const xy_pair& core, size_t core_type) const {
    for (const auto& kernel : kernels)
        for (const auto& range : kernel->form.cores)
            if (static_cast<size_t>(kernel->form.core_type) == core_type && holds(range, core)) return true;
    return false;
}
void ProgramImpl::finalize_offsets(IDevice* device) { const Arrived here("program_finalize_offsets", this, device); }
size_t ProgramImpl::num_kernels() const { return kernels.size(); }

}  // namespace detail

void Inspector::program_created(const detail::ProgramImpl* program) { const Arrived here("program_created", program); }
void Inspector::program_destroyed(const detail::ProgramImpl* program) {
    const Arrived here("program_destroyed", program);
}
void Inspector::program_compile_started(const detail::ProgramImpl*, const IDevice*, uint64_t) {}
void Inspector::program_compile_finished(const detail::ProgramImpl* program, const IDevice* device,
                                         uint64_t build_key) {
    const Arrived here("program_compile_finished", program, device, build_key);
}
void Inspector::program_compile_already_exists(const detail::ProgramImpl* program, const IDevice* device,
                                               uint64_t build_key) {
    const Arrived here("program_compile_already_exists", program, device, build_key);
}
void Inspector::program_kernel_compile_finished(const detail::ProgramImpl* program, const IDevice* device,
                                                const std::shared_ptr<Kernel>& kernel, const JitBuildOptions& options,
                                                const std::string& path) {
    const Arrived here("program_kernel_compile_finished", program, device, &kernel, &options, &path);
}

}  // namespace tt::tt_metal
