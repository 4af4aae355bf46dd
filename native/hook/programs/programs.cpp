// The life of a program in the journal: from its first kernel to its destructor, or to the end of its mesh.
#include "hook/programs/programs.hpp"

#include "hook/chips.hpp"
#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"
#include "writer/operations.hpp"

namespace ttmem::hook {

thread_local __attribute__((tls_model("initial-exec"))) AtHand at_hand;

namespace {

constexpr uint32_t kCopyBit = 44;  // a second libtt_metal.so in the process numbers its programs from 0 again
constexpr uint32_t kPlacesMost = 128;

std::atomic<uintptr_t> first_copy{0};
std::atomic<uint64_t> next_id{1};  // for releases that do not tell a program's number

uint64_t copy_bits() noexcept {
    uintptr_t first = 0;
    const uintptr_t own = at_hand.copy == nullptr ? 1 : at_hand.copy->base | 1;
    if (first_copy.compare_exchange_strong(first, own, std::memory_order_relaxed)) return 0;
    return first == own ? 0 : uint64_t{1} << kCopyBit;
}

void bring_back(void* before) noexcept { context() = *static_cast<const Context*>(before); }

// ---- places: parts of a mesh that programs run on

struct NamedPlace {
    const Mesh* mesh;
    uint32_t mesh_number;
    uint16_t target;
    Place place;
};

NamedPlace named_places[kPlacesMost];
std::atomic<uint32_t> naming_places{0};

bool is_same(const Place& one, const Place& other) noexcept { return std::memcmp(&one, &other, sizeof one) == 0; }

bool is_current(const NamedPlace& named) noexcept {
    return named.mesh != nullptr && named.mesh->number.load(std::memory_order_acquire) == named.mesh_number;
}

uint64_t key_of_place(const Mesh& mesh, const Place& place) noexcept {
    const uint64_t corners = uint64_t{place.row} << 48 | uint64_t{place.column} << 32 | uint64_t{place.row_end} << 16 |
                             uint64_t{place.column_end};
    return (mesh.key ^ corners) * 0x9e37'79b9'7f4a'7c15ull >> 1;
}

uint16_t open_place(const Mesh& mesh, const Place& place) noexcept {
    uint16_t chips[kChipsMost];
    uint32_t count = 0;
    for (uint32_t row = place.row; row < place.row_end; ++row)
        for (uint32_t column = place.column; column < place.column_end; ++column)
            chips[count++] = chip_target(mesh.chips[row * mesh.columns + column]);
    if (count == 1) return chips[0];
    return ttmem_mesh_open(key_of_place(mesh, place), static_cast<uint16_t>(place.row_end - place.row),
                           static_cast<uint16_t>(place.column_end - place.column), chips, count);
}

}  // namespace

ttmem_result call_within(void* real, const uint64_t (&arguments)[6], Context& before) {
    const ttmem_result result = ttmem_guarded_call(real, arguments, bring_back, &before);
    context() = before;
    return result;
}

uint16_t target_of_place(Mesh& mesh, const Place& place) noexcept {
    const uint16_t whole = target_of(mesh);
    const bool is_within = place.row_end <= mesh.rows && place.column_end <= mesh.columns;
    const uint32_t count = (place.row_end - place.row) * (place.column_end - place.column);
    if (whole == 0 || place.is_everywhere() || !is_within || count >= mesh.chip_count) return whole;
    const RareLock lock(naming_places);
    if (!lock.is_held()) return whole;
    const uint32_t number = mesh.number.load(std::memory_order_acquire);
    NamedPlace* empty = nullptr;
    for (NamedPlace& named : named_places) {
        if (!is_current(named))
            empty = &named;
        else if (named.mesh == &mesh && is_same(named.place, place))
            return named.target;
    }
    const uint16_t target = empty == nullptr ? uint16_t{0} : open_place(mesh, place);
    if (target == 0) return whole;
    *empty = {&mesh, number, target, place};
    return target;
}

void name_parts_again(const Mesh& mesh) noexcept {
    const RareLock lock(naming_places);
    for (NamedPlace& named : named_places)
        if (lock.is_held() && named.mesh == &mesh && is_current(named)) named.target = open_place(mesh, named.place);
}

void close_parts(const Mesh& mesh) noexcept {
    drop_traces(mesh);
    const RareLock lock(naming_places);
    for (NamedPlace& named : named_places) {
        if (named.mesh != &mesh) continue;
        const Place& place = named.place;
        if ((place.row_end - place.row) * (place.column_end - place.column) > 1) ttmem_mesh_close(named.target);
        named = {};
    }
}

// ---- finding programs

namespace {

void end_program(Program& program, bool is_told) noexcept {
    for (uint32_t* list :
         {&program.circular_buffers, &program.dataflow_buffers, &program.scratchpads, &program.kernels})
        end_parts(list, is_told);
    if (is_told && program.is_entered && !program.has_binaries) ttmem_program_end(program.target, program.id);
    memory()->programs.remove(&program);
}

}  // namespace

uint64_t key_of_program(const void* impl) noexcept {
    auto* id = getter_as<uint64_t(const void*)>(Getter::program_id);
    return id == nullptr ? word_of(impl) : (id(impl) + 1) | copy_bits();
}

Program* program_with(uint64_t key) noexcept {
    Memory* all = memory();
    return all == nullptr ? nullptr : all->programs.find(key);
}

Program* find_program(const void* impl) noexcept {
    Program* program = program_with(key_of_program(impl));
    if (program == nullptr || program->impl == impl) return program;
    end_program(*program, false);
    return nullptr;
}

Program* find_or_add_program(const void* impl) noexcept {
    Memory* all = memory();
    if (all == nullptr) return nullptr;
    if (Program* known = find_program(impl)) return known;
    const uint64_t key = key_of_program(impl);
    Program* program = all->programs.add(key);
    if (program == nullptr) {
        count_lost();
    } else {
        program->key = key;
        program->impl = impl;
        program->number = key == word_of(impl) ? next_id.fetch_add(1, std::memory_order_relaxed) : key - 1;
        program->id = program->number == 0 ? TTMEM_PROGRAM_ZERO : program->number;
        program->owner = context().owner;
    }
    return program;
}

// ---- where it runs

bool is_reportable(const Program& program) noexcept {
    return program.mesh != nullptr && program.mesh->number.load(std::memory_order_acquire) == program.mesh_number &&
           program.mesh->is_open.load(std::memory_order_acquire);
}

namespace {

// Slow dispatch takes a program of a mesh from chip to chip.
bool has_chip(const Mesh& mesh, const void* device) noexcept {
    for (uint32_t i = 0; i < mesh.chip_count; ++i)
        if (mesh.devices[i] == device) return true;
    return false;
}

bool settle_on(Program& program, Mesh& mesh, uint16_t target) noexcept {
    if (target == 0) return false;
    const uint32_t number = mesh.number.load(std::memory_order_acquire);
    if (program.mesh != nullptr && (program.mesh != &mesh || program.mesh_number != number)) {
        // It outlived its mesh and runs on another one: nothing of it is in the journal any more.
        for (uint32_t* list : {&program.circular_buffers, &program.dataflow_buffers, &program.scratchpads})
            end_parts(list, false);
        program.is_entered = program.has_views_listed = program.has_binaries = false;
        program.is_compiled = false;
    }
    program.mesh = &mesh;
    program.mesh_number = number;
    program.target = target;
    return true;
}

}  // namespace

bool settle(Program& program, const void* device) noexcept {
    const bool is_settled = is_reportable(program);
    if (is_settled && (device == program.device || has_chip(*program.mesh, device))) return true;
    program.device = device;
    if (Mesh* mesh = mesh_of(device)) return settle_on(program, *mesh, target_of_place(*mesh, program.place));
    Mesh* mesh = mesh_with_chip(device);
    return mesh != nullptr && settle_on(program, *mesh, target_of(device));
}

// Only if there are any: other threads may be at work on theirs.
void report_waiting_programs() noexcept {
    Memory* all = TTMEM_ON ? memory() : nullptr;
    if (all == nullptr || all->waiting.exchange(0, std::memory_order_acq_rel) == 0) return;
    all->programs.each([all](Program& program) noexcept {
        if (!program.is_compiled || program.mesh != nullptr) return;
        Mesh* mesh = mesh_with_chip(program.device);  // compares only: the device may be long gone
        if (mesh == nullptr || !settle_on(program, *mesh, target_of(program.device))) {
            all->waiting.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        program.is_compiled = true;
        report_kernels(program);
    });
}

// ---- its parts

Part* append_part(uint32_t* first, uint32_t number) noexcept {
    Memory* all = memory();
    if (all == nullptr) return nullptr;
    const uint32_t cell = all->cells.take();
    if (cell == 0) {
        count_lost();
        return nullptr;
    }
    while (*first != 0) first = &all->cells.at<Part>(*first).next;
    *first = cell;
    Part& part = all->cells.at<Part>(cell);
    part.number = number;
    return &part;
}

void end_parts(uint32_t* link, bool is_told) noexcept {
    Memory* all = memory();
    if (all == nullptr) return;
    uint32_t cell = *link;
    *link = 0;
    while (cell != 0) {
        const Part& part = all->cells.at<Part>(cell);
        if (is_told) ttmem_free(part.handle);
        if (part.is_view)
            if (Seen* seen = all->views.find(word_of(part.object))) all->views.remove(seen);
        const uint32_t next = part.next;
        all->cells.give(cell);
        cell = next;
    }
}

}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE(program_destroyed, void, (const void* impl)) {
    auto* real = ttmem::hook::original_as<void(const void*)>(Hook::program_destroyed);
    if (ttmem::hook::remembers())
        if (auto* program = ttmem::hook::find_program(impl))
            ttmem::hook::end_program(*program, ttmem::hook::is_reportable(*program));
    if (real != nullptr) real(impl);
}
