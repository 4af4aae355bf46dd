#include "recording/watch/on_core.hpp"

#include <algorithm>

#include "ledger/places/footprint.hpp"
#include "ledger/places/overlaps.hpp"

namespace ttmem::recording {
namespace {

// By number of a target's program, with the target at the top, as in places/footprint.cpp.
uint64_t name_of(uint16_t target, uint64_t program) { return program | uint64_t{target} << 48; }

bool is_on(const Cores& cores, uint32_t core) { return std::binary_search(cores.begin(), cores.end(), core); }

// The program whose circular buffers are on that core; 0: none was launched.
uint64_t resident_program(const Book& book, const Laid& laid, uint32_t device, uint32_t core) {
    uint64_t program = 0, launched = 0;
    for (const auto& [target, spans] : laid.by_target) {
        if (!book.touches(book.targets()[target], device)) continue;
        for (const CbSpan& span : spans) {
            const auto cores = laid.core_sets.find(span.core_set);
            if (span.launched <= launched || cores == laid.core_sets.end() || !is_on(cores->second, core)) continue;
            program = span.program;
            launched = span.launched;
        }
    }
    return program;
}

}  // namespace

std::vector<CoreEntry> entries_on(const Book& book, const Devices& devices, uint32_t device, uint32_t core) {
    std::vector<CoreEntry> found;
    const Laid laid = laid_by(book);
    const uint64_t resident = resident_program(book, laid, device, core);
    const uint64_t banks = devices.all()[device].facts.l1_banks;
    book.table().for_each([&](const RecordCopy& words) {
        if (!book.touches(book.targets()[words.target()], device)) return;
        const bool is_l1 = words.pool() == TTMEM_L1 || words.pool() == TTMEM_L1_SMALL;
        if (is_l1 && takes_banks(words) && words.is_by_core()) {
            if (is_on(cores_of(book.text(words.core_set())), core))
                found.push_back({words, words.buffer_address(), words.per_core_bytes(), 0});
        } else if (is_l1 && takes_banks(words)) {
            const Span span = placed_span(words, banks);
            if (span.second > span.first) found.push_back({words, span.first, span.second - span.first, 0});
        } else if (words.pool() == TTMEM_CB && is_circular_buffer(words.kind()) && (words.flags() & kView) == 0) {
            const CircularBufferRecord cb = CircularBufferRecord::unpack(words);
            if (resident == 0 || name_of(words.target(), cb.program) != resident) return;
            const auto cores = laid.core_sets.find(cb.core_set);
            if (cores != laid.core_sets.end() && is_on(cores->second, core))
                found.push_back({words, cb.address, cb.per_core, cb.program});
        }
    });
    std::sort(found.begin(), found.end(), [](const CoreEntry& a, const CoreEntry& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : a.words.sequence() < b.words.sequence();
    });
    return found;
}

}  // namespace ttmem::recording
