// What circular buffers, dataflow buffers and scratchpads take of a core's L1.
//
// Programs lay theirs out from the same base, so sums over programs mean nothing: a core gives up the union of their
// address ranges. Planned is the union over all programs alive; resident the union over the one that was launched last
// among those that have any there. A chip's figure is the sum over its cores.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ledger/book/book.hpp"
#include "ledger/places/spans.hpp"

namespace ttmem {

struct Footprint {
    uint64_t planned = 0, resident = 0;              // over all cores
    uint64_t worst_planned = 0, worst_resident = 0;  // of the fullest core
    bool is_estimated = false;                       // some did not say on which cores: taken for the first ones
    bool has_strangers = false;                      // some did not say whose they are: what is resident is not known
    bool operator==(const Footprint&) const = default;
};

/// Cores that something lies on: by number (y * 256 + x), in order, each once.
using Cores = std::vector<uint32_t>;

/// One circular buffer: where it lies on each core of a set, and whose it is.
struct CbSpan {
    uint64_t begin, end;
    uint64_t core_set;  // any name
    uint64_t program;   // 0 unknown
    uint64_t launched;  // sequence of that program's last launch, 0 never
};

/// The circular buffers of a process, by target, and the sets of cores they lie on.
struct Laid {
    std::map<uint16_t, std::vector<CbSpan>> by_target;
    std::map<uint64_t, Cores> core_sets;
    size_t place_count = 0;
    bool has_unplaced = false;  // some did not say on which cores
    bool is_too_much() const;   // more than any honest program: then it is unknown
};
Laid laid_by(const Book& book);
/// The same of entries that are in no book; `text_of`: the text of a core set, by its number.
Laid laid_by(const std::vector<RecordCopy>& entries, const std::function<std::string(uint32_t)>& text_of);
/// Which programs were launched since, where no entry came or went.
void note_launches(Laid& laid, const Book& book);

/// Buffers that are allocated by core, laid out the same way.
Laid core_buffers_of(const Book& book);

/// Cores on which the same circular buffers lie.
struct CoreGroup {
    Cores cores;
    Spans planned, resident;  // joined
};
std::vector<CoreGroup> core_groups(const std::vector<CbSpan>& spans, const std::map<uint64_t, Cores>& core_sets);

/// The cores of `0,0-7,7;0,8-3,8`; none for a text that says something else.
Cores cores_of(const std::string& text);

Footprint footprint_of(const std::vector<CbSpan>& spans, const std::map<uint64_t, Cores>& core_sets);

/// The footprints of a process: (device number, footprint) for each chip that it has circular buffers on.
using Footprints = std::vector<std::pair<uint32_t, Footprint>>;
Footprints footprints_of(const Book& book);
Footprints footprints_of(const Book& book, const Laid& laid);

}  // namespace ttmem
