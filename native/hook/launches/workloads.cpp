// Launches, and the binaries of what is launched.
//
// Every launch enters EnqueueMeshWorkload once, cached or not. The first one loads the binaries into a buffer in DRAM, the
// only buffer that a launch makes (slow dispatch, which has no kernel rings either, loads none); from then until the runtime says "committed" they are in flight, which it keeps to
// itself. It says so with every launch, and there is no way back: it is asked until it was said once.
#include "hook/launches/workloads.hpp"

#include "hook/naming/entries.hpp"
#include "hook/naming/pending.hpp"
#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"
#include "writer/operations.hpp"

namespace ttmem::hook {

void append_word(uint32_t* first, uint64_t word) noexcept {
    Memory& all = *memory();
    while (*first != 0) {
        Batch& batch = all.cells.at<Batch>(*first);
        if (batch.next == 0 && batch.count < Batch::kMost) {
            batch.words[batch.count++] = word;
            return;
        }
        first = &batch.next;
    }
    const uint32_t cell = all.cells.take();
    if (cell == 0) {
        count_lost();
        return;
    }
    Batch& batch = all.cells.at<Batch>(cell);
    batch.words[batch.count++] = word;
    *first = cell;
}

void give_words(uint32_t* first) noexcept {
    Cells& cells = memory()->cells;
    uint32_t cell = *first;
    *first = 0;
    while (cell != 0) {
        const uint32_t next = cells.at<Batch>(cell).next;
        cells.give(cell);
        cell = next;
    }
}

[[gnu::noinline]] bool settle_anew(Workload& workload) noexcept {
    if (workload.program_count == 0) return false;
    const Mesh* mesh = nullptr;
    bool is_complete = true;
    uint64_t only = 0;
    give_words(&workload.launches);
    each_word(workload.programs, [&](uint64_t key) noexcept {
        const Program* program = program_with(key);
        if (program == nullptr || !is_reportable(*program)) {
            is_complete = false;
            return;
        }
        mesh = program->mesh;
        only = uint64_t{program->target} << 48 | program->id;
        if (workload.program_count > 1) append_word(&workload.launches, only);
    });
    const uint16_t target = !is_complete || mesh == nullptr ? uint16_t{0} : target_of(*mesh);
    if (target == 0) return false;
    workload.only = only;
    workload.target = target;
    workload.mesh = mesh;
    return true;
}

namespace {

constexpr uint8_t kStatusUnknown = TTMEM_COMMITTED + 1;  // none of ttmem_binary_status

Workload* find_workload(const void* impl) noexcept {
    Memory* all = memory();
    return all == nullptr ? nullptr : all->workloads.find(word_of(impl));
}

// A MeshCoordinateRange has a first and a last corner; the runtime tells each as a span of numbers.
struct Corner {
    const uint32_t* numbers;
    uint64_t count;
};

Corner corner_of(Getter which, const void* range) noexcept {
    const void* corner = ask<const void*>(which, nullptr, range);
    return corner == nullptr ? Corner{} : ask<Corner>(Getter::coordinate_numbers, {}, corner);
}

Place place_of(const void* range) noexcept {
    const Corner first = corner_of(Getter::range_start, range), last = corner_of(Getter::range_end, range);
    if (first.count != 2 || last.count != 2) return {};
    return {static_cast<uint16_t>(first.numbers[0]), static_cast<uint16_t>(first.numbers[1]),
            static_cast<uint16_t>(last.numbers[0] + 1), static_cast<uint16_t>(last.numbers[1] + 1)};
}

void note_program(const void* impl, const void* program_impl, const Place& place) noexcept {
    Memory* all = memory();
    Workload* workload = all == nullptr ? nullptr : all->workloads.find_or_add(word_of(impl));
    Program* program = find_or_add_program(program_impl);
    if (workload == nullptr && all != nullptr) count_lost();
    if (workload == nullptr || program == nullptr) return;
    // Its programs are gone, and nobody said that it is: it was unloaded with its runtime.
    if (workload->program_count != 0 && program_with(workload->first_key) == nullptr) {
        give_words(&workload->programs);
        give_words(&workload->launches);
        *workload = {};
    }
    program->place = place;
    program->is_in_workload = true;
    workload->impl = impl;
    workload->mesh = nullptr;  // to be settled again
    append_word(&workload->programs, program->key);
    if (workload->program_count++ != 0) return;
    workload->first_key = program->key;
    workload->id = program->id;
}

void tell_status(Workload& workload, uint8_t status) noexcept {
    if (workload.is_told && workload.status == status) return;
    if (!settle(workload)) return;
    workload.status = status;
    workload.is_told = true;
    ttmem_binary_status(workload.target, workload.id, status, 0);
}

// Of a workload whose binaries were not where they belong before it was launched. Slow dispatch has no status.
[[gnu::noinline]] void ask_status(Workload& workload) noexcept {
    workload.are_loaded = workload.held_bytes != 0;
    if (!settle(workload) || target_of(*workload.mesh) == 0) return;
    if (getter(Getter::binary_status) == nullptr) {  // nobody will ever say that they arrived: not in flight for good
        tell_status(workload, kStatusUnknown);
        workload.status = TTMEM_COMMITTED;
        return;
    }
    const auto status = ask<uint8_t>(Getter::binary_status, TTMEM_NOT_SENT, workload.impl, id_of(*workload.mesh));
    if (status == TTMEM_IN_FLIGHT || status == TTMEM_COMMITTED) tell_status(workload, status);
}

// The launch that this thread is at: what is told when it has returned, or thrown.
struct Launching {
    Workload* workload;
    Workload* enqueued_before;
    const void* launcher_before;
    LaunchedRing* ring_before;
    LaunchedRing ring;
};

void put_back(const Launching& launching) noexcept {
    context().enqueued = launching.enqueued_before;
    context().launcher = launching.launcher_before;
    context().ring = launching.ring_before;
}

// It came to nothing, but may have taken its place in the ring before, and its binaries may be where they belong.
[[gnu::cold]] void end_early(void* given) noexcept {
    const Launching& launching = *static_cast<Launching*>(given);
    put_back(launching);
    forget_pending();
    if (launching.workload != nullptr && launching.workload->status != TTMEM_COMMITTED) ask_status(*launching.workload);
    if (has_journal()) report_ring_change(launching.ring);
}

// It is listed no longer, since tracking was off: its launch entered it again, and the rest is told again.
[[gnu::noinline, gnu::cold]] void tell_again(Workload& workload) noexcept {
    const uint8_t status = getter(Getter::binary_status) == nullptr ? kStatusUnknown : workload.status;
    if (workload.is_told) ttmem_binary_status(workload.target, workload.id, status, workload.held_bytes);
    workload.is_named = false;
    each_word(workload.programs, [](uint64_t key) noexcept {
        if (Program* program = program_with(key)) program->named_by = NamedBy::nobody;
    });
}

// Threads that launch it together may each have their own view of where it is; any of them is checked before use.
[[gnu::always_inline]] inline void count_only_launch(Workload& workload, const LaunchedRing& ring) noexcept {
    const std::atomic_ref<uint32_t> listed_at(workload.listed_at);
    const uint32_t before = listed_at.load(std::memory_order_relaxed);
    const uint32_t now =
        count_launch(static_cast<uint16_t>(workload.only >> 48), workload.only & kProgramOfLaunch, before, ring);
    if (__builtin_expect(now == before, 1)) return;
    listed_at.store(now, std::memory_order_relaxed);
    if (now == 0) tell_again(workload);
}

// The ring is told with the launch of one program on the same chips; else by itself.
[[gnu::noinline]] void count_apart(Workload& workload, const LaunchedRing& ring, bool is_counted) noexcept {
    if (has_journal()) report_ring_change(ring);
    if (!is_counted) return;
    if (workload.program_count != 1) return each_word(workload.launches, count_launch_word);
    has_journal() ? count_only_launch(workload, {}) : count_launch_word(workload.only);
}

[[gnu::always_inline]] inline void count_launches(Workload& workload, const void* queue,
                                                  const LaunchedRing& ring) noexcept {
    const bool is_counted = settle(workload) && !record_launch(workload, queue);
    const bool is_together = ring.move().target() == workload.only >> 48 || !ring.is_there();
    if (__builtin_expect(is_counted && is_together && workload.program_count == 1 && has_journal(), 1))
        return count_only_launch(workload, ring);
    count_apart(workload, ring, is_counted);
}

void end_workload(const void* impl) noexcept {
    Workload* workload = find_workload(impl);
    if (workload == nullptr) return;
    const Program* first = program_with(workload->first_key);
    // Programs end their own entries; that of a workload on more chips than its first program is its own.
    const bool is_apart = first != nullptr && is_reportable(*first) && first->target != workload->target;
    if (workload->is_told && workload->held_bytes == 0 && is_apart) ttmem_program_end(workload->target, workload->id);
    give_words(&workload->programs);
    give_words(&workload->launches);
    memory()->workloads.remove(workload);
}

// Whatever its launch said, it is not asked again: only a program that is reported again is named again.
[[gnu::noinline, gnu::cold]] void name_workload(Workload& workload) noexcept {
    if (!settle(workload)) return;
    workload.is_named = true;
    each_word(workload.programs, [](uint64_t key) noexcept {
        if (Program* program = program_with(key)) name_program(*program);
    });
    const Program* first = program_with(workload.first_key);
    if (first != nullptr && first->target != workload.target && workload.is_told)  // its binaries are listed apart
        ttmem_program_operation(workload.target, workload.id, naming_of(*first).site);
}

void enqueue(void* real, void* queue, void* const* launched, bool is_blocking, const void* caller) {
    Context& now = context();
    Workload* workload = find_workload(*launched);
    const bool is_unnamed = workload != nullptr && !workload->is_named;
    Launching launching{workload, now.enqueued, now.launcher, now.ring, {}};
    now.enqueued = workload;
    if (__builtin_expect(is_unnamed, 0)) now.launcher = caller;
    now.ring = workload == nullptr || is_blocking ? nullptr : &launching.ring;  // its end may be long in coming
    ttmem_guarded_three(real, queue, const_cast<void**>(launched), is_blocking, end_early, &launching);
    put_back(launching);
    if (__builtin_expect(workload == nullptr, 0)) return forget_pending();
    if (__builtin_expect(workload->status != TTMEM_COMMITTED, 0)) ask_status(*workload);
    count_launches(*workload, queue, launching.ring);
    if (__builtin_expect(is_unnamed, 0)) {
        now.launcher = caller;
        now.enqueued = workload;
        name_workload(*workload);
        now.enqueued = launching.enqueued_before;
        now.launcher = launching.launcher_before;
    }
    if (pending_buffers.count != 0) name_pending(*workload, caller);
    if (__builtin_expect(is_unnamed, 0)) launch_entry.workload = nullptr;
}

// A buffer that is known by its address shares that with buffers of other meshes.
uint64_t key_of_holding(const Mesh& mesh, uint64_t buffer_id) noexcept {
    return (buffer_id + 1) ^ static_cast<uint64_t>(mesh.number.load(std::memory_order_acquire)) << 40;
}

// Ids that follow each other share a cache line; addresses, which end in zeros, are spread by their higher bits.
uint64_t mark_of(uint64_t key) noexcept { return (key ^ key >> 12) % kHoldingMarks; }

}  // namespace

bool hold_binaries(const Mesh& mesh, uint64_t buffer_id, uint64_t reserved_bytes, uint64_t address) noexcept {
    Workload* workload = context().enqueued;
    if (__builtin_expect(workload == nullptr || workload->status == TTMEM_COMMITTED, 1)) return false;
    if (workload->are_loaded || !may_have_rings()) return false;  // not by this launch, or not at all: slow dispatch
    const uint64_t key = key_of_holding(mesh, buffer_id);
    Holding* holding = settle(*workload) ? memory()->holdings.find_or_add(key) : nullptr;
    if (holding == nullptr) return false;
    const uint16_t target = mesh.target.load(std::memory_order_acquire);
    memory()->holding_marks[mark_of(key)].fetch_add(1, std::memory_order_release);
    *holding = {workload->first_key, workload->id, target, 0};
    if (workload->held_bytes != 0) address = 0;  // several buffers lie at no one address
    workload->held_bytes += reserved_bytes;
    workload->status = TTMEM_IN_FLIGHT;
    workload->is_told = true;
    ttmem_binaries_placed(target, workload->id, workload->status, workload->held_bytes, address);
    if (Program* program = program_with(workload->first_key))
        if (program->target == target) program->has_binaries = true;
    return true;
}

// A device that was opened without a trace region stores traces in DRAM: the only buffer that the end of a capture makes.
bool hold_trace(const Mesh& mesh, ttmem_buffer& report) noexcept {
    if (__builtin_expect(!context().is_ending_trace, 1)) return false;
    const uint64_t key = key_of_holding(mesh, report.id);
    Memory* all = memory();
    Holding* holding = all == nullptr ? nullptr : all->holdings.find_or_add(key);
    if (holding == nullptr) return false;
    all->holding_marks[mark_of(key)].fetch_add(1, std::memory_order_release);
    report.options = TTMEM_HOLDS_TRACE;
    *holding = {0, report.id, report.target, ttmem_buffer_alloc(&report)};
    return true;
}

bool release_held(const Mesh& mesh, uint64_t buffer_id) noexcept {
    Memory* all = memory();
    const uint64_t key = key_of_holding(mesh, buffer_id);
    if (all == nullptr || all->holding_marks[mark_of(key)].load(std::memory_order_acquire) == 0) return false;
    Holding* holding = all->holdings.find(key);
    if (holding == nullptr) return false;
    const bool is_told = mesh.is_open.load(std::memory_order_acquire);
    if (is_told) holding->trace != 0 ? ttmem_free(holding->trace) : ttmem_program_end(holding->target, holding->id);
    Program* program = holding->program_key == 0 ? nullptr : program_with(holding->program_key);
    if (program != nullptr && program->target == holding->target) program->has_binaries = program->is_entered = false;
    all->holding_marks[mark_of(key)].fetch_sub(1, std::memory_order_release);
    all->holdings.remove(holding);
    return true;
}

}  // namespace ttmem::hook

