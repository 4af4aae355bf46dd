// Orders about programs, launches and traces.
#include <algorithm>

#include "../tallies.hpp"
#include "words.hpp"

namespace fake {
namespace {

using metal::distributed::MeshDeviceImpl;

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
    if (words[2] == "idle") form.core_type = metal::HalProgrammableCoreType::IDLE_ETH;
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

// Without its last circular buffer and dataflow buffer, and to be laid out anew.
std::string lessen(const Words& words) {
    auto& program = program_of(words[1]);
    if (!program.cbs.empty()) program.cbs.pop_back();
    if (!program.dataflow_buffers.empty()) program.dataflow_buffers.pop_back();
    program.has_places = program.has_dataflow_buffers = false;
    program.region_end = 0;
    return "lessened";
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

// A vector and an optional with something in them: they are handed on as they come.
void tell_inspector(metal::distributed::MeshWorkload& workload) {
    const std::string_view name = world().inspector_says;
    std::vector<metal::TensorSpec> specs(2);
    specs.back().words[18] = 4711;
    const std::optional<metal::distributed::MeshTraceId> trace(metal::distributed::MeshTraceId{5});
    const size_t runtime_id = 12;
    Asked call("EmitMeshWorkloadDebugEntry", &workload, runtime_id, name.data(), name.size(), uint64_t{4711}, 5u);
    metal::experimental::inspector::EmitMeshWorkloadDebugEntry(workload, runtime_id, name, std::move(specs), trace);
    call.back();
}

std::string enqueue(const Words& words) {
    auto& made = world();
    auto& workload = made.workloads.at(number(words[1]));
    const auto has = [&](const char* word) { return std::find(words.begin(), words.end(), word) != words.end(); };
    auto& queue = has("other-queue") ? made.other_queue : made.queue;
    const bool is_blocking = has("blocking");
    if (!made.inspector_says.empty()) tell_inspector(workload);
    Asked call("EnqueueMeshWorkload", &queue, &workload, is_blocking);
    const auto how = made.enqueue ? made.enqueue : metal::distributed::EnqueueMeshWorkload;
    how(queue, workload, is_blocking);
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

std::string clear_workload(const Words& words) { return world().workloads.drop(number(words[1])), "cleared"; }
std::string drop_program(const Words& words) { return world().programs.drop(number(words[1])), "dropped"; }
std::string fill_ring(const Words&) { return world().ring.has_room = false, "full"; }
std::string start_rings(const Words& words) { return world().start_rings(number(words[1])), "started"; }
std::string start_ring_again(const Words& words) { return world().start_ring_again(half(words[1])), "started"; }
std::string make_buffer_within(const Words& words) { return world().next_buffer_within = number(words[1]), "later"; }
std::string begin_counts_anew(const Words&) { return world().worker_count = 0, "0"; }
std::string set_slow(const Words& words) { return world().is_slow = words[1] == "on", "set"; }
std::string set_failing(const Words& words) { return world().is_failing = words[1] == "on", "set"; }
std::string set_inspector(const Words& words) {
    return world().inspector_says = words[1] == "off" ? std::string() : words[1], "set";
}
std::string set_stuck(const Words& words) { return world().is_stuck = words[1] == "on", "set"; }
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

}  // namespace

const Order kProgramOrders[] = {{"programs", make_and_drop_programs},
                                {"program", make_program},
                                {"kernel", give_kernel},
                                {"cb", give_cb},
                                {"dataflow", give_dataflow},
                                {"scratchpad", give_scratchpad},
                                {"move", move_cb},
                                {"lessen", lessen},
                                {"workload", make_workload},
                                {"enqueue", enqueue},
                                {"clear", clear_workload},
                                {"drop", drop_program},
                                {"slow", set_slow},
                                {"stuck", set_stuck},
                                {"inspector", set_inspector},
                                {"failing", set_failing},
                                {"fill", fill_ring},
                                {"count-anew", begin_counts_anew},
                                {"within", make_buffer_within},
                                {"rings", start_rings},
                                {"ring-again", start_ring_again},
                                {"begin", begin_trace},
                                {"end", end_trace},
                                {"replay", replay_trace},
                                {"release", release_trace},
                                {nullptr, nullptr}};

}  // namespace fake
