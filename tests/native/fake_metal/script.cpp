// The stand-in's script: one order a line, one answer a line. What a script makes has the numbers that it gives.
//
//   board 8 9 [without-counters]           grid of the chips; whether the runtime keeps counters in shared memory
//   create MESH ROWS CHIP...               initialize MESH   dispatch MESH        fabric MESH
//   open MESH ROWS CHIP...                 close MESH        (open: created and initialized)
//   buffer ID MESH TYPE SIZE PAGE [CORES]  free ID           capture on|off       churn MESH FIRST COUNT
//   programs MESH FIRST COUNT              (made, compiled, laid out and dropped again)
//   program ID                             kernel PROGRAM data|compute|ethernet PATH CORES BYTES,...
//   cb PROGRAM CORES PAGES PAGE [BUFFER]   dataflow PROGRAM CORES SIZE            scratchpad PROGRAM CORES SIZE
//   workload ID MESH BYTES BUFFER PROGRAM[@ROW,COLUMN-ROW,COLUMN]...
//   enqueue ID                             clear ID          drop PROGRAM
//   move PROGRAM NUMBER BUFFER [remote]    fill              slow on|off          stuck on|off
//   begin MESH    end MESH TRACE BUFFER BYTES    replay MESH TRACE    release MESH TRACE
//   tallies                                later exit|end ORDER                   repeat COUNT ORDER
//
// CORES is X,Y-X,Y, several joined by ";". An order that throws answers "throws TEXT".
#include <cstdio>

#include "tallies.hpp"
#include "world.hpp"

