// Incidents of a journal: which heads are whole, and what was alive at one of them.
#include <algorithm>

#include "reader/journal.hpp"

namespace ttmem {

// As with the live state: a slot whose commit word is the same in the first and the last of three copies was that one
// incident all the while. The counter moves before a slot is taken, so no number is beyond it.
bool JournalReader::incidents(std::vector<IncidentHead>& heads, uint64_t& count) const {
    std::vector<IncidentHead> copies[3];
    for (std::vector<IncidentHead>& copy : copies) {
        copy.resize(kIncidentSlots);
        if (!source_->copy(identity_.incidents_offset, copy.data(), copy.size() * sizeof(IncidentHead))) return false;
    }
    Hot hot;
    if (!look(hot)) return false;
    count = hot.incidents;
    heads.clear();
    for (uint32_t slot = 0; slot < kIncidentSlots; ++slot) {
        const IncidentHead& head = copies[1][slot];
        const bool is_whole =
            is_committed(head.commit) && copies[0][slot].commit == head.commit && copies[2][slot].commit == head.commit;
        if (is_whole && head.number() <= count && slot_of(head.number()) == slot && head.is_sound())
            heads.push_back(head);
    }
    std::sort(heads.begin(), heads.end(), [](const auto& a, const auto& b) { return a.number() < b.number(); });
    return true;
}

// Anyone who takes the slot for a later incident marks its head before it writes over the copy.
bool JournalReader::incident_copy(const IncidentHead& head, std::vector<RecordCopy>& entries) const {
    const uint32_t slot = slot_of(head.number());
    const uint64_t offset = identity_.copies_offset + uint64_t{slot} * kIncidentEntries * sizeof(Record);
    entries.resize(head.entry_count());
    uint64_t commit = 0;
    const bool is_copied =
        entries.empty() || source_->copy(offset, entries.data(), entries.size() * sizeof(RecordCopy));
    if (!is_copied || !source_->copy(identity_.incidents_offset + slot * sizeof(Incident), &commit, sizeof commit) ||
        commit != head.commit)
        return false;
    std::erase_if(entries, [](const RecordCopy& entry) { return !is_committed(entry.commit); });
    return true;
}

}  // namespace ttmem
