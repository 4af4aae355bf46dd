// Everything at a glance, as plain Python rows: chips as a snapshot has them, and of every process the sums over its chips.
// Two hundred processes on thirty-two chips are two hundred rows instead of many thousands.
#include "ledger/activity.hpp"
#include "python/kept_rows.hpp"
#include "python/peaks.hpp"
#include "python/row_parts.hpp"
#include "python/sums.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

/// What all that live have on each chip, besides what the chip's own balance says.
struct Everybody {
    std::map<std::pair<std::string, std::string>, std::map<uint32_t, Held>> held;  // by origin and reason
    std::map<uint32_t, Activity> activity;
    std::map<uint32_t, Footprint> footprints;  // the largest: circular buffers of all begin at the same address

    void add(const Process& process, const Share& share) {
        auto& chips = held[{std::string(origin_of(process)), std::string(reason_of(process))}];
        auto at = chips.begin();  // both are in order
        for (const auto& [device, own] : share.held) {
            at = chips.try_emplace(at, device);
            at->second.add(own);
        }
        for (const auto& [device, own] : share.activity) add_activity(activity[device], own);
        for (const auto& [device, own] : share.footprints) {
            const auto [known, is_new] = footprints.try_emplace(device, own);
            if (!is_new && own.planned > known->second.planned) known->second = own;
        }
    }
};

// As rows of processes with keys of their own, which Python makes the same of as of real ones.
void everybody_rows(const Everybody& all, nb::dict& rows) {
    nb::list holders, pools, launches, footprints;
    ActivityLists activity;
    uint64_t key = 0;
    for (const auto& [name, chips] : all.held) {
        holders.append(nb::make_tuple(++key, text(name.first), text(name.second)));
        for (const auto& [device, held] : chips) {
            for (uint32_t p = 0; p < kPools; ++p)
                if (held.has[p]) pools.append(nb::make_tuple(key, device, p, held.used[p], -1, 0, 0, 0, false));
            launches.append(nb::make_tuple(key, device, held.launches));
        }
    }
    for (const auto& [device, sum] : all.activity) activity.add(key, device, sum);
    for (const auto& [device, found] : all.footprints)
        footprints.append(nb::make_tuple(key, device, found.planned, found.resident, found.worst_planned,
                                         found.worst_resident, found.is_estimated, found.has_strangers));
    rows["holders"] = holders;
    rows["process_pools"] = pools;
    rows["launches"] = launches;
    rows["footprints"] = footprints;
    activity.put_into(rows);
}

/// Whether a process has something to tell about a chip, that no sum of it shows.
bool is_mentioned(const Process& process, uint32_t device) {
    const Book& book = process.book;
    const auto has = [&](uint16_t target) { return book.touches(book.targets()[target], device); };
    if (process.shadowed_by != 0) {  // what it holds stands beside the figures of the better source
        const auto cell = book.cells().find(device);
        if (process.is_over() || cell == book.cells().end()) return false;
        for (const PeakAmount& pool : cell->second.pools)
            if (pool.peak != 0 || pool.count != 0) return true;
        for (const KindAmount& kind : cell->second.kinds)
            if (kind.count > 0) return true;
        return false;
    }
    if (process.mode == Mode::damaged || process.way == Way::socket) return false;
    for (const OutOfMemory& one : book.out_of_memory())
        if (one.device == device) return true;
    for (const Clash& one : book.clashes())
        if (one.device == device) return true;
    for (uint16_t i = 0; i < book.target_count() && i < book.targets().size(); ++i)
        if (book.targets()[i].is_mesh && book.targets()[i].is_open && has(i)) return true;
    for (size_t i = 0; i + 3 < process.phases.size(); i += 4) {
        const auto target = PhasePlace::unpack(process.phases[i]).target;
        if (process.phases[i + 3] != 0 && target < kTargets && has(target)) return true;
    }
    bool is_program = false;
    book.table().for_each(
        [&](const Words& words) { is_program |= words.kind() == TTMEM_PROGRAM_BINARY && has(words.target()); });
    return is_program;
}

// Chips without an id of their own are shown as long as somebody speaks of them.
nb::list spoken_of_rows(const Devices& devices, const Processes& processes, const Chips& summed) {
    nb::list numbers;
    for (uint32_t number = 0; number < devices.all().size(); ++number) {
        const Device& device = devices.all()[number];
        if (device.is_known || device.user_count == 0) continue;
        bool is_spoken_of = summed[number];
        for (size_t i = 0; i < processes.size() && !is_spoken_of; ++i)
            is_spoken_of = is_mentioned(*processes[i], number);
        if (is_spoken_of) numbers.append(number);
    }
    return numbers;
}

}  // namespace

