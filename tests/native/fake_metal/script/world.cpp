#include "world.hpp"

#include <stdexcept>
#include <utility>

#include "../tallies.hpp"

// With its result's place and its result both in plain sight: a library in between must hand on both.
extern "C" void* fake_raw_from_path(void* result, int context, const void* path) asm(
    "_ZN2tt8tt_metal12KernelSource9from_pathEN4ttsl10StrongTypeIiNS0_12ContextIdTagEEERKNSt10filesystem7__cxx114pathE");

namespace fake {
namespace {

using metal::HalProgrammableCoreType;
// Tensix, active and idle ethernet cores: where their rings begin, and their sizes; then launch messages, in slots.
constexpr std::array<std::pair<uint32_t, uint32_t>, 5> kRings{
    {{35168, 70656}, {258336, 640}, {32368, 25600}, {0, 7}, {0, 7}}};
constexpr uint32_t kEthernetBytes = 112;  // what a program takes of the ring of active ethernet cores

uint32_t padded(uint32_t bytes) { return (bytes + 15) / 16 * 16; }

CoreRange core(uint64_t x, uint64_t y) { return {{x, y}, {x, y}}; }

std::shared_ptr<metal::Kernel> made(const std::string& kind, metal::Kernel::Form form) {
    if (kind == "compute") return std::make_shared<metal::ComputeKernel>(std::move(form));
    if (kind == "dram") return std::make_shared<metal::DramKernel>(std::move(form));
    if (kind == "ethernet" || kind == "idle") return std::make_shared<metal::EthernetKernel>(std::move(form));
    return std::make_shared<metal::DataMovementKernel>(std::move(form));
}

void start_ring(metal::WorkerConfigBufferMgr& ring, uint32_t worker_bytes = kRings[0].second) {
    auto lanes = kRings;
    lanes[0].second = worker_bytes;
    for (const auto& [base, size] : lanes) {
        Asked call("init_add_buffer", &ring, base, size);
        ring.init_add_buffer(base, size);
        call.back();
    }
}

metal::WorkerConfigBufferMgr::Sync asked_for_room(metal::WorkerConfigBufferMgr& ring,
                                                  const std::vector<uint32_t>& sizes) {
    Asked call("reserve", &ring, &sizes);
    const auto [sync, rooms] = ring.reserve(sizes);
    call.got(mixed(sync.is_needed, sync.count, &rooms));
    return sync;
}

uint32_t ethernet_bytes(const metal::detail::ProgramImpl& program) {
    for (const auto& kernel : program.kernels)
        if (kernel->form.core_type == HalProgrammableCoreType::ACTIVE_ETH) return kEthernetBytes;
    return 0;
}

// What a first launch does and a cached one does not: compile, find places.
void prepare(metal::detail::ProgramImpl& program, metal::distributed::MeshDevice* mesh) {
    program.compile(mesh, false);
    program.mesh = mesh;
    Asked cbs("allocate_circular_buffers", &program, mesh);
    program.allocate_circular_buffers(mesh);
    cbs.back();
    Asked region("validate_circular_buffer_region", &program, mesh);
    program.validate_circular_buffer_region(mesh);
    region.back();
    Asked dataflow("allocate_dataflow_buffers", &program, mesh);
    program.allocate_dataflow_buffers(mesh);
    dataflow.back();
    Asked pads("allocate_scratchpads", &program, mesh);
    program.allocate_scratchpads(mesh);
    pads.back();
    Asked last("validate_dataflow_buffer_region", &program, mesh);
    program.validate_dataflow_buffer_region(mesh);
    last.back();
}

}  // namespace

// The samples' own dispatch program, and a router on two ethernet cores.
const std::vector<SystemKernel> kDispatchKernels = {
    {"tt_metal/impl/dispatch/kernels/cq_prefetch.cpp", core(0, 9), {30464}},
    {"tt_metal/impl/dispatch/kernels/cq_dispatch.cpp", core(1, 9), {12636}},
    {"tt_metal/impl/dispatch/kernels/cq_dispatch_subordinate.cpp", core(1, 9), {2308}},
    {"tt_metal/impl/dispatch/kernels/cq_dispatch_subordinate_compute.cpp", core(1, 9), {848, 264, 248}}};
const std::vector<SystemKernel> kFabricKernels = {{"tt_metal/fabric/impl/kernels/edm_fabric/fabric_erisc_router.cpp",
                                                   core(0, 0),
                                                   {7772},
                                                   HalProgrammableCoreType::ACTIVE_ETH},
                                                  {"tt_metal/fabric/impl/kernels/edm_fabric/fabric_erisc_router.cpp",
                                                   core(1, 0),
                                                   {8380},
                                                   HalProgrammableCoreType::ACTIVE_ETH}};

uint32_t text_bytes(const metal::detail::ProgramImpl& program) {
    uint32_t sum = 0;
    for (const auto& kernel : program.kernels)
        if (kernel->form.core_type == HalProgrammableCoreType::TENSIX)
            for (const auto bytes : kernel->form.packed_bytes) sum += padded(bytes);
    return sum;
}

World& world() {
    static auto* const one = new World;  // never destroyed: exit handlers still use it
    return *one;
}

void add_kernel(metal::detail::ProgramImpl& program, const std::string& path, metal::Kernel::Form form,
                const std::string& kind) {
    const std::filesystem::path source{path};
    alignas(metal::KernelSource) std::byte room[sizeof(metal::KernelSource)];
    Asked naming("from_path", 0, &source);
    const bool is_same_place = fake_raw_from_path(room, 0, &source) == static_cast<void*>(room);
    if (is_same_place) naming.back();
    auto* named = std::launder(reinterpret_cast<metal::KernelSource*>(room));
    if (named->path.text != path) std::abort();
    named->~KernelSource();
    const auto type = metal::KernelSource::FILE_PATH;
    Asked old("old_kernel_source", static_cast<void*>(room), &path, &type);
    new (room) metal::KernelSource(path, type);
    old.back();
    named->~KernelSource();
    const auto slash = path.rfind('/') + 1;
    form.name = path.substr(slash, path.rfind('.') - slash);
    const auto core_type = form.core_type;
    const auto kernel = made(kind, std::move(form));
    Asked call("add_kernel", &program, &kernel, static_cast<int>(core_type));
    call.got(program.add_kernel(kernel, core_type));
}

void World::add_system_program(metal::Device& device, const std::vector<SystemKernel>& kernels) {
    auto* const program = new metal::Program(next_program++);
    for (const auto& kernel : kernels) {
        const bool is_ethernet = kernel.core_type != HalProgrammableCoreType::TENSIX;
        const char* kind = is_ethernet ? "ethernet" : kernel.packed_bytes.size() == 3 ? "compute" : "data";
        add_kernel(*program->impl, kernel.path, {"", {kernel.cores}, kernel.packed_bytes, kernel.core_type}, kind);
    }
    program->impl->compile(&device, false);
    system_programs.put(opening, program);
    configured = program;
}

void World::finalize_system_program(metal::Device& device) {
    Asked call("program_finalize_offsets", configured->impl.get(), &device);
    configured->impl->finalize_offsets(&device);
    call.back();
}

void World::start_rings(uint64_t count) {
    if (ring.rings.empty()) start_ring(ring);
    for (; count != 0; --count)
        start_ring(*unused_rings.emplace_back(std::make_unique<metal::WorkerConfigBufferMgr>()));
}

void World::start_ring_again(uint32_t worker_bytes) {
    ring = {};
    start_ring(ring, worker_bytes);
}

void World::take_room(const metal::detail::ProgramImpl& program, bool must_wait_for_all) {
    if (ring.rings.empty()) start_ring(ring);
    const uint32_t on_ethernet = ethernet_bytes(program);
    const uint32_t on_workers = text_bytes(program);
    const std::vector<uint32_t> sizes{on_workers == 0 ? 0 : kTextOffset + on_workers, on_ethernet, 0,
                                      on_workers == 0 ? 0u : 1u, on_ethernet == 0 ? 0u : 1u};
    if (must_wait_for_all) {
        asked_for_room(ring, sizes);
        wait_for_all();
    }
    for (auto sync = asked_for_room(ring, sizes); sync.is_needed; sync = asked_for_room(ring, sizes)) {
        Asked call("ring_free", &ring, sync.count);
        ring.free(sync.count);
        call.back();
        asked_for_room(ring, sizes);
    }
    worker_count += static_cast<uint32_t>(board.grid_x * board.grid_y);
    Asked call("ring_alloc", &ring, worker_count);
    ring.alloc(worker_count);
    call.back();
}

// Binaries on their way: nobody may run meanwhile, and the whole ring is free afterwards.
void World::wait_for_all() {
    Asked call("ring_free", &ring, worker_count);
    ring.free(worker_count);
    call.back();
}

void World::launch(metal::distributed::MeshCommandQueue& on, metal::distributed::MeshWorkload& workload) {
    auto& impl = *workload.impl;
    for (const auto& program : impl.programs) prepare(*program.impl, impl.mesh);
    if (const uint64_t id = std::exchange(next_buffer_within, 0); id != 0) {
        const metal::Buffer::Form form{id, 4096, 2048, metal::BufferType::DRAM};
        buffers.put(id, new metal::Buffer(impl.mesh, impl.mesh->impl->impl.get(), form));
    }
    Asked finalizing("finalize_offsets", &impl, impl.mesh);
    impl.finalize_offsets(impl.mesh);
    finalizing.back();
    if (is_slow) return;
    const bool is_first = impl.binaries == nullptr;
    Asked loading("load_binaries", &impl, &on);
    impl.load_binaries(on);
    loading.back();
    const std::lock_guard turn(placing);
    bool must_wait_for_all = is_first;
    for (const auto& program : impl.programs) take_room(*program.impl, std::exchange(must_wait_for_all, false));
    if (is_stuck) return;
    const auto mesh = static_cast<uint64_t>(impl.mesh->id());
    Asked status("set_program_binary_status", &impl, mesh, 2);
    impl.set_program_binary_status(mesh, metal::ProgramBinaryStatus::Committed);
    status.back();
    if (is_failing) throw std::runtime_error("the device does not answer");
}

}  // namespace fake
