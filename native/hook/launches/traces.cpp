// Traces: launches that are recorded once and replayed without the host.
//
// What is enqueued between the beginning and the end of a capture, on its queue, is recorded and does not run; a replay
// counts all of it. The runtime gives a trace a number; a mesh that is closed takes its traces along. What a trace writes, and
// who comes to lie there, is worked out by the writer (traces/traces.hpp), which hears of all buffers anyway.
#include "hook/launches/workloads.hpp"
#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {
namespace {

constexpr uint32_t kCapturesMost = 16;  // at once, one per mesh and queue

std::atomic<Trace*> captures[kCapturesMost];

Mesh* mesh_of_impl(const void* impl) noexcept { return mesh_numbered(ask<int>(Getter::mesh_impl_id, -1, impl)); }

uint64_t key_of_trace(const Mesh& mesh, uint32_t id) noexcept {
    return uint64_t{mesh.number.load(std::memory_order_acquire)} << 32 |
           id;  // of an open mesh the upper half is never 0
}

Trace* find_trace(const void* impl, uint32_t id) noexcept {
    const Mesh* mesh = mesh_of_impl(impl);
    Memory* all = memory();
    return mesh == nullptr || all == nullptr ? nullptr : all->traces.find(key_of_trace(*mesh, id));
}

// A std::optional<unsigned char> in a register: the value, and behind it whether there is one.
const void* queue_of(const void* impl, uint8_t number) noexcept {
    return ask<const void*>(Getter::mesh_impl_queue, nullptr, impl, static_cast<uint32_t>(number | 1u << 8));
}

void begin_capture(const void* impl, uint8_t queue, uint32_t id) noexcept {
    const Mesh* mesh = mesh_of_impl(impl);
    Memory* all = memory();
    if (mesh == nullptr || all == nullptr) return;
    Trace* trace = all->traces.find_or_add(key_of_trace(*mesh, id));
    if (trace == nullptr) return count_lost();
    give_words(&trace->launches);
    *trace = {mesh, queue_of(impl, queue), mesh->number.load(std::memory_order_acquire), 0, id};
    ttmem_trace_begin(target_of(*mesh), id, 0);
    for (auto& place : captures) {
        Trace* none = nullptr;
        if (!place.compare_exchange_strong(none, trace, std::memory_order_acq_rel)) continue;
        at_hand_of_all.captures.fetch_add(1, std::memory_order_release);
        return;
    }
}

void end_capture(const Trace* trace) noexcept {
    for (auto& place : captures) {
        Trace* held = place.load(std::memory_order_acquire);
        if (held == nullptr || held != trace || !place.compare_exchange_strong(held, nullptr)) continue;
        at_hand_of_all.captures.fetch_sub(1, std::memory_order_release);
    }
}

void record_word(Trace& trace, uint64_t word) noexcept {
    append_word(&trace.launches, word);
    ttmem_trace_program(target_of(*trace.mesh), trace.id, word & kProgramOfLaunch);
}

// What was captured is stored now; refused, the capture is lost.
struct Ending {
    Context before;
    uint16_t target;
    uint32_t id;
};

[[gnu::cold]] void end_in_vain(void* given) noexcept {
    const Ending& ending = *static_cast<Ending*>(given);
    context() = ending.before;
    ttmem_trace_release(ending.target, ending.id);
}

uint64_t store(void* real, void* impl, uint8_t queue, const uint32_t* id) {
    const Mesh* mesh = mesh_of_impl(impl);
    Ending ending{context(), mesh == nullptr ? uint16_t{0} : target_of(*mesh), *id};
    context().is_ending_trace = true;
    context().trace_bytes = 0;
    const uint64_t arguments[6] = {word_of(impl), queue, word_of(id)};
    const uint64_t result = ttmem_guarded_call(real, arguments, end_in_vain, &ending).low;
    if (ending.target != 0) ttmem_trace_end(ending.target, ending.id, context().trace_bytes);
    context() = ending.before;
    return result;
}

void drop(Trace& trace) noexcept {
    end_capture(&trace);
    give_words(&trace.launches);
    memory()->traces.remove(&trace);
}

}  // namespace