/// A process as it is shown.
struct KeptRows::Kept {
    uint64_t figures = 0;
    size_t device_count = 0;
    std::shared_ptr<const std::vector<OnChip>> peaks;
    Chips chips;
    Share share;
    nb::object row, sums;
};

namespace {

nb::dict rows_of(const Processes& processes, const Devices& devices, const Timebase& time, Atlas& atlas,
                 KeptRows& kept) {
    nb::dict rows;
    nb::list listed, sums;
    Everybody all;
    Chips summed(devices.all().size());
    AllPeaks peaks;
    for (const auto& process : processes) {
        const KeptRows::Kept& one = kept.of(*process, time, summed.size());
        peaks.push_back(one.peaks);
        if (process->shadowed_by != 0) continue;  // shown once, by what tells more
        if (!has_ended(*process) && process->is_counted()) all.add(*process, one.share);
        listed.append(one.row);
        sums.append(one.sums);
        for (size_t number = 0; number < summed.size(); ++number) summed[number] = summed[number] || one.chips[number];
    }
    kept.forget(processes);
    device_rows(devices, histories_of(devices, processes, peaks), Wanted{nb::none()}, rows);
    space_rows(atlas, processes, devices, rows);
    rows["processes"] = listed;
    rows["sums"] = sums;
    everybody_rows(all, rows);
    rows["spoken_of"] = spoken_of_rows(devices, processes, summed);
    rows["doubted"] = doubted_rows(processes);
    return rows;
}

}  // namespace

KeptRows::KeptRows() = default;
KeptRows::~KeptRows() = default;

// What a journal tells changes only with a count of its own; whoever reports otherwise is few, and made anew.
const KeptRows::Kept& KeptRows::of(const Process& process, const Timebase& time, size_t device_count) {
    std::unique_ptr<Kept>& kept = processes_[process.key];
    if (kept != nullptr && process.way == Way::journal && kept->figures == process.figures &&
        kept->device_count == device_count)
        return *kept;
    kept = std::make_unique<Kept>();
    kept->figures = process.figures;
    kept->device_count = device_count;
    kept->peaks = std::make_shared<const std::vector<OnChip>>(own_peaks(process, time));
    const Sum sum = sum_of(process, *kept->peaks, device_count, kept->share);
    kept->chips = sum.chips;
    kept->row = process_row(process, time);
    kept->sums = sum_row(process, sum);
    return *kept;
}

void KeptRows::forget(const Processes& processes) {
    if (processes_.size() == processes.size()) return;
    std::map<uint64_t, std::unique_ptr<Kept>> left;
    for (const auto& process : processes) {
        auto node = processes_.extract(process->key);
        if (!node.empty()) left.insert(std::move(node));
    }
    processes_.swap(left);
}

// Whether all rows are what they were when they were last made, but for the time.
bool KeptRows::are_still(const Processes& processes, uint64_t chips) {
    Names names;
    bool is_told = names_.empty();
    for (const auto& process : processes) {
        is_told |= process->way != Way::journal && !process->is_over();
        names.emplace_back(process->key, process->figures);
    }
    names.emplace_back(0, chips);
    const bool is_same = !is_told && names == names_;
    names_ = std::move(names);
    return is_same;
}

nb::dict overview_rows(Books& books, KeptRows& kept, nb::iterable pids) {
    std::vector<uint32_t> wanted;
    for (const nb::handle pid : pids) wanted.push_back(nb::cast<uint32_t>(pid));
    return books.look([&](Processes& processes, Devices& devices, const Timebase& time, const Besides& besides) {
        if (!kept.are_still(processes, devices.changes()))
            kept.rows = rows_of(processes, devices, time, besides.atlas, kept);
        nb::dict rows = nb::steal<nb::dict>(PyDict_Copy(kept.rows.ptr()));
        rows["time_ns"] = nanoseconds(CLOCK_REALTIME);
        rows["damaged"] = damaged_rows(besides.damaged);
        if (!wanted.empty()) rows["whole"] = rows_about(processes, time, wanted);
        return rows;
    });
}

}  // namespace ttmem
