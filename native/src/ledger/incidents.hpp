// The incidents of a process as its journal keeps them, with the texts they name: those are read once and stay readable
// when the file is gone.
#pragma once

#include <string>
#include <vector>

#include "ledger/book/book.hpp"
#include "reader/journal.hpp"

namespace ttmem {

/// Who asked: what a site of a journal says.
struct SiteText {
    SitePath path;
    std::string text;  // of a program that names its sites itself
    bool is_known() const { return path.is_other || !path.nodes.empty() || !text.empty(); }
};
SiteText site_text(const JournalReader& reader, uint32_t site);

/// The operation of a program, the user's word for it before the runtime's; empty if it is not known.
std::string operation_text(const JournalReader& reader, const Book& book, uint16_t target, uint64_t program);

struct KnownIncident {
    IncidentHead words{};
    uint32_t thread = 0;       // the kernel's number, 0 unknown
    uint64_t phase_began = 0;  // by the journal's clock, 0 unknown
    std::string phase, cores;
    std::string operation;  // of its program
    SiteText site, other_site;
};

struct KnownIncidents {
    std::vector<KnownIncident> heads;  // oldest first
    uint64_t count = 0;                // of all there were

    /// Reads them again; false if the journal could not be read. `has_changed` is set if they are not what they were.
    bool read(const JournalReader& reader, bool& has_changed);
    /// Names the operations that became known; programs may end before any process looks again.
    void name_operations(const JournalReader& reader, const Book& book, bool& has_changed);
};

}  // namespace ttmem
