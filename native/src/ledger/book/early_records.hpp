// Records that were read before the one that begins their life: ends, replacements, changes and sites. A record that is still
// being written is read after those that follow it.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "ledger/book/table.hpp"

namespace ttmem {

class EarlyRecords {
public:
    void end(uint64_t life) { ended_.insert(life); }
    void replace(const RecordCopy& by) { replacements_.push_back(by); }
    void change_program(const RecordCopy& event) { programs_.push_back(event); }
    void change_site(uint64_t life, uint32_t site) { sites_[life] = site; }

    /// Whether a life that begins now has ended already; that is then said once.
    bool take_end_of(const RecordCopy& beginning) {
        if (ended_.empty() && replacements_.empty()) return false;
        if (ended_.erase(beginning.sequence()) != 0) return true;
        return std::erase_if(replacements_, [&](const RecordCopy& by) {
                   return entry_key(by) == entry_key(beginning) && by.is_replacement_of(beginning.sequence());
               }) != 0;
    }

    const std::vector<RecordCopy>& program_changes() const { return programs_; }

    void give_site(RecordCopy& life) const {
        if (sites_.empty()) return;
        if (const auto known = sites_.find(life.sequence()); known != sites_.end()) life.set_site(known->second);
    }

    /// All that began before was read.
    void clear() {
        ended_.clear();
        replacements_.clear();
        programs_.clear();
        sites_.clear();
    }

private:
    std::unordered_set<uint64_t> ended_;
    std::vector<RecordCopy> replacements_, programs_;
    std::map<uint64_t, uint32_t> sites_;  // by life
};

}  // namespace ttmem
