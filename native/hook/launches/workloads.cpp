// Launches, and the binaries of what is launched.
//
// Every launch enters EnqueueMeshWorkload once, cached or not. The first one loads the binaries into a buffer in DRAM; from
// then until the runtime says "committed" they are in flight, which it keeps to itself. It says "committed" again with
// every launch: only changes are reported.
#include "hook/launches/workloads.hpp"

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
    if (!is_complete || mesh == nullptr) return false;
    workload.only = only;
    workload.target = mesh->target.load(std::memory_order_acquire);
    workload.mesh = mesh;
    return true;
}

namespace {

Workload* find_workload(const void* impl) noexcept {
    Workload* enqueued = context().enqueued;
    if (enqueued != nullptr && enqueued->impl == impl) return enqueued;
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
    workload->mesh = nullptr;  // to be settled anew
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

void count_launches(Workload& workload, const void* queue) noexcept {
    if (!settle(workload) || record_launch(workload, queue)) return;
    if (workload.program_count != 1) return each_word(workload.launches, count_launch_word);
    if (__builtin_expect(!has_journal(), 0)) return count_launch_word(workload.only);
    // Threads that launch it together may each have their own view of where it is; any of them is checked before use.
    const std::atomic_ref<uint32_t> listed_at(workload.listed_at);
    const uint32_t before = listed_at.load(std::memory_order_relaxed);
    const uint32_t now =
        count_launch(static_cast<uint16_t>(workload.only >> 48), workload.only & kProgramOfLaunch, before);
    if (__builtin_expect(now != before, 0)) listed_at.store(now, std::memory_order_relaxed);
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

void enqueue(void* real, void* queue, void* const* launched, bool is_blocking) {
    Workload* workload = find_workload(*launched);
    Workload*& enqueued = context().enqueued;
    Workload* before = enqueued;
    enqueued = workload;
    ttmem_call_and_put_back(real, queue, const_cast<void**>(launched), is_blocking, &enqueued, before);
    if (workload != nullptr) count_launches(*workload, queue);
}

uint64_t load(void* real, const uint64_t (&arguments)[6], Workload& workload) {
    Context before = context();
    const uint64_t held_bytes = workload.held_bytes;
    context().loading = &workload;
    const uint64_t result = call_within(real, arguments, before).low;
    if (workload.held_bytes != held_bytes) tell_status(workload, TTMEM_IN_FLIGHT);
    return result;
}

[[gnu::noinline]] uint64_t load_if_new(void* impl, void* queue, const void* caller) {
    void* real = original_from(Hook::load_binaries, caller);
    Workload* workload = TTMEM_ON ? find_workload(impl) : nullptr;
    if (workload != nullptr && workload->status != TTMEM_COMMITTED)
        return load(real, {word_of(impl), word_of(queue)}, *workload);
    return reinterpret_cast<uint64_t (*)(void*, void*)>(real)(impl, queue);
}

[[gnu::noinline]] uint64_t set_status(void* impl, uint64_t mesh, int status, const void* caller) {
    void* real = original_from(Hook::set_binary_status, caller);
    const uint64_t result = reinterpret_cast<uint64_t (*)(void*, uint64_t, int)>(real)(impl, mesh, status);
    if (TTMEM_ON)
        if (Workload* workload = find_workload(impl)) tell_status(*workload, static_cast<uint8_t>(status));
    return result;
}

}  // namespace

namespace {

// A buffer that is known by its address shares that with buffers of other meshes.
uint64_t key_of_holding(const Mesh& mesh, uint64_t buffer_id) noexcept {
    return (buffer_id + 1) ^ static_cast<uint64_t>(mesh.number.load(std::memory_order_acquire)) << 40;
}

// Ids that follow each other share a cache line; addresses, which end in zeros, are spread by their higher bits.
uint64_t mark_of(uint64_t key) noexcept { return (key ^ key >> 12) % kHoldingMarks; }

}  // namespace

bool hold_binaries(const Mesh& mesh, uint64_t buffer_id, uint64_t reserved_bytes, uint64_t address) noexcept {
    Workload* workload = context().loading;
    if (__builtin_expect(workload == nullptr, 1)) return false;
    const uint64_t key = key_of_holding(mesh, buffer_id);
    Holding* holding = settle(*workload) ? memory()->holdings.find_or_add(key) : nullptr;
    if (holding == nullptr) return false;
    const uint16_t target = mesh.target.load(std::memory_order_acquire);
    memory()->holding_marks[mark_of(key)].fetch_add(1, std::memory_order_release);
    *holding = {workload->first_key, workload->id, target};
    if (workload->held_bytes != 0) address = 0;  // several buffers lie at no one address
    workload->held_bytes += reserved_bytes;
    ttmem_binaries_placed(target, workload->id, workload->status, workload->held_bytes, address);
    if (Program* program = program_with(workload->first_key))
        if (program->target == target) program->has_binaries = true;
    return true;
}

bool release_binaries(const Mesh& mesh, uint64_t buffer_id) noexcept {
    Memory* all = memory();
    const uint64_t key = key_of_holding(mesh, buffer_id);
    if (all == nullptr || all->holding_marks[mark_of(key)].load(std::memory_order_acquire) == 0) return false;
    Holding* holding = all->holdings.find(key);
    if (holding == nullptr) return false;
    if (mesh.is_open.load(std::memory_order_acquire)) ttmem_program_end(holding->target, holding->id);
    Program* program = program_with(holding->program_key);
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
    void* real = ttmem::hook::original(Hook::enqueue_workload);
    if (TTMEM_ON) return ttmem::hook::enqueue(real, queue, workload, is_blocking);
    reinterpret_cast<void (*)(void*, void* const*, bool)>(real)(queue, workload, is_blocking);
}

// It is asked with every launch, and what was loaded once stays.
TTMEM_INTERPOSE_HOT(load_binaries, uint64_t, (void* workload, void* queue)) {
    const void* caller = __builtin_return_address(0);
    const auto* enqueued = ttmem::hook::context().enqueued;
    const bool is_loaded = enqueued != nullptr && enqueued->impl == workload && enqueued->status == TTMEM_COMMITTED;
    if (__builtin_expect(!is_loaded, 0) || !ttmem::hook::is_usual(caller))
        return ttmem::hook::load_if_new(workload, queue, caller);
    const auto* copy = ttmem::hook::usual_copy();
    return ttmem::hook::original_in<uint64_t(void*, void*)>(copy, Hook::load_binaries)(workload, queue);
}

TTMEM_INTERPOSE_HOT(set_binary_status, uint64_t, (void* workload, uint64_t mesh, int status)) {
    const void* caller = __builtin_return_address(0);
    const auto* enqueued = ttmem::hook::context().enqueued;
    const bool is_known =
        enqueued != nullptr && enqueued->impl == workload && enqueued->is_told && enqueued->status == status;
    if (__builtin_expect(!is_known, 0) || !ttmem::hook::is_usual(caller))
        return ttmem::hook::set_status(workload, mesh, status, caller);
    const auto* copy = ttmem::hook::usual_copy();
    return ttmem::hook::original_in<uint64_t(void*, uint64_t, int)>(copy, Hook::set_binary_status)(workload, mesh,
                                                                                                   status);
}

TTMEM_INTERPOSE(workload_destroyed, void, (void* workload)) {
    auto* real = ttmem::hook::original_as<void(void*)>(Hook::workload_destroyed);
    if (TTMEM_ON) ttmem::hook::end_workload(workload);
    real(workload);
}
