#include "writer/allocations.hpp"

#include "journal/pools.hpp"
#include "writer/checks.hpp"

namespace ttmem {
namespace {

// What each allocation has besides its own words. A view is charged 0; what it spans stays readable beside it.
struct Asked {
    uint8_t kind, pool, flags;
    uint32_t site;
    uint16_t target;
    uint64_t id, reserved;
    uint8_t options;

    Entry entry() const noexcept {
        const bool is_view = (options & TTMEM_VIEW) != 0;
        count_if_clamped(flags);
        return {kind,
                pool,
                static_cast<uint8_t>(flags | (is_view ? kView : 0)),
                site,
                checked_target(target),
                id,
                is_view ? 0 : reserved};
    }
};

ttmem_handle allocate_as_asked(RecordCopy& words, uint8_t options) noexcept {
    return options & TTMEM_BY_HANDLE ? allocate_by_handle(words) : allocate(words);
}

uint8_t kind_of_cb(uint8_t kind) noexcept {
    if (kind == 0) return TTMEM_CIRCULAR_BUFFER;
    return is_circular_buffer(kind) ? kind : uint8_t{TTMEM_KIND_UNKNOWN};
}

RecordCopy words_of(const ttmem_buffer& buffer, uint8_t kind) noexcept {
    uint8_t flags = 0;
    const uint64_t requested = checked_size(buffer.requested_bytes, flags);
    const uint64_t reserved = checked_size(buffer.reserved_bytes, flags);
    const uint64_t per_bank = checked_size(buffer.per_bank_bytes, flags);
    const Asked asked{
        kind,      pool_of_buffer(buffer.type),          flags,         site_of(buffer.site), buffer.target,
        buffer.id, reserved != 0 ? reserved : requested, buffer.options};
    return BufferRecord{
        asked.entry(),     checked_address(buffer.address), requested != 0 ? requested : reserved, per_bank,
        buffer.page_bytes, checked_layout(buffer.layout)}
        .pack();
}

// Each way has words of its own: those that are entered in the index are handed on and lie in memory, the others need not.
template <ttmem_handle allocate_words(RecordCopy&) noexcept>
ttmem_handle report_buffer(const ttmem_buffer& buffer) noexcept {
    RecordCopy words = words_of(buffer, TTMEM_BUFFER);
    return allocate_words(words);
}

[[gnu::noinline]] ttmem_handle trace_buffer_alloc(const ttmem_buffer& buffer) noexcept {
    RecordCopy words = words_of(buffer, TTMEM_TRACE_BUFFER);
    return allocate_by_handle(words);
}

}  // namespace

TTMEM_HOT ttmem_handle buffer_alloc(const ttmem_buffer* buffer) {
    if (!may_write()) return 0;
    if (__builtin_expect((buffer->options & TTMEM_HOLDS_TRACE) != 0, 0)) return trace_buffer_alloc(*buffer);
    return buffer->options & TTMEM_BY_HANDLE ? report_buffer<allocate_by_handle>(*buffer)
                                             : report_buffer<allocate>(*buffer);
}

namespace {

// What the parts of a buffer that is allocated by core have in common.
struct CoreBuffer {
    const ttmem_core_buffer& told;
    uint32_t site;
    uint8_t flags = 0;
    uint64_t per_core = 0, core_count = 0, requested = 0;

    explicit CoreBuffer(const ttmem_core_buffer& buffer) noexcept : told(buffer), site(site_of(buffer.site)) {
        per_core = checked_size(buffer.size_per_core_bytes, flags);
        for (uint32_t i = 0; i < buffer.part_count; ++i) core_count += buffer.parts[i].core_count;
        requested = checked_size(buffer.requested_bytes, flags);
        if (requested == 0) requested = checked_product(per_core, core_count, flags);
        if (per_core > kPerCoreMost) flags |= kClamped;
        count_if_clamped(flags);
    }

    // What was asked for is shared by cores; the first part has what is left over.
    uint64_t requested_of(uint32_t part) const noexcept {
        const auto share = [this](uint32_t i) { return requested * told.parts[i].core_count / core_count; };
        if (core_count == 0) return part == 0 ? requested : 0;
        if (part != 0) return share(part);
        uint64_t left = requested;
        for (uint32_t i = 1; i < told.part_count; ++i) left -= share(i);
        return left;
    }

