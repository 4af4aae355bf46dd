#include "ledger/incidents.hpp"

namespace ttmem {
namespace {

constexpr size_t kNameMost = 256;   // of a phase
constexpr size_t kTextMost = 2048;  // of a site or a set of cores

// When the phase began that was open at an incident. The journal has the newest beginning of every name: one that came
// later was another run.
uint64_t phase_began(const JournalReader& reader, const IncidentHead& words) {
    std::vector<uint64_t> rows;
    if (words.phase() == 0 || !reader.phase_rows(rows)) return 0;
    for (size_t i = 0; i + 3 < rows.size(); i += 4) {
        const bool is_its = rows[i] == PhasePlace{words.phase(), kNoTarget, 0}.pack() && rows[i + 3] != 0;
        if (is_its) return rows[i + 2] <= words.time ? rows[i + 2] : 0;
    }
    return 0;
}

KnownIncident with_texts(const JournalReader& reader, const IncidentHead& words) {
    KnownIncident kept;
    kept.words = words;
    const std::vector<uint32_t> threads = reader.threads();
    if (words.thread() < threads.size()) kept.thread = threads[words.thread()];
    kept.phase = reader.item(words.phase(), Item::text).substr(0, kNameMost);
    kept.cores = reader.item(words.cores(), Item::text).substr(0, kTextMost);
    kept.phase_began = phase_began(reader, words);
    kept.site = site_text(reader, words.site());
    kept.other_site = site_text(reader, words.other_site());
    return kept;
}

}  // namespace

SiteText site_text(const JournalReader& reader, uint32_t site) {
    if (is_stack_site(site)) return {reader.site(site), {}};
    return {{}, site == 0 ? std::string() : reader.item(site, Item::text).substr(0, kTextMost)};
}

std::string operation_text(const JournalReader& reader, const Book& book, uint16_t target, uint64_t program) {
    const uint32_t site = program != 0 ? book.operation_of(target, program) : 0;
    return is_stack_site(site) ? operation_in(reader.site(site)) : std::string();
}

void KnownIncidents::name_operations(const JournalReader& reader, const Book& book, bool& has_changed) {
    for (KnownIncident& one : heads) {
        if (!one.operation.empty() || one.words.program == 0) continue;
        one.operation = operation_text(reader, book, one.words.target(), one.words.program);
        has_changed |= !one.operation.empty();
    }
}

bool KnownIncidents::read(const JournalReader& reader, bool& has_changed) {
    std::vector<IncidentHead> found;
    uint64_t total = 0;
    if (!reader.incidents(found, total)) return false;
    bool is_same = total == count && found.size() == heads.size();
    for (size_t i = 0; i < found.size() && is_same; ++i) is_same = found[i] == heads[i].words;
    if (is_same) return true;
    has_changed = true;
    std::vector<KnownIncident> fresh;
    for (const IncidentHead& words : found) {
        const auto known = std::find_if(heads.begin(), heads.end(),
                                        [&](const KnownIncident& one) { return one.words.commit == words.commit; });
        fresh.push_back(known != heads.end() ? *known : with_texts(reader, words));
        fresh.back().words = words;
    }
    heads = std::move(fresh);
    count = total;
    return true;
}

}  // namespace ttmem
