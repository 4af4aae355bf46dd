// Addresses that two allocators of one process hand out on the same chip.
//
// The runtime gives a parent mesh and each of its submeshes an allocator of its own, and neither knows of the other: the
// same address may be given out twice. Bytes that two allocations share exist once, so a chip's `used` is the union by
// address; and the owners overwrite each other, which is a finding that names both.
//
// Most processes never have two such targets. Coverage is kept only for a pool of a chip on which two targets hold
// something at once.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "journal/layout.hpp"
#include "ledger/places/spans.hpp"

namespace ttmem {

class Book;

/// Pools whose buffers have addresses: dram, trace, l1, l1_small.
inline constexpr uint32_t kPlacedPools = 4;
static_assert(TTMEM_DRAM == 0 && TTMEM_TRACE == 1 && TTMEM_L1 == 2 && TTMEM_L1_SMALL == 3);

/// Whether an allocation takes memory of a chip's banks.
inline bool takes_banks(const RecordCopy& words) {
    return words.pool() < kPlacedPools && words.reserved_bytes() != 0 && (words.flags() & kView) == 0;
}

/// What every bank gives up for it, and where; empty if that is not known.
Span placed_span(const RecordCopy& words, uint64_t bank_count);

/// The same by what it is charged for: bank_count times its length is never more than that.
Span charged_span(const RecordCopy& words, uint64_t bank_count);

/// How many banks of a chip a pool is spread over; 0 unknown.
inline uint64_t bank_count_of(const DeviceDescriptor& facts, uint8_t pool) {
    return pool <= TTMEM_TRACE ? facts.dram_banks : facts.l1_banks;
}

/// How many allocations cover each address.
class Coverage {
public:
    /// How many addresses no process covered before.
    uint64_t add(Span span) { return change(span, true); }
    /// How many addresses no process covers any more. The span was added before.
    uint64_t remove(Span span) { return change(span, false); }

private:
    using Depths = std::map<uint64_t, uint32_t>;
    uint64_t change(Span span, bool is_added);
    Depths::iterator split(uint64_t at);
    void join(Depths::iterator at);

    Depths depths_;  // from this address to the next one
};

/// A pool of a chip that several targets of a process allocate from.
struct SharedPool {
    Coverage coverage;
    uint64_t bank_count = 0;
    int64_t overlap = 0;  // bytes of all banks that are charged more often than once
};

/// Two targets that hold the same addresses.
struct Overlap {
    uint8_t pool = 0;
    uint16_t first = 0, second = 0;  // targets
    uint64_t address = 0;            // the lowest that both hold
    uint64_t bytes = 0;              // of all banks of one chip
    std::vector<uint32_t> devices;
};

/// All of a process, in order of pool and targets.
std::vector<Overlap> overlaps_of(const Book& book);

}  // namespace ttmem