    RecordCopy words_of(const ttmem_core_part& one, uint64_t cores, uint64_t asked, uint32_t next) const noexcept {
        uint8_t cut = flags;
        const bool is_view = (told.options & TTMEM_VIEW) != 0;
        const uint64_t reserved = is_view ? 0 : checked_product(per_core, cores, cut);
        const Entry entry{TTMEM_BUFFER, pool_of_buffer(told.type),   static_cast<uint8_t>(cut | (is_view ? kView : 0)),
                          site,         checked_target(told.target), told.id,
                          reserved};
        const uint64_t listed = per_core < kPerCoreMost ? per_core : kPerCoreMost;
        return CorePartRecord{
            entry, one.address, asked, listed, CorePartRecord::fitting(one.core_set), next, checked_layout(told.layout)}
            .pack();
    }
    RecordCopy words_of_part(uint32_t part, uint32_t next) const noexcept {
        return words_of(told.parts[part], told.parts[part].core_count, requested_of(part), next);
    }
    /// All of it in one, on cores that no process names.
    RecordCopy words_of_all() const noexcept {
        return words_of({told.parts[0].address, 0, 0}, core_count, requested, 0);
    }
};

}  // namespace

// Once for each part, the last one first; all or none, as the counters are right either way.
ttmem_handle core_buffer_alloc(const ttmem_core_buffer* told) {
    if (!may_write() || told->parts == nullptr || told->part_count == 0) return 0;
    const CoreBuffer buffer(*told);
    const Key key{told->id, checked_target(told->target), TTMEM_BUFFER};
    uint32_t next = 0;
    bool has_room = true;
    for (uint32_t part = told->part_count - 1; part != 0 && has_room; --part) {
        RecordCopy words = buffer.words_of_part(part, next);
        const uint32_t made = begin_further(words);
        has_room = made != 0;
        if (has_room) next = made;
    }
    if (has_room) {
        RecordCopy words = buffer.words_of_part(0, next);
        const ttmem_handle handle = allocate_as_asked(words, told->options);
        if (told->part_count == 1 || is_alive(handle)) return handle;
        const bool is_listed = (handle & kUntabledHandle) == 0;
        end_further(key, is_listed ? Handle::unpack(handle).made_by : ~uint64_t{0}, next);
        if (is_listed) return handle;  // it began and ended before
        free_by_handle(handle);
    } else {
        end_further(key, ~uint64_t{0}, next);
    }
    RecordCopy words = buffer.words_of_all();
    return allocate_unlisted(words);
}

ttmem_handle cb_alloc(const ttmem_circular_buffer* cb) {
    if (!may_write()) return 0;
    uint8_t flags = 0;
    const uint64_t per_core = checked_size(cb->size_per_core_bytes, flags);
    const uint64_t reserved = checked_product(cb->size_per_core_bytes, cb->core_count, flags);
    const Asked asked{kind_of_cb(cb->kind), TTMEM_CB, flags, cb->site, cb->target, cb->id, reserved, cb->options};
    RecordCopy words = CircularBufferRecord{asked.entry(),           cb->address, cb->core_set,
                                            program_of(cb->program), per_core,    cb->core_count}
                           .pack();
    return allocate_as_asked(words, cb->options);
}

ttmem_handle kernel_load(const ttmem_kernel* kernel) {
    if (!may_write()) return 0;
    uint8_t flags = 0;
    const uint8_t kind = is_kernel(kernel->kind) ? kernel->kind : uint8_t{TTMEM_KERNEL_UNKNOWN};
    const uint64_t exact = checked_size(kernel->exact_bytes, flags);
    uint64_t times_cores = checked_size(kernel->binary_times_cores_bytes, flags);
    if (times_cores == 0) times_cores = checked_product(kernel->binary_bytes, kernel->core_count, flags);
    if (exact == 0) flags |= kEstimated;
    const uint8_t core = kernel->core_type < kCoreTypes ? kernel->core_type : uint8_t{TTMEM_CORE_UNKNOWN};
    const uint8_t found = kernel->found_by <= TTMEM_FOUND_SIZE ? kernel->found_by : uint8_t{TTMEM_FOUND_UNKNOWN};
    const uint64_t binary = checked_size(kernel->binary_bytes, flags);
    const uint8_t pool = kernel->pool == 0 ? pool_of_kernel(kind) : checked_pool(kernel->pool);
    const Asked asked{
        kind, pool, flags, kernel->site, kernel->target, kernel->id, exact != 0 ? exact : times_cores, kernel->options};
    RecordCopy words =
        KernelRecord{asked.entry(), program_of(kernel->program), times_cores, binary, kernel->core_count, core, found}
            .pack();
    return allocate_as_asked(words, kernel->options);
}

TTMEM_HOT void free_handle(ttmem_handle handle) {
    if (may_write()) free_by_handle(handle);
}

TTMEM_HOT void free_id(uint16_t target, uint8_t kind, uint64_t id, uint8_t pool, uint64_t bytes) {
    if (!may_write()) return;
    uint8_t flags = 0;
    free_by_id({id, checked_target(target), checked_kind(kind)}, pool, checked_size(bytes, flags));
}

}  // namespace ttmem
