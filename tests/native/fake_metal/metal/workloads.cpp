// Launches: binaries loaded, room in the ring, traces; and the programs that the runtime itself runs.
#include <algorithm>
#include <utility>

#include "../script/world.hpp"
#include "../tallies.hpp"
#include "programs.hpp"

using fake::Arrived;
using fake::Asked;

namespace tt::tt_metal {
namespace {

constexpr int kRingEntriesMost = 7;
constexpr size_t kActiveEthernet = 1;  // the ring in which every launch lies at the base

void finalize(const detail::ProgramImpl& program, IDevice* device) {
    static std::vector<std::shared_ptr<KernelGroup>> groups;
    static uint64_t nobody_looks_inside;
    const auto& kernels = reinterpret_cast<std::unordered_map<uint32_t, std::shared_ptr<Kernel>>&>(nobody_looks_inside);
    for (uint32_t core_type = 0; core_type < 3; ++core_type) {
        uint32_t offset = 0, size = core_type == 0 ? fake::text_bytes(program) : 0;
        Asked call("finalize_kernel_bins", device, core_type, &kernels, &groups, fake::kTextOffset, &offset, &size);
        program_dispatch::finalize_kernel_bins(device, core_type, kernels, groups, fake::kTextOffset, offset, size);
        call.got(offset);
    }
}

}  // namespace

void experimental::inspector::EmitMeshWorkloadDebugEntry(distributed::MeshWorkload& workload, size_t runtime_id,
                                                         std::string_view name, std::vector<TensorSpec> specs,
                                                         std::optional<distributed::MeshTraceId> trace) {
    const Arrived here("EmitMeshWorkloadDebugEntry", &workload, runtime_id, name.data(), name.size(),
                       specs.empty() ? 0 : specs.back().words[18], trace ? trace->value : 0);
}

void program_dispatch::finalize_kernel_bins(IDevice* device, uint32_t core_type,
                                            const std::unordered_map<uint32_t, std::shared_ptr<Kernel>>& kernels,
                                            std::vector<std::shared_ptr<KernelGroup>>& groups, uint32_t base,
                                            uint32_t& text_offset, uint32_t& text_size) {
    const Arrived here("finalize_kernel_bins", device, core_type, &kernels, &groups, base, &text_offset, &text_size);
    text_offset = fake::gave("finalize_kernel_bins", core_type == 0 ? base : 0);
}

void WorkerConfigBufferMgr::init_add_buffer(uint32_t base, uint32_t size) {
    const Arrived here("init_add_buffer", this, base, size);
    rings.push_back({base, size});
    reserved.push_back({base, 0, 0});
    tails.push_back(base);
}
std::pair<WorkerConfigBufferMgr::Sync, std::vector<WorkerConfigBufferMgr::Room>&> WorkerConfigBufferMgr::reserve(
    const std::vector<uint32_t>& sizes) {
    const Arrived here("reserve", this, &sizes);
    for (size_t ring = 0; ring < sizes.size(); ++ring) {
        const bool fits = tails[ring] + sizes[ring] <= rings[ring].address + rings[ring].size;
        reserved[ring] = {fits && ring != kActiveEthernet ? tails[ring] : rings[ring].address, sizes[ring], 0};
    }
    const Room& wanted = reserved[0];
    const bool is_on_ethernet = sizes[kActiveEthernet] != 0;
    const bool is_in_use = std::ranges::any_of(entries, [&](const Room& one) {
        const bool is_over = one.address < wanted.address + wanted.size && wanted.address < one.address + one.size;
        return (is_over && one.size != 0 && wanted.size != 0) || (is_on_ethernet && one.sync_count == last_on_ethernet);
    });
    const auto taken = std::ranges::count_if(entries, [](const Room& one) { return one.size != 0; });
    const bool is_full = !has_room || (wanted.size != 0 && taken >= kRingEntriesMost);
    const bool is_needed = !entries.empty() && (is_full || is_in_use);
    const Sync sync{is_needed, is_needed ? entries.front().sync_count : 0};
    fake::gave("reserve", fake::mixed(sync.is_needed, sync.count, &reserved));
    return {sync, reserved};
}
void WorkerConfigBufferMgr::free(uint32_t count) {
    const Arrived here("ring_free", this, count);
    std::erase_if(entries, [&](const Room& one) { return one.sync_count <= count; });
    has_room = true;
}
void WorkerConfigBufferMgr::alloc(uint32_t count) {
    const Arrived here("ring_alloc", this, count);
    Room taken = reserved[0];
    taken.sync_count = count;
    entries.push_back(taken);
    if (reserved[kActiveEthernet].size != 0) last_on_ethernet = count;
    for (size_t ring = 0; ring < reserved.size(); ++ring)
        if (reserved[ring].size != 0) tails[ring] = reserved[ring].address + reserved[ring].size;
}
void WorkerConfigBufferMgr::mark_completely_full(uint32_t count) {
    const Arrived here("mark_completely_full", this, count);
    entries.assign(1, {rings[0].address, rings[0].size, count});
    tails[0] = rings[0].address + rings[0].size;
    has_room = false;
}

// Their programs are made and compiled before; here they go to the chip.
void Device::configure_fabric() {
    const Arrived here("configure_fabric", this);
    fake::world().finalize_system_program(*this);
}
void Device::configure_command_queue_programs(DispatchTopology* topology) {
    const Arrived here("configure_command_queue_programs", this, topology);
    fake::world().finalize_system_program(*this);
}

namespace distributed {

MeshWorkloadImpl::MeshWorkloadImpl() = default;
MeshWorkloadImpl::~MeshWorkloadImpl() = default;

void MeshWorkloadImpl::add_program(const MeshCoordinateRange& range, Program&& program) {
    const Arrived here("add_program", this, &range, &program);
    programs.push_back(std::move(program));
}

void MeshWorkloadImpl::finalize_offsets(MeshDevice* device) {
    const Arrived here("finalize_offsets", this, device);
    if (std::exchange(is_finalized, true)) return;
    for (const auto& program : programs) finalize(*program.impl, device);
}

// The binaries go to DRAM once, from the top down; the copy to the workers is under way when this returns.
void MeshWorkloadImpl::load_binaries(MeshCommandQueue& queue) {
    const Arrived here("load_binaries", this, &queue);
    if (binaries || binary_bytes == 0) return;
    const Buffer::Form form{.id = binary_id,
                            .size_bytes = binary_bytes,
                            .page_bytes = 2048,
                            .type = BufferType::DRAM,
                            .is_bottom_up = false};
    binaries = std::make_unique<Buffer>(mesh, mesh->impl->impl.get(), form);
    statuses[static_cast<uint64_t>(mesh->id())] = ProgramBinaryStatus::InFlight;
}
void MeshWorkloadImpl::set_program_binary_status(uint64_t mesh_id, ProgramBinaryStatus status) {
    const Arrived here("set_program_binary_status", this, mesh_id, static_cast<int>(status));
    statuses[mesh_id] = status;
}
ProgramBinaryStatus MeshWorkloadImpl::get_program_binary_status(uint64_t mesh_id) const {
    const auto known = statuses.find(mesh_id);
    return known == statuses.end() ? ProgramBinaryStatus::NotSent : known->second;
}

// Everything that one launch does, in the runtime's order; a cached program skips what is done already.
void EnqueueMeshWorkload(MeshCommandQueue& queue, MeshWorkload& workload, bool is_blocking) {
    const Arrived here("EnqueueMeshWorkload", &queue, &workload, is_blocking);
    fake::world().launch(queue, workload);
}

// ---- traces: what users call, and what is called by it

MeshTraceId MeshDevice::begin_mesh_trace(MeshCommandQueue& queue) {
    const Arrived here("begin_mesh_trace", this, &queue);
    const MeshTraceId trace{fake::gave("begin_mesh_trace", fake::world().next_trace++)};
    Asked call("impl_begin_mesh_trace", impl.get(), uint8_t{0}, &trace);
    impl->begin_mesh_trace(0, trace);
    call.back();
    return trace;
}
void MeshDevice::end_mesh_trace(MeshCommandQueue& queue, const MeshTraceId& trace) {
    const Arrived here("end_mesh_trace", this, &queue, &trace);
    Asked call("impl_end_mesh_trace", impl.get(), uint8_t{0}, &trace);
    impl->end_mesh_trace(0, trace);
    call.back();
}
void MeshDevice::replay_mesh_trace(MeshCommandQueue& queue, const MeshTraceId& trace, bool is_blocking) {
    const Arrived here("replay_mesh_trace", this, &queue, &trace, is_blocking);
    Asked call("impl_replay_mesh_trace", impl.get(), uint8_t{0}, &trace, is_blocking);
    impl->replay_mesh_trace(0, trace, is_blocking);
    call.back();
}
void MeshDevice::release_mesh_trace(const MeshTraceId& trace) {
    const Arrived here("release_mesh_trace", this, &trace);
    Asked call("impl_release_mesh_trace", impl.get(), &trace);
    impl->release_mesh_trace(trace);
    call.back();
}

// The host's books of the ring are marked full for the capture, and put aside until its end; here both at once.
void MeshDeviceImpl::begin_mesh_trace(uint8_t queue, const MeshTraceId& trace) {
    const Arrived here("impl_begin_mesh_trace", this, queue, &trace);
    auto& ring = fake::world().ring;
    if (ring.rings.empty()) return;
    const auto put_aside = ring;
    Asked call("mark_completely_full", &ring, 0u);
    ring.mark_completely_full(0);
    call.back();
    ring = put_aside;
}
// The commands of a trace go to memory of its own when the capture ends.
void MeshDeviceImpl::end_mesh_trace(uint8_t queue, const MeshTraceId& trace) {
    const Arrived here("impl_end_mesh_trace", this, queue, &trace);
    auto& world = fake::world();
    const Buffer::Form form{.id = world.trace_buffer_id,
                            .size_bytes = world.trace_bytes,
                            .page_bytes = 2048,
                            .type = fake::board.has_trace_region ? BufferType::TRACE : BufferType::DRAM};
    auto* const mesh = &world.meshes.at(static_cast<uint64_t>(id()));
    world.traces.put(trace.value, new Buffer(mesh, impl.get(), form));
}
void MeshDeviceImpl::replay_mesh_trace(uint8_t queue, const MeshTraceId& trace, bool is_blocking) {
    const Arrived here("impl_replay_mesh_trace", this, queue, &trace, is_blocking);
    auto& ring = fake::world().ring;
    Asked call("mark_completely_full", &ring, fake::world().worker_count);
    ring.mark_completely_full(fake::world().worker_count);
    call.back();
}
void MeshDeviceImpl::release_mesh_trace(const MeshTraceId& trace) {
    const Arrived here("impl_release_mesh_trace", this, &trace);
    fake::world().traces.drop(trace.value);
}

const MeshCoordinate& MeshCoordinateRange::start_coord() const { return start; }
const MeshCoordinate& MeshCoordinateRange::end_coord() const { return end; }
std::span<const uint32_t> MeshCoordinate::coords() const { return numbers; }

}  // namespace distributed
}  // namespace tt::tt_metal
