// What a live entry says, and the allocated record that began it, by its kind.
//
//   kind              address (4)           requested (6)     per_bank (7)            count (7)
//   buffer, trace_buf. address48 | layout4   requested         per bank                page, its upper 16 bits
//                     | page, its lower 12
//   buffer, by core   address48 | layout4   requested         per core27              core set, its upper 16 bits
//                     | core set, lower 12                    | next part21
//   circular_buffer.. address32 | core set32 program           size per core           cores
//   kernel_*          program48 | core     server's rule      one binary              cores
//                     type4 | found by4
//   program_binary    last launch's         operation's site  launches46 | status2    low 16 bits of the maker's sequence
//                     sequence, 0 none      (its site is the address of its binaries in each bank, 0 unknown)
//
// A buffer that is allocated by core (kIsByCore) has one entry for each address at which it lies, its parts. The first is
// the buffer: it is found by id or handle, and counted. Further parts (kFurther) are charged and listed, and end with the
// first, which names the next one by its place in the slab + 1, and so on; 0 ends the chain. The core set takes the 28 bits
// of the page.
//
// A page takes 28 bits: its bytes, or from 2^27 on a mark and how many pages the requested bytes are (see page_code).
// reserved is what the allocation is charged (0 for a view; a kernel's exact bytes, else the server's rule).
#pragma once

#include "journal/record.hpp"

namespace ttmem {

/// Whether a live entry of this kind has the words of a buffer, of a circular buffer, of a kernel.
inline constexpr bool is_buffer(uint8_t kind) { return kind == TTMEM_BUFFER || kind == TTMEM_TRACE_BUFFER; }
inline constexpr bool is_circular_buffer(uint8_t kind) {
    return kind >= TTMEM_CIRCULAR_BUFFER && kind <= TTMEM_SCRATCHPAD;
}
inline constexpr bool is_kernel(uint8_t kind) {
    return (kind >= TTMEM_KERNEL_APPLICATION && kind <= TTMEM_KERNEL_DISPATCH) || kind == TTMEM_KERNEL_UNKNOWN;
}
static_assert(!is_kernel(TTMEM_KIND_UNKNOWN) && !is_kernel(TTMEM_BUFFER) && !is_kernel(TTMEM_PROGRAM_BINARY));

/// What every live entry says. Its thread is added by anyone who enters it.
struct Entry {
    uint8_t kind = 0, pool = 0, flags = 0;
    uint32_t site = 0;
    uint16_t target = 0;
    uint64_t id = 0, reserved = 0;

    constexpr RecordCopy pack() const noexcept {
        RecordCopy words;
        words.tag = Tag{Type::allocated, kind, pool, flags, site}.pack();
        words.id = id;
        words.reserved = in::kReserved.pack(reserved) | in::kTarget.pack(target);
        return words;
    }
    static constexpr Entry unpack(const RecordCopy& words) noexcept {
        return {words.kind(),   words.pool(), words.flags(),         words.site(),
                words.target(), words.id,     words.reserved_bytes()};
    }
    bool operator==(const Entry&) const = default;
};

struct BufferRecord {
    Entry entry;
    uint64_t address = 0, requested = 0, per_bank = 0, page_bytes = 0;
    uint8_t layout = 0;

    constexpr RecordCopy pack() const noexcept {
        const uint64_t code = page_code(page_bytes, requested);
        RecordCopy words = entry.pack();
        words.address = in::kAddress.pack(address) | in::kLayout.pack(layout) | in::kLowCode.pack(code);
        words.requested = in::kRequested.pack(requested);
        words.per_bank = in::kPerBank.pack(per_bank) | in::kCount.pack(kCodeHigh.of(code));
        return words;
    }
    static constexpr BufferRecord unpack(const RecordCopy& words) noexcept {
        return {Entry::unpack(words),   words.buffer_address(), words.requested_bytes(),
                words.per_bank_bytes(), words.page_bytes(),     words.layout()};
    }
    bool operator==(const BufferRecord&) const = default;
};

/// A part of a buffer that is allocated by core.
struct CorePartRecord {
    Entry entry;
    uint64_t address = 0, requested = 0, per_core = 0;
    uint32_t core_set = 0, next_part = 0;
    uint8_t layout = 0;

