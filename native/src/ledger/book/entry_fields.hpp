// What the words of a live entry mean, which depends on its kind.
#pragma once

#include "journal/layout.hpp"

namespace ttmem {

struct EntryFields {
    uint64_t address = 0, asked = 0, program = 0, page = 0, per_bank = 0;
    uint64_t core_count = 0;
    uint32_t core_set = 0;  // a text of its journal, 0 unknown
    uint8_t core_type = 0, found_by = 0, layout = 0;

    /// `is_socket`: reported by the allocation server protocol, where an address has all 64 bits and there is nothing beside it.
    explicit EntryFields(const RecordCopy& words, bool is_socket = false)
        : address(words.address), asked(words.requested_bytes()) {
        const uint8_t kind = words.kind();
        if (kind == TTMEM_PROGRAM_BINARY) {
            *this = {words.site(), words.reserved_bytes(), words.id};
        } else if (is_circular_buffer(kind) && is_socket) {
            asked = words.reserved_bytes();
        } else if (is_circular_buffer(kind)) {
            const CircularBufferRecord cb = CircularBufferRecord::unpack(words);
            *this = {cb.address, words.reserved_bytes(), cb.program};
            core_set = cb.core_set;
        } else if (!is_socket) {
            take_all(words);
        }
        if (is_socket || kind == TTMEM_PROGRAM_BINARY) return;
        const bool is_by_core = words.is_by_core();
        per_bank = is_by_core ? words.per_core_bytes() : words.per_bank_bytes();
        if (!is_buffer(kind)) core_count = words.count();
        if (is_by_core) core_count = words.core_count();
    }

private:
    EntryFields(uint64_t place, uint64_t size, uint64_t owner) : address(place), asked(size), program(owner) {}

    void take_all(const RecordCopy& words) {
        if (words.is_by_core()) {
            const CorePartRecord part = CorePartRecord::unpack(words);
            address = part.address;
            layout = part.layout;
            core_set = part.core_set;
        } else if (is_buffer(words.kind())) {
            const BufferRecord buffer = BufferRecord::unpack(words);
            address = buffer.address;
            layout = buffer.layout;
            page = buffer.page_bytes;
        } else if (words.kind() != TTMEM_KIND_UNKNOWN) {  // a kernel
            const KernelRecord kernel = KernelRecord::unpack(words);
            address = 0;
            program = kernel.program;
            core_type = kernel.core_type;
            found_by = kernel.found_by;
        }
    }
};

}  // namespace ttmem
