// What the ledger knows as flat tables, one list for each kind of row: a second way to the figures of `Ledger.look`, for
// tests that compare the two.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <map>
#include <vector>

#include "ledger/collector.hpp"
#include "ledger/rows/look.hpp"
#include "ledger/rows/making.hpp"
#include "python/rows/rows.hpp"
#include "python/testing/peaks.hpp"

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

/// What is known of each device; those that are not used any more are left out.
nanobind::list device_list(const Devices& devices, const Wanted& wanted);
/// `devices`, `device_pools`, `device_kinds` and `device_cores`.
void device_rows(const Devices& devices, const std::vector<History>& histories, const Wanted& wanted,
                 nanobind::dict& rows);

/// Everything about a process but what it holds.
nanobind::dict process_row(const Process& process, const Timebase& time);

/// Files that are no sound journals.
inline nanobind::list damaged_rows(const std::map<uint32_t, Damaged>& damaged) {
    nanobind::list files;
    for (const auto& [path, what] : damaged_files(damaged)) files.append(nanobind::make_tuple(text(path), text(what)));
    return files;
}

/// `rings`, `stalls` and `caches`.
class ActivityLists {
public:
    void add(uint64_t key, uint32_t device, const Activity& activity);
    void put_into(nanobind::dict& rows) const;

private:
    nanobind::list rings_, stalls_, caches_;
};

/// What lies where on every chip, as few figures: `spaces`, `worst_cores` and `headrooms`.
void space_rows(Atlas& atlas, const Processes& processes, const Devices& devices, nanobind::dict& rows);

/// Everything, or only rows about some devices.
nanobind::dict flat_rows(Books& books, nanobind::object devices);
/// How many allocations are alive: (device numbers, kind, flags, whether it takes bytes, how many).
nanobind::list tally_rows(Books& books, uint64_t process);
/// Devices of which `flat_rows` has the same figures, in tuples.
nanobind::list alike_rows(Books& books);
/// What was alive at the peak of a process on a device, and whether the list is complete.
nanobind::tuple alive_at_peak_rows(Books& books, uint64_t process, uint32_t device, uint8_t pool);

}  // namespace ttmem
