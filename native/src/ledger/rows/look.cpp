#include "ledger/rows/look.hpp"

#include <algorithm>
#include <optional>

#include "ledger/rows/making.hpp"
#include "ledger/rows/versions.hpp"

namespace ttmem {
namespace {

bool has_it(const Asked::Known& known, uint64_t name, uint64_t version) {
    const auto found = known.find(name);
    return found != known.end() && found->second == version;
}

bool is_listed(const Device& device) { return device.is_known || device.user_count > 0; }

/// Whether a chip is touched by what a process has to say besides what it holds.
bool is_mentioned(const Process& process, uint32_t device) {
    const Book& book = process.book;
    const auto has = [&](uint16_t target) { return book.touches(book.targets()[target], device); };
    if (process.mode == Mode::damaged || process.way == Way::socket) return false;
    for (const OutOfMemory& one : book.out_of_memory())
        if (one.device == device) return true;
    for (const Clash& one : book.clashes())
        if (one.device == device) return true;
    for (uint16_t i = 0; i < book.target_count() && i < book.targets().size(); ++i)
        if (book.targets()[i].is_named && book.targets()[i].is_mesh && book.targets()[i].is_open && has(i)) return true;
    for (size_t i = 0; i + 3 < process.phases.size(); i += 4) {
        const auto target = static_cast<uint16_t>(process.phases[i] >> 32);
        const auto pool = static_cast<uint8_t>(process.phases[i] >> 48);
        if (process.phases[i + 3] != 0 && pool < kPools && target < kTargets && has(target)) return true;
    }
    bool is_program = false;
    book.table().for_each(
        [&](const RecordCopy& words) { is_program |= words.kind() == TTMEM_PROGRAM_BINARY && has(words.target()); });
    return is_program;
}

/// What rows are made of, each worked out once for one look and only if some row needs it.
class Maker {
public:
    Maker(const Processes& processes, const Devices& devices, const Timebase& time, Atlas& atlas)
        : processes_(processes), devices_(devices), time_(time), atlas_(atlas), held_(processes.size()) {}

    /// What a process holds, by its place among them.
    const std::vector<HeldRow>& held_by(size_t place) {
        std::optional<std::vector<HeldRow>>& held = held_[place];
        if (!held) {
            const Process& process = *processes_[place];
            const bool has_footprints = process.mode != Mode::damaged;
            held = holdings_of(process, has_footprints ? atlas_.footprints(process, devices_) : Footprints(), time_);
        }
        return *held;
    }

    const HeldRow* held_on(size_t place, uint32_t device) {
        const std::vector<HeldRow>& held = held_by(place);
        const auto found = std::lower_bound(held.begin(), held.end(), device,
                                            [](const HeldRow& row, uint32_t number) { return row.chip < number; });
        return found != held.end() && found->chip == device ? &*found : nullptr;
    }

    ChipParts parts_of(uint32_t device) {
        if (places_on_.empty()) find_places();
        ChipParts parts;
        for (const size_t place : places_on_[device])
            parts.processes.push_back({processes_[place].get(), held_on(place, device)});
        parts.is_doubted = is_doubted_[device];
        return parts;
    }

    ChipRow chip(uint32_t device) {
        if (seen_.empty()) seen_ = atlas_.look(processes_, devices_);
        ChipParts parts = parts_of(device);
        parts.seen = seen_[device];
        return chip_row(device, devices_, parts, processes_);
    }

    /// A chip that no process opened and of which there is nothing to say (a stray free named it) is not shown, nor is one
    /// without a name of its own once all are gone who spoke of it: each of them had another.
    bool is_shown(uint32_t number) {
        const Device& device = devices_.all()[number];
        if (!is_listed(device)) return false;
        if (device.is_known || device.open_count > 0) return true;
        const ChipParts parts = parts_of(number);
        if (parts.is_doubted || device.contradiction.count != 0) return true;
        for (const OnOneChip& one : parts.processes)
            if (one.held != nullptr && is_holder(*one.process)) return true;
        if (!chip_name_row(number, device).index) return false;
        if (!chip_pools(device, parts).empty()) return true;
        for (const KindAmount& kind : device.cell.kinds)
            if (kind.count > 0) return true;
        for (size_t place = 0; place < processes_.size(); ++place)
            if (speaks_of(place, number)) return true;
        return false;
    }

