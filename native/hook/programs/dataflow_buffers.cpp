// Dataflow buffers and scratchpads, which share the place of circular buffers, and programs that do not fit there.
//
// While a program lays them out, the runtime marks each place it takes in the allocators of the cores concerned. An
// allocator stands for one rectangle of cores, so a buffer on several rectangles is marked several times: marks at the same
// place on other cores belong together. Those that borrow a buffer's memory are not marked.
#include "hook/programs/cores.hpp"
#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {

inline constexpr uint32_t kRangesMost = 64;

/// One laying out, and the buffer that is being marked.
struct MarkPass {
    Program* program;
    uint32_t* first;
    uint32_t count;  // buffers before that one
    uint64_t address, size_bytes;
    uint32_t range_count;
    uint8_t kind;
    CoreRange ranges[kRangesMost];
};

namespace {

void finish_marks(MarkPass& pass) noexcept {
    if (pass.range_count == 0) return;
    CoreText text;
    for (uint32_t i = 0; i < pass.range_count; ++i) text.add(pass.ranges[i]);
    Part layout{};
    layout.number = pass.count++;
    layout.kind = pass.kind;
    layout.address = static_cast<uint32_t>(pass.address);
    layout.size_bytes = pass.size_bytes;
    layout.core_set = text.interned();
    layout.core_count = text.core_count();
    lay_out(*pass.program, pass.first, layout);
    pass.range_count = 0;
}

bool belongs_to_last(const MarkPass& pass, const CoreRange& range, uint64_t address, uint64_t size_bytes) noexcept {
    if (pass.range_count == 0 || pass.range_count == kRangesMost) return false;
    if (pass.address != address || pass.size_bytes != size_bytes) return false;
    for (uint32_t i = 0; i < pass.range_count; ++i)
        if (pass.ranges[i].overlaps(range)) return false;
    return true;
}

void note_mark(MarkPass& pass, const CoreRange& range, uint64_t address, uint64_t size_bytes) noexcept {
    if (size_bytes == 0) return;
    if (!belongs_to_last(pass, range, address, size_bytes)) finish_marks(pass);
    pass.address = address;
    pass.size_bytes = size_bytes;
    pass.ranges[pass.range_count++] = range;
}

uint64_t lay_out_marked(void* real, const void* impl, const void* device, uint8_t kind) {
    Program* program = find_or_add_program(impl);
    if (program != nullptr && !settle(*program, device)) program = nullptr;
    MarkPass pass;
    pass.program = program;
    pass.kind = kind;
    pass.count = pass.range_count = 0;
    if (program != nullptr) pass.first = kind == TTMEM_SCRATCHPAD ? &program->scratchpads : &program->dataflow_buffers;
    Context before = context();
    context().marks = program == nullptr ? nullptr : &pass;
    const uint64_t result = call_within(real, {word_of(impl), word_of(device)}, before).low;
    if (program == nullptr) return result;
    finish_marks(pass);
    if (pass.count != 0) end_beyond(pass.first, pass.count);
    return result;
}

// ---- programs that reach into an L1 buffer

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

uint64_t lowest_l1_address(const void* device) noexcept {
    struct Optional {  // of a whole word: it comes in two registers
        uint64_t address;
        bool is_there;
    };
    const auto lowest = ask<Optional>(Getter::lowest_l1_address, {}, device);
    return lowest.is_there ? lowest.address : 0;
}

// Runs while the runtime's refusal passes.
void report_clash(void* word) noexcept {
    const auto& check = *static_cast<const Check*>(word);
    const Program* program = find_program(check.impl);
    if (program == nullptr || !is_reportable(*program)) return;
    uint64_t end = 0;
    for (const uint32_t list : {program->circular_buffers, program->dataflow_buffers, program->scratchpads})
        if (end_of(list) > end) end = end_of(list);
    const uint64_t lowest = is_mesh(check.device) ? lowest_l1_address(check.device) : 0;
    ttmem_clash(program->target, program->id, end, lowest);
}

uint64_t validate(void* real, const void* impl, const void* device) {
    Check check{impl, device};
    const uint64_t arguments[6] = {word_of(impl), word_of(device)};
    return ttmem_guarded_call(real, arguments, report_clash, &check).low;
}

}  // namespace
}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE(allocate_dataflow_buffers, uint64_t, (void* program, const void* device)) {
    void* real = ttmem::hook::original(Hook::allocate_dataflow_buffers);
    if (TTMEM_ON) return ttmem::hook::lay_out_marked(real, program, device, TTMEM_DATAFLOW_BUFFER);
    return reinterpret_cast<uint64_t (*)(void*, const void*)>(real)(program, device);
}

TTMEM_INTERPOSE(allocate_scratchpads, uint64_t, (void* program, const void* device)) {
    void* real = ttmem::hook::original(Hook::allocate_scratchpads);
    if (TTMEM_ON) return ttmem::hook::lay_out_marked(real, program, device, TTMEM_SCRATCHPAD);
    return reinterpret_cast<uint64_t (*)(void*, const void*)>(real)(program, device);
}

TTMEM_INTERPOSE(mark_address, uint64_t, (const void* allocator, uint64_t address, uint64_t size, uint64_t base)) {
    auto* real = ttmem::hook::original_as<uint64_t(const void*, uint64_t, uint64_t, uint64_t)>(Hook::mark_address);
    if (ttmem::hook::MarkPass* pass = ttmem::hook::context().marks)
        ttmem::hook::note_mark(*pass, *static_cast<const ttmem::hook::CoreRange*>(allocator), address, size);
    return real(allocator, address, size, base);
}

TTMEM_INTERPOSE(validate_circular_buffers, uint64_t, (void* program, const void* device)) {
    return ttmem::hook::validate(ttmem::hook::original(Hook::validate_circular_buffers), program, device);
}

TTMEM_INTERPOSE(validate_dataflow_buffers, uint64_t, (void* program, const void* device)) {
    return ttmem::hook::validate(ttmem::hook::original(Hook::validate_dataflow_buffers), program, device);
}
