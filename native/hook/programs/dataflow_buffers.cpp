// Dataflow buffers and scratchpads, which share the place of circular buffers.
//
// For a dataflow buffer of its own memory the runtime first asks what is free on its cores, then marks the place in every
// allocator that has some of them, asking again for the cores of that allocator:
//
//   reserve(cores of the buffer)   reserve(cores of an allocator)  mark   reserve(cores of an allocator)  mark   ...
//
// So the request before the last one names the cores of a new buffer. Releases before 0.79 only mark: there, marks at the
// same place belong together. Scratchpads are kept by the kernels that use them, and are read there.
#include "hook/programs/cores.hpp"
#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {

/// Cores as the runtime lists them; those beyond the room are left out.
struct CoreList {
    static constexpr uint32_t kMost = 64;
    uint32_t count;
    CoreRange ranges[kMost];

    void add(const CoreRange& range) noexcept {
        if (count < kMost) ranges[count++] = range;
    }
    bool overlaps(const CoreRange& range) const noexcept {
        for (uint32_t i = 0; i < count; ++i)
            if (ranges[i].overlaps(range)) return true;
        return false;
    }
};

/// One laying out, and the buffer that is being marked.
struct MarkPass {
    Program* program;
    uint32_t* first;
    uint32_t count;  // buffers before that one
    uint8_t kind;
    uint64_t address, size_bytes;
    CoreList cores;             // of the buffer that is being marked
    CoreList asked, asked_now;  // before the last request, and in it
    uint32_t requests;          // since the last mark
    uint32_t set_count;
    const void* sets[CoreList::kMost];  // what was asked for in all, as the runtime holds it
};

namespace {

void list_marked(MarkPass& pass, const CoreList& cores, uint64_t address, uint64_t size_bytes) noexcept {
    CoreText text;
    for (uint32_t i = 0; i < cores.count; ++i) text.add(cores.ranges[i]);
    Part layout{};
    layout.number = pass.count++;
    layout.kind = pass.kind;
    layout.address = static_cast<uint32_t>(address);
    layout.size_bytes = size_bytes;
    layout.core_set = text.interned();
    layout.core_count = text.core_count();
    lay_out(*pass.program, pass.first, layout);
}

void finish_marks(MarkPass& pass) noexcept {
    if (pass.cores.count != 0) list_marked(pass, pass.cores, pass.address, pass.size_bytes);
    pass.cores.count = 0;
}

void read_core_list(const void* core_set, CoreList& list) noexcept {
    list.count = 0;
    const auto* ranges = ask<const Ranges*>(Getter::core_ranges, nullptr, core_set);
    if (ranges == nullptr) return;
    for (const CoreRange* range = ranges->begin; range != ranges->end; ++range) list.add(*range);
}

void note_request(MarkPass& pass, const void* core_set) noexcept {
    pass.asked = pass.asked_now;
    read_core_list(core_set, pass.asked_now);
    ++pass.requests;
    if (pass.set_count < CoreList::kMost) pass.sets[pass.set_count++] = core_set;
}

void note_mark(MarkPass& pass, const CoreRange& range, uint64_t address, uint64_t size_bytes) noexcept {
    const uint32_t requests = pass.requests;
    pass.requests = 0;
    if (size_bytes == 0) return;
    const bool is_same_place = pass.cores.count != 0 && pass.address == address && pass.size_bytes == size_bytes;
    if (requests == 1 || (is_same_place && requests == 0 && pass.cores.overlaps(range))) return;
    if (requests >= 2 || !is_same_place) finish_marks(pass);
    pass.address = address;
    pass.size_bytes = size_bytes;
    if (requests >= 2)
        pass.cores = pass.asked;
    else
        pass.cores.add(range);
}

// ---- scratchpads

// What of a Kernel nothing exported tells, and what shows that its members lie as they are known to: the name, which is
// told, is where it should be, and the cores, which are passed on, follow it.
constexpr uint64_t kNameOffset = 0xc8, kCoresOffset = 0xe8, kScratchpadsOffset = 0x220;

/// One of a kernel's scratchpads.
struct Scratchpad {
    unsigned char name[32];
    uint32_t size_bytes, argument, address;
    unsigned char rest[0x60 - 44];
};
static_assert(sizeof(Scratchpad) == 0x60);

bool was_asked_for(const MarkPass& pass, const void* core_set) noexcept {
    for (uint32_t i = 0; i < pass.set_count; ++i)
        if (pass.sets[i] == core_set) return true;
    return false;
}

void list_scratchpads_of(MarkPass& pass, const unsigned char* kernel) noexcept {
    const void* name = ask<const void*>(Getter::kernel_name, nullptr, static_cast<const void*>(kernel));
    if (name != kernel + kNameOffset || !was_asked_for(pass, kernel + kCoresOffset)) return;
    read_core_list(kernel + kCoresOffset, pass.cores);
    const Scratchpad* span[2];
    std::memcpy(span, kernel + kScratchpadsOffset, sizeof span);
    const uint64_t bytes = word_of(span[1]) - word_of(span[0]);
    if (span[0] == nullptr || bytes % sizeof(Scratchpad) != 0 || bytes > 64 * sizeof(Scratchpad)) return;
    for (const Scratchpad* one = span[0]; one != span[1]; ++one)
        if (one->size_bytes != 0 && one->address != 0) list_marked(pass, pass.cores, one->address, one->size_bytes);
}

void list_scratchpads(MarkPass& pass) noexcept {
    for (uint32_t cell = pass.program->kernels; cell != 0; cell = cells().at<Part>(cell).next)
        list_scratchpads_of(pass, static_cast<const unsigned char*>(cells().at<Part>(cell).object));
    pass.cores.count = 0;
}

uint64_t lay_out_marked(void* real, const void* impl, const void* device, uint8_t kind) {
    Program* program = find_or_add_program(impl);
    if (program != nullptr && !settle(*program, device)) program = nullptr;
    MarkPass pass;
    pass.program = program;
    pass.kind = kind;
    pass.count = pass.cores.count = pass.asked.count = pass.asked_now.count = pass.requests = pass.set_count = 0;
    if (program != nullptr) pass.first = kind == TTMEM_SCRATCHPAD ? &program->scratchpads : &program->dataflow_buffers;
    Context before = context();
    context().marks = program == nullptr ? nullptr : &pass;
    const uint64_t result = call_within(real, {word_of(impl), word_of(device)}, before).low;
    if (program == nullptr) return result;
    finish_marks(pass);
    if (kind == TTMEM_SCRATCHPAD && pass.count == 0 && pass.set_count != 0) list_scratchpads(pass);
    if (pass.count != 0) end_beyond(pass.first, pass.count);
    return result;
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

TTMEM_INTERPOSE(reserve_local_l1, uint64_t, (void* program, const void* device, const void* core_set)) {
    auto* real = ttmem::hook::original_as<uint64_t(void*, const void*, const void*)>(Hook::reserve_local_l1);
    if (ttmem::hook::MarkPass* pass = ttmem::hook::context().marks) ttmem::hook::note_request(*pass, core_set);
    return real(program, device, core_set);
}

TTMEM_INTERPOSE(mark_address, uint64_t, (const void* allocator, uint64_t address, uint64_t size, uint64_t base)) {
    auto* real = ttmem::hook::original_as<uint64_t(const void*, uint64_t, uint64_t, uint64_t)>(Hook::mark_address);
    if (ttmem::hook::MarkPass* pass = ttmem::hook::context().marks)
        ttmem::hook::note_mark(*pass, *static_cast<const ttmem::hook::CoreRange*>(allocator), address, size);
    return real(allocator, address, size, base);
}
