// Circular buffers of programs: where each lies, how large it is on a core, on which cores.
//
// Inside ProgramImpl::allocate_circular_buffers every local one is told once for each chip: one record is kept of it. Those
// that look into a buffer (global ones) are told by nobody; afterwards the runtime is asked for all there are, and what had
// no event is listed as a view. A cached program moves its views with set_global_buffer.
#include "hook/programs/cores.hpp"
#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {

/// One laying out of the local circular buffers of a program.
struct LocalPass {
    Program* program;
    const void* first_device;  // of the chips that each is told for
    uint32_t count;
};

namespace {

constexpr uint32_t kFirstView = 1u << (kNumberBits - 1);  // numbers of views, above those of local ones
constexpr uint32_t kIndicesMost = 64;
constexpr uint32_t kGridMost = 32;

// A shared pointer is two words, the object first; a std::span where it begins and how many there are.
struct Shared {
    const void *object, *count;
};
struct Span {
    const Shared* begin;
    uint64_t count;
};

bool is_layout_of(const Part& part, const Part& other) noexcept {
    return part.address == other.address && part.size_bytes == other.size_bytes && part.core_set == other.core_set &&
           part.core_count == other.core_count;
}

void take_layout(const Program& program, Part& part, const Part& layout) noexcept {
    if (part.handle != 0 && is_layout_of(part, layout)) return;
    ttmem_free(part.handle);
    part.address = layout.address;
    part.size_bytes = layout.size_bytes;
    part.core_set = layout.core_set;
    part.core_count = layout.core_count;
    report_part(program, part);
}

}  // namespace

void report_part(const Program& program, Part& part) noexcept {
    ttmem_circular_buffer told{};
    told.id = program.number << kNumberBits | part.number;
    told.program = program.id;
    told.address = part.address;
    told.core_set = part.core_set;
    told.size_per_core_bytes = part.size_bytes;
    told.core_count = part.core_count;
    told.target = program.target;
    told.kind = part.kind;
    told.options = static_cast<uint8_t>(TTMEM_BY_HANDLE | (part.is_view ? TTMEM_VIEW : 0));
    part.handle = ttmem_cb_alloc(&told);
}

void lay_out(const Program& program, uint32_t* first, const Part& layout) noexcept {
    Memory& all = *memory();
    uint32_t cell = *first;
    while (cell != 0 && all.cells.at<Part>(cell).number != layout.number) cell = all.cells.at<Part>(cell).next;
    Part* part = cell == 0 ? append_part(first, layout.number) : &all.cells.at<Part>(cell);
    if (part == nullptr) return;
    part->kind = layout.kind;
    part->is_view = layout.is_view;
    part->object = layout.object;
    take_layout(program, *part, layout);
}

namespace {

void note_local(LocalPass& pass, const void* core_set, uint64_t address, uint64_t size_bytes,
                const void* device) noexcept {
    if (pass.first_device == nullptr) pass.first_device = device;
    if (device != pass.first_device) return;
    Part layout{};
    layout.number = pass.count++;
    layout.kind = TTMEM_CIRCULAR_BUFFER;
    layout.address = static_cast<uint32_t>(address);
    layout.size_bytes = size_bytes;
    if (const auto* ranges = ask<const Ranges*>(Getter::core_ranges, nullptr, core_set)) {
        CoreText text;
        for (const CoreRange* range = ranges->begin; range != ranges->end; ++range) text.add(*range);
        layout.core_set = text.interned();
        layout.core_count = text.core_count();
    } else {
        layout.core_count = static_cast<uint16_t>(ask<uint32_t>(Getter::core_count, 0, core_set));
    }
    lay_out(*pass.program, &pass.program->circular_buffers, layout);
}

}  // namespace

void end_beyond(uint32_t* link, uint32_t count) noexcept {
    Memory& all = *memory();
    while (*link != 0) {
        Part& part = all.cells.at<Part>(*link);
        if (part.is_view || part.number < count) {
            link = &part.next;
            continue;
        }
        uint32_t ended = *link;
        *link = part.next;
        part.next = 0;
        end_parts(&ended, true);
    }
}