using ttmem::hook::Hook;
using ttmem::hook::word_of;

TTMEM_INTERPOSE(add_program, uint64_t, (void* workload, const void* range, void* const* program)) {
    auto* real = ttmem::hook::original_as<uint64_t(void*, const void*, void* const*)>(Hook::add_program);
    const void* program_impl = *program;  // the call moves it away
    const ttmem::hook::Place place = ttmem::hook::place_of(range);
    const uint64_t result = real(workload, range, program);
    if (TTMEM_ON && program_impl != nullptr) ttmem::hook::note_program(workload, program_impl, place);
    return result;
}

TTMEM_INTERPOSE_HOT(enqueue_workload, void, (void* queue, void* const* workload, bool is_blocking)) {
    void* real = ttmem::hook::original(Hook::enqueue_workload, 1);
    if (__builtin_expect(TTMEM_ON, 1))
        return ttmem::hook::enqueue(real, queue, workload, is_blocking, __builtin_return_address(0));
    reinterpret_cast<void (*)(void*, void* const*, bool)>(real)(queue, workload, is_blocking);
}

TTMEM_INTERPOSE(workload_destroyed, void, (void* workload)) {
    auto* real = ttmem::hook::original_as<void(void*)>(Hook::workload_destroyed);
    if (ttmem::hook::remembers()) ttmem::hook::end_workload(workload);
    real(workload);
}