namespace fake {
namespace {

using metal::distributed::MeshDevice;
using metal::distributed::MeshDeviceImpl;
using Words = std::vector<std::string>;

uint64_t number(const std::string& text) { return std::stoull(text); }
uint32_t half(const std::string& text) { return static_cast<uint32_t>(number(text)); }

Words parted(const std::string& text, char between) {
    Words parts;
    for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
        end = std::min(text.find(between, at), text.size());
        if (end > at) parts.push_back(text.substr(at, end - at));
    }
    return parts;
}

std::vector<CoreRange> cores_of(const std::string& text) {
    std::vector<CoreRange> ranges;
    for (const auto& part : parted(text, ';')) {
        CoreRange range{};
        std::sscanf(part.c_str(), "%lu,%lu-%lu,%lu", &range.start.x, &range.start.y, &range.end.x, &range.end.y);
        ranges.push_back(range);
    }
    return ranges;
}

metal::BufferType type_of(const std::string& name) {
    if (name == "DRAM") return metal::BufferType::DRAM;
    if (name == "L1_SMALL") return metal::BufferType::L1_SMALL;
    return name == "TRACE" ? metal::BufferType::TRACE : metal::BufferType::L1;
}

metal::Buffer::Form form_of(const Words& words) {
    metal::Buffer::Form form{number(words[1]), number(words[4]), number(words[5]), type_of(words[3])};
    form.is_bottom_up = form.type != metal::BufferType::L1;
    if (words.size() > 6) {
        form.core_count = half(words[6]);
        form.layout = 2;  // sharded by height
    }
    return form;
}

// The runtime's counters in shared memory, by the constructor of either generation: a release exports one of them.
void make_counters(int chip) {
    const uint64_t unique_id = board.first_unique_id + static_cast<uint64_t>(chip);
    alignas(8) std::byte room[sizeof(metal::SharedMemoryStatsProvider)];
    void* const place = room;
    Asked call("stats_provider", place, unique_id, chip, false, true);
    new (place) metal::SharedMemoryStatsProvider(unique_id, chip, false, true);
    call.back();
    Asked old("old_stats_provider", place, unique_id, chip);
    new (place) metal::SharedMemoryStatsProvider(unique_id, chip);
    old.back();
}

// Opening makes two meshes: one of the whole system, never initialised, and the user's, a child of it.
std::string create_mesh(const Words& words) {
    auto& made = world();
    const uint64_t mesh = number(words[1]);
    std::vector<int> chips;
    for (size_t i = 3; i < words.size(); ++i) chips.push_back(static_cast<int>(number(words[i])));
    for (size_t i = 0; board.has_own_counters && i < chips.size(); ++i) make_counters(chips[i]);
    for (const uint64_t id : {mesh - 1, mesh}) {
        auto impl = std::make_unique<MeshDeviceImpl>(static_cast<int>(id), number(words[2]), chips);
        const auto parent = id == mesh ? std::optional<int>(static_cast<int>(mesh - 1)) : std::nullopt;
        Asked call("mesh_device_created", impl.get(), parent.value_or(-1));
        metal::Inspector::mesh_device_created(impl.get(), parent);
        call.back();
        made.meshes.put(id, new MeshDevice(std::move(impl)));
    }
    return "created";
}

std::string initialize_mesh(const Words& words) {
    const auto* impl = world().meshes.at(number(words[1])).impl.get();
    Asked call("mesh_device_initialized", impl);
    metal::Inspector::mesh_device_initialized(impl);
    call.back();
    return "opened";
}

std::string open_mesh(const Words& words) {
    create_mesh(words);
    return initialize_mesh(words);
}

std::string close_mesh(const Words& words) {
    auto& made = world();
    const uint64_t mesh = number(words[1]);
    for (const uint64_t id : {mesh - 1, mesh}) {
        auto* const impl = made.meshes.at(id).impl.get();
        Asked closing("close_impl", impl, &made.meshes.at(id));
        closing.got(impl->close_impl(&made.meshes.at(id)));
        Asked call("mesh_device_destroyed", impl);
        metal::Inspector::mesh_device_destroyed(impl);
        call.back();
        while (auto* program = made.system_programs.take(mesh)) delete program;  // before the user's mesh is closed
        made.closed.put(id, made.meshes.take(id));
    }
    return "closed";
}

std::string add_dispatch(const Words& words) {
    world().opening = number(words[1]);
    for (const auto& chip : world().meshes.at(world().opening).impl->devices) {
        world().add_system_program(*chip, kDispatchKernels);
        Asked call("configure_command_queue_programs", chip.get(), static_cast<void*>(nullptr));
        chip->configure_command_queue_programs(nullptr);
        call.back();
    }
    return "running";
}

std::string add_fabric(const Words& words) {
    world().opening = number(words[1]);
    for (const auto& chip : world().meshes.at(world().opening).impl->devices) {
        world().add_system_program(*chip, kFabricKernels);
        Asked call("configure_fabric", chip.get());
        chip->configure_fabric();
        call.back();
    }
    return "running";
}

std::string add_buffer(const Words& words) {
    auto& mesh = world().meshes.at(number(words[2]));
    auto* const buffer = new metal::Buffer(&mesh, mesh.impl->impl.get(), form_of(words));
    world().buffers.put(buffer->form.id, buffer);
    return std::to_string(buffer->place);
}

// Allocates and frees at full speed; any number of threads may do it at once.
std::string churn(const Words& words) {
    auto& mesh = world().meshes.at(number(words[1]));
    std::array<std::unique_ptr<metal::Buffer>, 16> held;
    for (uint64_t i = 0, first = number(words[2]); i < number(words[3]); ++i) {
        auto& place = held[i % held.size()];
        place.reset();
        const metal::Buffer::Form form{first + i, (i % 5 + 1) * 4096, 2048, metal::BufferType::DRAM};
        place = std::make_unique<metal::Buffer>(&mesh, mesh.impl->impl.get(), form);
    }
    for (auto& buffer : held) static_cast<void>(words.size() > 4 ? buffer.release() : (buffer.reset(), nullptr));
    return "churned";
}

// Makes, compiles and destroys programs; any number of threads may do it at once.
std::string make_and_drop_programs(const Words& words) {
    auto& mesh = world().meshes.at(number(words[1]));
    for (uint64_t i = 0, first = number(words[2]); i < number(words[3]); ++i) {
        metal::Program program(first + i);
        const CoreRange cores{{0, 0}, {3, 3}};
        add_kernel(*program.impl, "ttnn/some_kernel.cpp", {"", {cores}, {64}}, "data");
        program.impl->cbs.push_back(std::make_shared<metal::CircularBufferImpl>(std::vector{cores}, 1, 2048));
        program.impl->compile(&mesh, false);
        Asked call("allocate_circular_buffers", program.impl.get(), &mesh);
        program.impl->allocate_circular_buffers(&mesh);
        call.back();
    }
    return "dropped";
}

metal::detail::ProgramImpl& program_of(const std::string& id) {
    for (const auto* workload : world().workloads)
        for (size_t i = 0; workload != nullptr && i < workload->impl->programs.size(); ++i)
            if (workload->impl->programs[i].impl->get_id() == number(id)) return *workload->impl->programs[i].impl;
    return *world().programs.at(number(id)).impl;
}

std::string give_kernel(const Words& words) {
    metal::Kernel::Form form{"", cores_of(words[4]), {}, metal::HalProgrammableCoreType::TENSIX};
    for (const auto& bytes : parted(words[5], ',')) form.packed_bytes.push_back(half(bytes));
    if (words[2] == "ethernet") form.core_type = metal::HalProgrammableCoreType::ACTIVE_ETH;
    add_kernel(program_of(words[1]), words[3], std::move(form), words[2]);
    return "added";
}

std::string give_cb(const Words& words) {
    auto cb = std::make_shared<metal::CircularBufferImpl>(cores_of(words[2]), half(words[3]), half(words[4]));
    if (words.size() > 5) cb->global = &world().buffers.at(number(words[5]));
    if (cb->global != nullptr) {
        Asked call("assign_global_address", cb.get());
        cb->assign_global_address();
        call.back();
    }
    program_of(words[1]).cbs.push_back(std::move(cb));
    return "added";
}

std::string move_cb(const Words& words) {
    auto& cb = *program_of(words[1]).cbs.at(number(words[2]));
    const auto& buffer = world().buffers.at(number(words[3]));
    if (words.size() > 4) {  // through a global circular buffer
        const metal::experimental::GlobalCircularBuffer global{&buffer};
        Asked call("set_global_circular_buffer", &cb, &global);
        cb.set_global_circular_buffer(global);
        call.back();
        return std::to_string(cb.address());
    }
    const auto size = static_cast<uint32_t>(buffer.form.size_bytes);
    Asked call("set_global_buffer", &cb, &buffer, size, 0u);
    cb.set_global_buffer(buffer, size, 0);
    call.back();
    return std::to_string(cb.address());
}

// "7@0,1-1,1": those rows and columns of the mesh; without, all of it.
metal::distributed::MeshCoordinateRange range_of(const std::string& text, const MeshDeviceImpl& mesh) {
    metal::distributed::MeshCoordinateRange range{{}, {}};
    auto& [first, last] = range;
    last.numbers = {static_cast<uint32_t>(mesh.num_rows() - 1), static_cast<uint32_t>(mesh.num_cols() - 1)};
    if (const auto at = text.find('@'); at != std::string::npos)
        std::sscanf(text.c_str() + at, "@%u,%u-%u,%u", &first.numbers[0], &first.numbers[1], &last.numbers[0],
                    &last.numbers[1]);
    return range;
}

std::string make_workload(const Words& words) {
    auto* const workload = new metal::distributed::MeshWorkload;
    auto& impl = *workload->impl;
    impl.mesh = &world().meshes.at(number(words[2]));
    impl.binary_bytes = number(words[3]);
    impl.binary_id = number(words[4]);
    for (size_t i = 5; i < words.size(); ++i) {
        const std::unique_ptr<metal::Program> program(
            world().programs.take(number(words[i].substr(0, words[i].find('@')))));
        const auto range = range_of(words[i], *impl.mesh->impl);
        Asked call("add_program", &impl, &range, program.get());
        impl.add_program(range, std::move(*program));
        call.back();
    }
    world().workloads.put(number(words[1]), workload);
    return "made";
}

std::string enqueue(const Words& words) {
    auto& made = world();
    auto& workload = made.workloads.at(number(words[1]));
    Asked call("EnqueueMeshWorkload", &made.queue, &workload, true);
    const auto how = made.enqueue ? made.enqueue : metal::distributed::EnqueueMeshWorkload;
    how(made.queue, workload, true);
    call.back();
    return "launched";
}

metal::distributed::MeshTraceId trace_of(const Words& words) { return {half(words[2])}; }

std::string begin_trace(const Words& words) {
    auto* const mesh = &world().meshes.at(number(words[1]));
    auto* const queue = &world().queue;
    Asked call("begin_mesh_trace", mesh, queue);
    return std::to_string(call.got(mesh->begin_mesh_trace(*queue).value));
}
std::string end_trace(const Words& words) {
    auto* const mesh = &world().meshes.at(number(words[1]));
    auto* const queue = &world().queue;
    const auto trace = trace_of(words);
    world().trace_buffer_id = number(words[3]);
    world().trace_bytes = number(words[4]);
    Asked call("end_mesh_trace", mesh, queue, &trace);
    mesh->end_mesh_trace(*queue, trace);
    call.back();
    return "captured";
}
std::string replay_trace(const Words& words) {
    auto* const mesh = &world().meshes.at(number(words[1]));
    auto* const queue = &world().queue;
    const auto trace = trace_of(words);
    Asked call("replay_mesh_trace", mesh, queue, &trace, false);
    mesh->replay_mesh_trace(*queue, trace, false);
    call.back();
    return "replayed";
}
std::string release_trace(const Words& words) {
    auto* const mesh = &world().meshes.at(number(words[1]));
    const auto trace = trace_of(words);
    Asked call("release_mesh_trace", mesh, &trace);
    mesh->release_mesh_trace(trace);
    call.back();
    return "released";
}

std::string set_board(const Words& words) {
    board.grid_x = number(words[1]);
    board.grid_y = number(words[2]);
    board.has_own_counters = words.size() < 4;
    return "set";
}

std::string obey(const std::string& order);

// Orders for when the process ends: from an exit handler, or when static objects of this library are destroyed.
struct AtEnd {
    std::vector<std::string> orders;
    ~AtEnd() {
        for (const auto& order : orders) std::puts(obey(order).c_str());
    }
} at_end;
std::vector<std::string>& at_exit() {
    static auto* const orders = new std::vector<std::string>;
    return *orders;
}
void obey_at_exit() {
    for (const auto& order : at_exit()) std::puts(obey(order).c_str());
}

std::string rest_of(const Words& words) {
    std::string order;
    for (size_t i = 2; i < words.size(); ++i) order += (i > 2 ? " " : "") + words[i];
    return order;
}

std::string later(const Words& words) {
    const std::string order = rest_of(words);
    if (words[1] == "end") {
        at_end.orders.push_back(order);
    } else {
        if (at_exit().empty()) std::atexit(obey_at_exit);
        at_exit().push_back(order);
    }
    return "later";
}

std::string free_buffer(const Words& words) { return world().buffers.drop(number(words[1])), "freed"; }
std::string clear_workload(const Words& words) { return world().workloads.drop(number(words[1])), "cleared"; }
std::string drop_program(const Words& words) { return world().programs.drop(number(words[1])), "dropped"; }
std::string fill_ring(const Words&) { return world().ring.has_room = false, "full"; }
std::string tell_tallies(const Words&) { return told(); }
std::string set_slow(const Words& words) { return world().is_slow = words[1] == "on", "set"; }
std::string set_stuck(const Words& words) { return world().is_stuck = words[1] == "on", "set"; }
std::string set_capture(const Words& words) {
    metal::GraphTracker::instance().is_capturing_only = words[1] == "on";
    return "set";
}
std::string make_program(const Words& words) {
    world().programs.put(number(words[1]), new metal::Program(number(words[1])));
    return "made";
}
std::string give_dataflow(const Words& words) {
    program_of(words[1]).dataflow_buffers.push_back({cores_of(words[2]), number(words[3])});
    return "added";
}
std::string give_scratchpad(const Words& words) {
    program_of(words[1]).scratchpads.push_back({cores_of(words[2]), number(words[3])});
    return "added";
}

std::string repeat(const Words& words) {
    std::string answer;
    for (uint64_t i = 0; i < number(words[1]); ++i) answer = obey(rest_of(words));
    return answer;
}

struct Order {
    const char* name;
    std::string (*obey)(const Words&);
};
constexpr Order kOrders[] = {{"board", set_board},
                             {"open", open_mesh},
                             {"create", create_mesh},
                             {"initialize", initialize_mesh},
                             {"close", close_mesh},
                             {"dispatch", add_dispatch},
                             {"fabric", add_fabric},
                             {"buffer", add_buffer},
                             {"free", free_buffer},
                             {"churn", churn},
                             {"capture", set_capture},
                             {"program", make_program},
                             {"kernel", give_kernel},
                             {"cb", give_cb},
                             {"dataflow", give_dataflow},
                             {"scratchpad", give_scratchpad},
                             {"move", move_cb},
                             {"workload", make_workload},
                             {"enqueue", enqueue},
                             {"clear", clear_workload},
                             {"drop", drop_program},
                             {"slow", set_slow},
                             {"stuck", set_stuck},
                             {"fill", fill_ring},
                             {"begin", begin_trace},
                             {"end", end_trace},
                             {"replay", replay_trace},
                             {"release", release_trace},
                             {"tallies", tell_tallies},
                             {"later", later},
                             {"programs", make_and_drop_programs},
                             {"repeat", repeat}};

std::string obey(const std::string& order) {
    const Words words = parted(order, ' ');
    try {
        for (const auto& one : kOrders)
            if (words[0] == one.name) return one.obey(words);
    } catch (const std::runtime_error& error) {
        return std::string("throws ") + error.what();
    }
    return "no such order";
}

}  // namespace
}  // namespace fake

/// Obeys one order and puts its answer into `answer`.
extern "C" __attribute__((visibility("default"))) void fake_obey(const char* order, char* answer, size_t room) {
    std::snprintf(answer, room, "%s", fake::obey(order).c_str());
}

/// Launches go through this function from now on, as through another library of the runtime.
extern "C" __attribute__((visibility("default"))) void fake_enqueue_by(void* function) {
    fake::world().enqueue = reinterpret_cast<decltype(fake::World::enqueue)>(function);
}