    /// A set of cores that has no room beside the address is unknown: cut, it would be another one.
    static constexpr uint32_t fitting(uint32_t core_set) noexcept { return core_set >> kCodeBits == 0 ? core_set : 0; }

    constexpr RecordCopy pack() const noexcept {
        RecordCopy words = entry.pack();
        words.address =
            in::kAddress.pack(address) | in::kLayout.pack(layout) | in::kIsByCore.pack(1) | in::kLowCode.pack(core_set);
        words.requested = in::kRequested.pack(requested);
        words.per_bank =
            in::kPerCore.pack(per_core) | in::kNextPart.pack(next_part) | in::kCount.pack(kCodeHigh.of(core_set));
        return words;
    }
    static constexpr CorePartRecord unpack(const RecordCopy& words) noexcept {
        return {Entry::unpack(words), words.buffer_address(), words.requested_bytes(), words.per_core_bytes(),
                words.core_set(),     words.next_part(),      words.layout()};
    }
    bool operator==(const CorePartRecord&) const = default;
};

/// A circular buffer, or what is laid out like one.
struct CircularBufferRecord {
    Entry entry;
    uint32_t address = 0, core_set = 0;
    uint64_t program = 0, per_core = 0;
    uint16_t core_count = 0;

    constexpr RecordCopy pack() const noexcept {
        RecordCopy words = entry.pack();
        words.address = in::kCbAddress.pack(address) | in::kCbCoreSet.pack(core_set);
        words.requested = in::kRequested.pack(program);
        words.per_bank = in::kPerBank.pack(per_core) | in::kCount.pack(core_count);
        return words;
    }
    static constexpr CircularBufferRecord unpack(const RecordCopy& words) noexcept {
        return {Entry::unpack(words),
                in::kCbAddress.as<uint32_t>(words.address),
                in::kCbCoreSet.as<uint32_t>(words.address),
                words.requested_bytes(),
                words.per_bank_bytes(),
                words.count()};
    }
    bool operator==(const CircularBufferRecord&) const = default;
};

struct KernelRecord {
    Entry entry;
    uint64_t program = 0, rule = 0, binary = 0;  // the second: charged by the allocation server's rule
    uint16_t core_count = 0;
    uint8_t core_type = 0, found_by = 0;

    constexpr RecordCopy pack() const noexcept {
        RecordCopy words = entry.pack();
        words.address = in::kProgram.pack(program) | in::kCoreType.pack(core_type) | in::kFoundBy.pack(found_by);
        words.requested = in::kRequested.pack(rule);
        words.per_bank = in::kPerBank.pack(binary) | in::kCount.pack(core_count);
        return words;
    }
    static constexpr KernelRecord unpack(const RecordCopy& words) noexcept {
        return {Entry::unpack(words),    in::kProgram.of(words.address),
                words.requested_bytes(), words.per_bank_bytes(),
                words.count(),           words.core_type(),
                words.found_by()};
    }
    bool operator==(const KernelRecord&) const = default;
};

/// A program: status and launches, and its binaries in DRAM.
struct ProgramRecord {
    uint16_t target = 0;
    uint64_t id = 0;
    uint8_t status = 0;
    uint64_t launches = 0, bytes = 0;
    uint64_t launched = 0;   // sequence of its last launch, if that is not the one that enters it
    uint32_t address = 0;    // of its binaries in each bank, 0 unknown
    uint32_t operation = 0;  // its site, 0 unknown
    uint16_t maker = 0;      // low bits of the sequence that made the entry; anyone who enters it says which

    constexpr RecordCopy pack() const noexcept {
        RecordCopy words = Entry{TTMEM_PROGRAM_BINARY, TTMEM_DRAM, 0, address, target, id, bytes}.pack();
        words.address = launched;
        words.requested = in::kRequested.pack(operation);
        words.per_bank = in::kLaunches.pack(launches) | in::kStatus.pack(status) | in::kCount.pack(maker);
        return words;
    }
    static constexpr ProgramRecord unpack(const RecordCopy& words) noexcept {
        return {words.target(),         words.id,      words.status(), words.launches(),
                words.reserved_bytes(), words.address, words.site(),   static_cast<uint32_t>(words.requested_bytes()),
                words.count()};
    }
    bool operator==(const ProgramRecord&) const = default;