[[gnu::noinline]] bool record_in_capture(const Workload& workload, const void* queue) noexcept {
    for (auto& place : captures) {
        Trace* trace = place.load(std::memory_order_acquire);
        if (trace == nullptr || trace->mesh != workload.mesh) continue;
        if (trace->queue != nullptr && trace->queue != queue) continue;
        if (workload.program_count == 1)
            record_word(*trace, workload.only);
        else
            each_word(workload.launches, [trace](uint64_t word) noexcept { record_word(*trace, word); });
        return true;
    }
    return false;
}

void drop_traces(const Mesh& mesh) noexcept {
    Memory* all = memory();
    if (all == nullptr) return;
    all->traces.each([&mesh](Trace& trace) noexcept {
        if (trace.mesh == &mesh) drop(trace);
    });
}

}  // namespace ttmem::hook

using ttmem::hook::Hook;
using ttmem::hook::word_of;

TTMEM_INTERPOSE(begin_trace, uint64_t, (void* mesh, uint8_t queue, const uint32_t* id)) {
    void* real = ttmem::hook::original(Hook::begin_trace);
    ttmem::hook::Context before = ttmem::hook::context();
    ttmem::hook::context().is_beginning_trace = true;
    const uint64_t result = ttmem::hook::call_within(real, {word_of(mesh), queue, word_of(id)}, before).low;
    if (TTMEM_ON || ttmem::hook::remembers()) ttmem::hook::begin_capture(mesh, queue, *id);
    return result;
}

TTMEM_INTERPOSE(end_trace, uint64_t, (void* mesh, uint8_t queue, const uint32_t* id)) {
    void* real = ttmem::hook::original(Hook::end_trace);
    if (ttmem::hook::remembers())
        ttmem::hook::end_capture(ttmem::hook::find_trace(mesh, *id));  // also if it is refused: it is lost
    return ttmem::hook::store(real, mesh, queue, id);
}

TTMEM_INTERPOSE(release_trace, uint64_t, (void* mesh, const uint32_t* id)) {
    auto* real = ttmem::hook::original_as<uint64_t(void*, const uint32_t*)>(Hook::release_trace);
    const uint32_t number = *id;  // it may go with the trace
    const uint64_t result = real(mesh, id);
    if (!ttmem::hook::remembers()) return result;
    if (auto* trace = ttmem::hook::find_trace(mesh, number)) ttmem::hook::drop(*trace);
    if (const auto* opened = ttmem::hook::mesh_of_impl(mesh))
        if (const uint16_t target = ttmem::hook::target_of(*opened)) ttmem_trace_release(target, number);
    return result;
}

TTMEM_INTERPOSE(replay_trace, uint64_t, (void* mesh, uint8_t queue, const uint32_t* id, bool is_blocking)) {
    void* real = ttmem::hook::original(Hook::replay_trace);
    ttmem::hook::Context before = ttmem::hook::context();
    ttmem::hook::Mesh* opened = ttmem::hook::mesh_of_impl(mesh);
    ttmem::hook::context().mesh = opened;
    // Before it: a replay that destroys somebody's memory may be the last thing this thread does.
    if (TTMEM_ON && opened != nullptr)
        if (const uint16_t target = ttmem::hook::target_of(*opened)) ttmem_trace_replay_on(target, *id);
    const uint64_t result =
        ttmem::hook::call_within(real, {word_of(mesh), queue, word_of(id), is_blocking}, before).low;
    const auto* trace = TTMEM_ON ? ttmem::hook::find_trace(mesh, *id) : nullptr;
    if (trace != nullptr) ttmem::hook::each_word(trace->launches, ttmem::hook::count_launch_word);
    return result;
}
