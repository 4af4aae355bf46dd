// Everything at one instant: chips and processes, each with a version, and their rows unless the caller has them already.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger/collector.hpp"
#include "ledger/rows/rows.hpp"

namespace ttmem {

/// What a caller has by now, by number or key, and of which processes it wants details.
struct Asked {
    using Known = std::unordered_map<uint64_t, uint64_t>;  // versions
    Known chips;
    Known processes;  // with or without details
    Known detailed;   // with them
    bool has_all_details = false;
    std::set<uint64_t> details;  // keys of processes

    bool wants_details(uint64_t key) const { return has_all_details || details.contains(key); }
};

template <typename Row>
struct Versioned {
    uint64_t name = 0;  // the number of a chip, the key of a process
    uint64_t version = 0;
    std::optional<Row> row;  // none: the caller has it
};

struct Look {
    uint64_t time_ns = 0;
    std::vector<Versioned<ChipRow>> chips;                     // those that are shown, in their order
    std::vector<Versioned<ProcessRow>> processes;              // in the order in which they came
    std::vector<ChipNameRow> unlisted;                         // chips that are not shown, and that rows may name
    std::vector<std::pair<std::string, std::string>> damaged;  // files that are no sound journals, and what is wrong
};

/// For the holder of the books, who has read them just now.
Look look_of(const Asked& asked, const Processes& processes, Devices& devices, const Timebase& time,
             const Besides& besides);

/// Files that are no sound journals, and what is wrong with each; of every user at most some, and how many more.
std::vector<std::pair<std::string, std::string>> damaged_files(const std::map<uint32_t, Damaged>& damaged);

}  // namespace ttmem
