// Programs whose circular or dataflow buffers reach into an L1 buffer, or beyond the end of L1.
#include "hook/guard.h"
#include "hook/naming/callers.hpp"
#include "hook/programs/memory.hpp"
#include "hook/refusals/passing.hpp"
#include "hook/refusals/refusals.hpp"
#include "hook/refusals/words.hpp"
#include "hook/runtime.hpp"
#include "hook/tensors/tensors.hpp"

namespace ttmem::hook {
namespace {

struct Check {
    const void *impl, *device;
};

uint64_t end_of(uint32_t cell) noexcept {
    uint64_t end = 0;
    for (Memory& all = *memory(); cell != 0; cell = all.cells.at<Part>(cell).next) {
        const Part& part = all.cells.at<Part>(cell);
        if (!part.is_view && part.address + part.size_bytes > end) end = part.address + part.size_bytes;
    }
    return end;
}

uint64_t end_of(const Program& program) noexcept {
    uint64_t end = 0;
    for (const uint32_t list : {program.circular_buffers, program.dataflow_buffers, program.scratchpads})
        if (end_of(list) > end) end = end_of(list);
    return end;
}

uint64_t lowest_l1_address(const void* device) noexcept {
    struct Optional {  // of a whole word: it comes in two registers
        uint64_t address;
        bool is_there;
    };
    const auto lowest = ask<Optional>(Getter::lowest_l1_address, {}, device);
    return lowest.is_there ? lowest.address : 0;
}

void take_words(const ClashWords& words, ttmem_incident& incident) noexcept {
    incident.options |= TTMEM_FIGURES_OF_TEXT;
    incident.cb_end_address = words.region_end;
    if (words.buffer_address != kUntoldFigure) incident.buffer_address = words.buffer_address;
    if (words.l1_end != kUntoldFigure) incident.space_end_address = words.l1_end;
    CoreText cores;
    cores.add(words.cores);
    incident.core_set = cores.interned();
}

void ask_figures(const Program* program, const void* device, ttmem_incident& incident) noexcept {
    incident.options |= TTMEM_FIGURES_READ_LATER;
    incident.cb_end_address = program == nullptr ? 0 : end_of(*program);
    incident.buffer_address = is_mesh(device) ? lowest_l1_address(device) : 0;
}

// The line, and the operation that is being launched for the first time: its program has no name yet.
uint32_t site_of_clash() noexcept {
    const Copy* copy = at_hand.copy;
    if (copy == nullptr) return 0;
    Operation operation;
    find_operation(context().launcher, operation);
    return site_with(asked_by(*copy).site, operation);
}

// Runs while the runtime's refusal passes.
void report_clash(void* word) noexcept {
    if (!TTMEM_ON || !is_exception_passing()) return;
    const auto& check = *static_cast<const Check*>(word);
    Program* program = find_program(check.impl);
    if (program != nullptr && !is_reportable(*program)) program = nullptr;
    if (program != nullptr) name_program(*program);
    const std::string_view text = words_of_passing();
    ClashWords words;
    const bool is_told = read_clash(text, words);
    ttmem_incident incident = an_incident(TTMEM_INCIDENT_CLASH, text);
    incident.pool = TTMEM_L1;
    incident.target = program != nullptr ? program->target : target_of(check.device);
    if (program != nullptr)
        incident.program = program->id;
    else if (is_told && words.program != kUntoldFigure)
        incident.program = words.program == 0 ? TTMEM_PROGRAM_ZERO : words.program;
    is_told ? take_words(words, incident) : ask_figures(program, check.device, incident);
    incident.site = site_of_clash();
    ttmem_incident_on(&incident);
}

uint64_t validate(void* real, const void* impl, const void* device) {
    Check check{impl, device};
    const uint64_t arguments[6] = {word_of(impl), word_of(device)};
    return ttmem_guarded_call(real, arguments, report_clash, &check).low;
}

}  // namespace
}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE(validate_circular_buffers, uint64_t, (void* program, const void* device)) {
    return ttmem::hook::validate(ttmem::hook::original(Hook::validate_circular_buffers), program, device);
}

TTMEM_INTERPOSE(validate_dataflow_buffers, uint64_t, (void* program, const void* device)) {
    return ttmem::hook::validate(ttmem::hook::original(Hook::validate_dataflow_buffers), program, device);
}