namespace {

// ---- views

// All indices of a circular buffer share its bytes, so any of them tells the size.
uint64_t view_size_of(const void* buffer) noexcept {
    auto* uses = getter_as<bool(const void*, uint32_t)>(Getter::cb_uses_index);
    auto* pages = getter_as<uint32_t(const void*, uint32_t)>(Getter::cb_pages);
    auto* page = getter_as<uint32_t(const void*, uint32_t)>(Getter::cb_page_size);
    if (uses == nullptr || pages == nullptr || page == nullptr) return 0;
    for (uint32_t i = 0; i < kIndicesMost; ++i)
        if (uses(buffer, i)) {
            const uint64_t page_bytes = page(buffer, i);
            return page_bytes == 0 ? 0 : pages(buffer, i) * page_bytes;  // the count of pages divides by their size
        }
    return 0;
}

// The runtime answers for one core at a time: rows of cores become rectangles, equal rows one.
void read_cores_of_view(const void* buffer, const Mesh& mesh, Part& layout) noexcept {
    auto* is_on = getter_as<bool(const void*, const uint64_t*)>(Getter::cb_is_on_core);
    if (is_on == nullptr) return;
    CoreText text;
    uint32_t before = 0, since = 0;
    for (uint32_t y = 0; y <= mesh.grid_y && y < kGridMost; ++y) {
        uint32_t row = 0;
        for (uint32_t x = 0; x < mesh.grid_x && x < kGridMost && y < mesh.grid_y; ++x) {
            const uint64_t core[2] = {x, y};
            row |= static_cast<uint32_t>(is_on(buffer, core)) << x;
        }
        if (row == before) continue;
        for (uint32_t left = before; left != 0;) {
            const auto first = static_cast<uint32_t>(__builtin_ctz(left));
            const uint32_t rest = ~(left >> first);
            const uint32_t width = rest == 0 ? 32 - first : static_cast<uint32_t>(__builtin_ctz(rest));
            text.add({first, since, first + width - 1, y - 1});
            left &= width + first >= 32 ? 0u : ~0u << (first + width);
        }
        before = row;
        since = y;
    }
    layout.core_set = text.interned();
    layout.core_count = text.core_count();
}

bool is_local(const Program& program, uint32_t address) noexcept {
    Memory& all = *memory();
    for (uint32_t cell = program.circular_buffers; cell != 0; cell = all.cells.at<Part>(cell).next) {
        const Part& part = all.cells.at<Part>(cell);
        if (!part.is_view && part.address == address) return true;
    }
    return false;
}

void list_view(Program& program, const void* buffer, uint32_t number) noexcept {
    Part layout{};
    layout.number = kFirstView + number;
    layout.kind = TTMEM_CIRCULAR_BUFFER;
    layout.is_view = true;
    layout.object = buffer;
    layout.address = ask<uint32_t>(Getter::cb_address, 0, buffer);
    if (layout.address == 0 || is_local(program, layout.address)) return;
    layout.size_bytes = view_size_of(buffer);
    read_cores_of_view(buffer, *program.mesh, layout);
    lay_out(program, &program.circular_buffers, layout);
    if (Seen* seen = memory()->views.find_or_add(word_of(buffer))) *seen = {program.key, layout.number};
}

void list_views(const void* impl, Program& program) noexcept {
    program.has_views_listed = true;
    if (getter(Getter::cb_address) == nullptr) return;
    const Span all = ask<Span>(Getter::program_circular_buffers, {}, impl);
    for (uint32_t i = 0; i < all.count && i < kFirstView; ++i) list_view(program, all.begin[i].object, i);
}

void refresh_view(const void* buffer) noexcept {
    Memory* all = memory();
    const Seen* seen = all == nullptr ? nullptr : all->views.find(word_of(buffer));
    Program* program = seen == nullptr ? nullptr : program_with(seen->program);
    if (program == nullptr || !is_reportable(*program)) return;
    for (uint32_t cell = program->circular_buffers; cell != 0; cell = all->cells.at<Part>(cell).next) {
        Part& part = all->cells.at<Part>(cell);
        if (part.number != seen->number) continue;
        Part layout = part;
        layout.address = ask<uint32_t>(Getter::cb_address, part.address, buffer);
        layout.size_bytes = view_size_of(buffer);
        return take_layout(*program, part, layout);
    }
}

uint64_t lay_out_locals(void* real, const void* impl, const void* device) {
    LocalPass pass{find_or_add_program(impl), nullptr, 0};
    if (pass.program != nullptr && !settle(*pass.program, device)) pass.program = nullptr;
    Context before = context();
    context().locals = pass.program == nullptr ? nullptr : &pass;
    const uint64_t result = call_within(real, {word_of(impl), word_of(device)}, before).low;
    if (pass.program == nullptr) return result;
    if (pass.count != 0) end_beyond(&pass.program->circular_buffers, pass.count);
    if (pass.count != 0 || !pass.program->has_views_listed) list_views(impl, *pass.program);
    return result;
}

void end_circular_buffers(const void* impl) noexcept {
    Program* program = find_program(impl);
    if (program == nullptr) return;
    end_parts(&program->circular_buffers, is_reportable(*program));
    program->has_views_listed = false;
}

}  // namespace
}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE(allocate_circular_buffers, uint64_t, (void* program, const void* device)) {
    void* real = ttmem::hook::original(Hook::allocate_circular_buffers);
    if (TTMEM_ON) return ttmem::hook::lay_out_locals(real, program, device);
    return reinterpret_cast<uint64_t (*)(void*, const void*)>(real)(program, device);
}