    // Its last word alone, which changes while the entry lives. If the entry has been used again meanwhile, the word names
    // another maker, and the change is dropped instead of hitting a stranger.
    static constexpr bool is_made_by(uint64_t per_bank, uint64_t sequence) noexcept {
        return in::kCount.of(per_bank) == (sequence & in::kCount.most());
    }
    static constexpr uint64_t with_status(uint64_t per_bank, uint8_t status) noexcept {
        return in::kStatus.put(per_bank, status);
    }
    static constexpr uint64_t launches_in(uint64_t per_bank) noexcept { return in::kLaunches.of(per_bank); }
    static constexpr uint64_t with_another_launch(uint64_t per_bank) noexcept {
        return per_bank + in::kLaunches.pack(1);
    }
    static constexpr uint64_t with_launches(uint64_t per_bank, uint64_t launches) noexcept {
        return in::kLaunches.put(per_bank, launches);
    }
    static constexpr uint64_t made_by(uint64_t per_bank, uint64_t sequence) noexcept {
        return in::kCount.put(per_bank, sequence);
    }
    static constexpr uint64_t with_operation(uint64_t requested, uint32_t site) noexcept {
        return in::kRequested.put(requested, site);
    }
};

/// What a process reports over the allocation server's socket: an address has all 64 bits, and there is nothing beside it.
struct SocketRecord {
    Entry entry;
    uint64_t address = 0, requested = 0, holders = 1;
    uint16_t type = 0;  // of a buffer, as its message has it

    constexpr RecordCopy pack() const noexcept {
        RecordCopy words = entry.pack();
        words.address = address;
        words.requested = in::kRequested.pack(requested);
        words.per_bank = in::kPerBank.pack(holders) | in::kCount.pack(type);
        return words;
    }
    static constexpr SocketRecord unpack(const RecordCopy& words) noexcept {
        return {Entry::unpack(words), words.address, words.requested_bytes(), words.per_bank_bytes(), words.count()};
    }
    static constexpr void set_holders(RecordCopy& words, uint64_t holders) noexcept {
        words.per_bank = in::kPerBank.put(words.per_bank, holders);
    }
    bool operator==(const SocketRecord&) const = default;
};

/// The entry of a program whose binaries take no memory of their own: it carries status and launches, and is no allocation.
inline constexpr bool is_bookkeeping(const RecordCopy& words) {
    return words.kind() == TTMEM_PROGRAM_BINARY && words.reserved_bytes() == 0;
}

/// Whether everything that was packed is unpacked again.
template <typename Packed>
inline constexpr bool comes_back(const Packed& packed) {
    return Packed::unpack(packed.pack()) == packed;
}
inline constexpr Entry kFullEntry{0xff, 0xff, 0xff, ~0u, 0xffff, ~0ull, in::kCharge.most()};
static_assert(comes_back(kFullEntry) && comes_back(Entry{}));
static_assert(comes_back(BufferRecord{kFullEntry, in::kAddress.most(), kSizeMost, kSizeMost, kPageCounted - 1, 7}));
static_assert(comes_back(BufferRecord{kFullEntry, 1, 6 * kPageCounted, 1, 2 * kPageCounted, 7}));
static_assert(comes_back(CorePartRecord{kFullEntry, in::kAddress.most(), in::kRequested.most(), kPerCoreMost,
                                        (1u << kCodeBits) - 1, kTableMost, 7}));
static_assert(comes_back(CircularBufferRecord{kFullEntry, ~0u, ~0u, in::kRequested.most(), kSizeMost, 0xffff}));
static_assert(comes_back(KernelRecord{kFullEntry, in::kProgram.most(), kSizeMost, kSizeMost, 0xffff, 15, 15}));
static_assert(comes_back(ProgramRecord{0xffff, ~0ull, 3, in::kLaunches.most(), kSizeMost, ~0ull, ~0u, ~0u, 0xffff}));
static_assert(comes_back(SocketRecord{kFullEntry, ~0ull, kSizeMost, in::kPerBank.most(), 0xffff}));

}  // namespace ttmem
