// What the rows of a snapshot and those of an overview are both made of.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <map>
#include <vector>

#include "ledger/collector.hpp"
#include "ledger/rows/look.hpp"
#include "ledger/rows/making.hpp"
#include "python/peaks.hpp"
#include "python/rows.hpp"

namespace ttmem {

/// Whose rows are wanted: those of all devices, or of some.
class Wanted {
public:
    explicit Wanted(nanobind::handle devices) : is_all_(devices.is_none()) {
        if (is_all_) return;
        for (const nanobind::handle device : devices) numbers_.push_back(nanobind::cast<uint32_t>(device));
    }
    bool is_all() const { return is_all_; }
    bool has(uint32_t device) const {
        return is_all_ || std::find(numbers_.begin(), numbers_.end(), device) != numbers_.end();
    }

private:
    bool is_all_;
    std::vector<uint32_t> numbers_;
};

/// Balances are signed inside, and may be below zero for a moment.
inline int64_t shown(int64_t amount) { return std::max<int64_t>(amount, 0); }

/// What is known of each device; those that are nobody's any more are left out.
nanobind::list device_list(const Devices& devices, const Wanted& wanted);
/// `devices`, `device_pools`, `device_kinds` and `device_cores`.
void device_rows(const Devices& devices, const std::vector<History>& histories, const Wanted& wanted,
                 nanobind::dict& rows);

/// The heads of the incidents of a process, oldest first.
nanobind::list incident_rows(const Process& process, const Timebase& time);

/// Everything about a process but what it holds.
nanobind::dict process_row(const Process& process, const Timebase& time);

/// What a snapshot says of the living processes of some pids.
nanobind::dict rows_about(const Processes& processes, const Timebase& time, const std::vector<uint32_t>& pids);

/// Of what a process has alive: the `most` `largest` and `oldest`, and `sites` with what was asked for there.
void holding_rows(const Process& process, size_t most, const Timebase& time, nanobind::dict& rows);

/// Files that are no sound journals.
inline nanobind::list damaged_rows(const std::map<uint32_t, Damaged>& damaged) {
    nanobind::list files;
    for (const auto& [path, what] : damaged_files(damaged)) files.append(nanobind::make_tuple(text(path), text(what)));
    return files;
}

/// Chips that living processes have open whose journals broke: nobody knows what they hold there.
nanobind::list doubted_rows(const Processes& processes);

/// `rings`, `stalls` and `caches`.
class ActivityLists {
public:
    void add(uint64_t key, uint32_t device, const Activity& activity);
    void put_into(nanobind::dict& rows) const;

private:
    nanobind::list rings_, stalls_, caches_;
};

}  // namespace ttmem