TTMEM_INTERPOSE(track_allocate_cb, void,
                (void* self, const void* cores, uint64_t address, uint64_t size, bool is_global, const void* device)) {
    auto* real = ttmem::hook::original_as<void(void*, const void*, uint64_t, uint64_t, bool, const void*)>(
        Hook::track_allocate_cb);
    ttmem::hook::LocalPass* pass = ttmem::hook::context().locals;
    if (pass != nullptr && !is_global) ttmem::hook::note_local(*pass, cores, address, size, device);
    real(self, cores, address, size, is_global, device);
}

TTMEM_INTERPOSE(deallocate_circular_buffers, uint64_t, (void* program)) {
    auto* real = ttmem::hook::original_as<uint64_t(void*)>(Hook::deallocate_circular_buffers);
    if (ttmem::hook::remembers()) ttmem::hook::end_circular_buffers(program);
    return real(program);
}

// Before 0.80 every change of a view came to this.
TTMEM_INTERPOSE(assign_global_address, uint64_t, (void* self)) {
    auto* real = ttmem::hook::original_as<uint64_t(void*)>(Hook::assign_global_address);
    const uint64_t result = real(self);
    if (TTMEM_ON) ttmem::hook::refresh_view(self);
    return result;
}

TTMEM_INTERPOSE(set_global_circular_buffer, uint64_t, (void* self, const void* global)) {
    auto* real = ttmem::hook::original_as<uint64_t(void*, const void*)>(Hook::set_global_circular_buffer);
    const uint64_t result = real(self, global);
    if (TTMEM_ON) ttmem::hook::refresh_view(self);
    return result;
}

TTMEM_INTERPOSE(set_global_buffer, uint64_t, (void* self, const void* buffer, uint32_t size, uint32_t offset)) {
    auto* real = ttmem::hook::original_as<uint64_t(void*, const void*, uint32_t, uint32_t)>(Hook::set_global_buffer);
    const uint64_t result = real(self, buffer, size, offset);
    if (TTMEM_ON) ttmem::hook::refresh_view(self);
    return result;
}