    /// After all chips: they need what processes hold, too.
    ProcessRow process(size_t place, const ChipOrder& order, bool has_details) {
        const Process& process = *processes_[place];
        ProcessRow row = process_row(process, held_by(place), order, time_);
        if (!has_details) return row;
        row.details = details_of(process, time_);
        row.details->held = in_order(std::move(*held_[place]), order);
        held_[place].reset();
        for (const auto& other : processes_)
            if (other->shadowed_by == process.key && !other->is_over())
                row.details->other = in_order(other_holdings_of(*other, time_), order);
        return row;
    }

private:
    static std::vector<HeldRow> in_order(std::vector<HeldRow> held, const ChipOrder& order) {
        const auto is_first = [&](const HeldRow& a, const HeldRow& b) {
            return order.rank[a.chip] < order.rank[b.chip];
        };
        if (!std::is_sorted(held.begin(), held.end(), is_first)) std::sort(held.begin(), held.end(), is_first);
        return held;
    }

    // Who counts on each chip; and chips that living processes have open whose journals broke: it is unknown what they hold.
    void find_places() {
        places_on_.resize(devices_.all().size() + 1);
        is_doubted_.resize(devices_.all().size() + 1);
        for (size_t place = 0; place < processes_.size(); ++place) {
            const Process& process = *processes_[place];
            if (process.is_counted())
                for (const auto& [device, cell] : process.book.cells()) places_on_[device].push_back(place);
            if (process.mode != Mode::damaged || has_ended(process) || process.shadowed_by != 0 || !process.is_verified)
                continue;
            for (const TargetBook& target : process.book.targets())
                for (const uint32_t device : target.devices)
                    is_doubted_[device] = is_doubted_[device] || target.is_named;
        }
    }

    // Whether a process, also one that has ended, has something to say about a chip.
    bool speaks_of(size_t place, uint32_t device) {
        const Process& process = *processes_[place];
        if (!process.book.cells().contains(device)) return false;
        if (process.shadowed_by != 0) {  // what it holds stands beside the figures of the better source
            if (process.is_over()) return false;
            const auto others = other_holdings_of(process, time_);
            return std::any_of(others.begin(), others.end(), [&](const HeldRow& row) { return row.chip == device; });
        }
        return held_on(place, device) != nullptr || is_mentioned(process, device);
    }

    const Processes& processes_;
    const Devices& devices_;
    const Timebase& time_;
    Atlas& atlas_;
    std::vector<std::optional<std::vector<HeldRow>>> held_;
    std::vector<std::vector<size_t>> places_on_;
    std::vector<bool> is_doubted_;
    std::vector<Seen> seen_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> damaged_files(const std::map<uint32_t, Damaged>& damaged) {
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& [uid, of_user] : damaged) {
        files.insert(files.end(), of_user.newest.begin(), of_user.newest.end());
        if (of_user.more == 0) continue;
        const std::string& path = of_user.newest.back().first;
        files.emplace_back(path.substr(0, path.rfind('/')),
                           "and " + std::to_string(of_user.more) + " more of " +
                               (uid == ~uint32_t{0} ? "others" : "uid " + std::to_string(uid)) +
                               " that were no sound journals either");
    }
    return files;
}

Look look_of(const Asked& asked, const Processes& processes, Devices& devices, const Timebase& time,
             const Besides& besides) {
    Look look;
    look.time_ns = nanoseconds(CLOCK_REALTIME);
    Maker maker(processes, devices, time, besides.atlas);
    for (const uint32_t number : besides.versions.update(processes, devices))
        devices.at(number).is_shown = maker.is_shown(number);
    std::vector<ChipNameRow> names;
    for (uint32_t number = 0; number < devices.all().size(); ++number)
        if (is_listed(devices.all()[number])) names.push_back(chip_name_row(number, devices.all()[number]));
    std::stable_sort(names.begin(), names.end(), is_before);
    ChipOrder order{std::vector<uint32_t>(devices.all().size()), std::vector<bool>(devices.all().size())};
    for (ChipNameRow& name : names) {
        const uint32_t number = name.number;
        order.rank[number] = static_cast<uint32_t>(&name - names.data());
        order.is_shown[number] = devices.all()[number].is_shown;
        if (!order.is_shown[number]) {
            look.unlisted.push_back(std::move(name));
            continue;
        }
        Versioned<ChipRow>& chip = look.chips.emplace_back();
        chip.name = number;
        chip.version = devices.all()[number].version;
        if (!has_it(asked.chips, number, chip.version)) chip.row = maker.chip(number);
    }
    for (size_t place = 0; place < processes.size(); ++place) {
        const Process& process = *processes[place];
        if (process.shadowed_by != 0) continue;  // shown once, by what says more
        Versioned<ProcessRow>& row = look.processes.emplace_back();
        row.name = process.key;
        row.version = process.version;
        const bool has_details = asked.wants_details(process.key);
        const bool is_there = has_it(asked.detailed, process.key, process.version) ||
                              (!has_details && has_it(asked.processes, process.key, process.version));
        if (!is_there) row.row = maker.process(place, order, has_details);
    }
    look.damaged = damaged_files(besides.damaged);
    return look;
}

}  // namespace ttmem
