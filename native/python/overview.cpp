// Everything at a glance, as plain Python rows: chips as a snapshot has them, and of every process the sums over its chips.
// Two hundred processes on thirty-two chips are two hundred rows instead of many thousands.
#include "ledger/activity.hpp"
#include "ledger/footprint.hpp"
#include "python/peaks.hpp"
#include "python/row_parts.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

using Chips = std::vector<bool>;  // by number

/// What all processes of one origin and reason hold on a chip, as if they were one.
struct Held {
    int64_t used[kPools] = {};
    bool has[kPools] = {};
    uint64_t launches = 0;

    void add(const Held& other) {
        for (uint32_t p = 0; p < kPools; ++p) {
            add_to(used[p], other.used[p]);
            has[p] |= other.has[p];
        }
    }
};

/// What the living have on each chip, besides what the chip's own balance says.
struct Everybody {
    std::map<std::pair<std::string, std::string>, std::map<uint32_t, Held>> held;  // by origin and reason
    std::map<uint32_t, Activity> activity;
    std::map<uint32_t, Footprint> footprints;  // the largest: circular buffers of all begin at the same address
};

/// A process over all its chips.
struct Sum {
    struct {
        int64_t used = 0, requested = 0, count = 0, peak = 0;
        uint64_t peak_time_ns = 0;
        bool is_lower_bound = false, has = false;
    } pools[kPools];
    KindAmount kinds[kKinds];
    uint64_t launches = 0, planned = 0;
    bool is_planned_known = true;
    Chips chips;  // of which there is something to tell

    explicit Sum(size_t device_count) : chips(device_count) {}
};

void add_pool(Sum& sum, uint32_t p, const PeakAmount& pool, const Peak& peak) {
    auto& to = sum.pools[p];
    to.has = true;
    add_to(to.used, shown(pool.used));
    add_to(to.requested, shown(pool.requested));
    add_to(to.count, shown(pool.count));
    add_to(to.peak, peak.bytes);
    to.peak_time_ns = std::max(to.peak_time_ns, peak.time_ns);
    to.is_lower_bound |= peak.is_lower_bound;
}

void add_cells(Sum& sum, const Process& process, const std::vector<OnChip>& peaks, std::map<uint32_t, Held>* held) {
    const OnChip* at = peaks.data();
    for (const auto& [device, cell] : process.book.cells()) {
        const OnChip& own = *at++;
        Held here;
        bool is_any = false;
        for (uint32_t p = 0; p < kPools; ++p) {
            const PeakAmount& pool = cell.pools[p];
            if (own.pools[p].bytes == 0 && pool.count == 0) continue;
            add_pool(sum, p, pool, own.pools[p]);
            here.has[p] = is_any = true;
            here.used[p] = shown(pool.used);
        }
        if (is_any && held != nullptr) (*held)[device].add(here);
        for (uint32_t k = 0; k < kKinds; ++k) {
            if (cell.kinds[k].count <= 0) continue;
            add_to(sum.kinds[k], shown(cell.kinds[k].used), cell.kinds[k].count, cell.kinds[k].estimated > 0);
            is_any = true;
        }
        for (const KindAmount& core : cell.cores) is_any |= core.count > 0;
        if (is_any) sum.chips[device] = true;
    }
}

void add_footprints(Sum& sum, const Process& process, std::map<uint32_t, Footprint>* largest) {
    Chips laid(sum.chips.size());
    if (process.book.is_counting())
        for (const auto& [device, found] : footprints_of(process.book)) {
            laid[device] = sum.chips[device] = true;
            sum.planned += found.planned;
            if (largest == nullptr) continue;
            const auto [known, is_new] = largest->try_emplace(device, found);
            if (!is_new && found.planned > known->second.planned) known->second = found;
        }
    for (const auto& [device, cell] : process.book.cells())
        if (cell.pools[TTMEM_CB].count > 0 && !laid[device]) sum.is_planned_known = false;
}

bool is_there(const Activity& activity) {
    bool is_any = false;
    for (const Activity::Ring& ring : activity.rings) is_any |= has_ring(ring);
    for (const uint64_t stall : activity.stalls) is_any |= stall != 0;
    for (const Activity::Cache& cache : activity.caches) is_any |= has_cache(cache);
    return is_any;
}

void add_activity(Sum& sum, const Process& process, Everybody* all, std::map<uint32_t, Held>* held) {
    for (const auto& [device, counts] : counts_on(process)) {
        sum.chips[device] = true;
        sum.launches += counts.launches;
        if (held != nullptr) (*held)[device].launches += counts.launches;
    }
    for (const auto& [device, activity] : activity_on(process)) {
        if (!is_there(activity)) continue;
        sum.chips[device] = true;
        if (all != nullptr) add_activity(all->activity[device], activity);
    }
}

Sum sum_of(const Process& process, const std::vector<OnChip>& peaks, size_t device_count, Everybody& all) {
    Sum sum(device_count);
    sum.is_planned_known = process.way != Way::socket;  // it cannot speak of programs
    if (process.mode == Mode::damaged) return sum;
    const bool is_living = !has_ended(process);
    auto* held = is_living ? &all.held[{origin_of(process), reason_of(process)}] : nullptr;
    add_cells(sum, process, peaks, held);
    if (process.way != Way::socket) {
        add_footprints(sum, process, is_living ? &all.footprints : nullptr);
        add_activity(sum, process, is_living ? &all : nullptr, held);
    }
    for (uint32_t device = 0; device < device_count && is_living; ++device)
        if (sum.chips[device]) held->try_emplace(device);  // also if it holds nothing there
    return sum;
}

nb::tuple sum_row(const Process& process, const Sum& sum) {
    nb::list pools, kinds, chips;
    for (uint32_t p = 0; p < kPools; ++p) {
        const auto& pool = sum.pools[p];
        if (!pool.has) continue;
        const int64_t requested = process.book.is_counting() ? pool.requested : -1;
        pools.append(
            nb::make_tuple(p, pool.used, requested, pool.count, pool.peak, pool.peak_time_ns, pool.is_lower_bound));
    }
    for (uint32_t k = 0; k < kKinds; ++k)
        if (sum.kinds[k].count > 0)
            kinds.append(nb::make_tuple(k, sum.kinds[k].used, sum.kinds[k].count, sum.kinds[k].estimated > 0));
    for (uint32_t device = 0; device < sum.chips.size(); ++device)
        if (sum.chips[device]) chips.append(device);
    const nb::object planned = sum.is_planned_known ? nb::object(nb::int_(sum.planned)) : nb::none();
    return nb::make_tuple(nb::tuple(chips), pools, kinds, sum.launches, planned);
}

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
        const auto target = static_cast<uint16_t>(process.phases[i] >> 32);
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

nb::dict overview_rows(Collector& collector, nb::iterable pids) {
    std::vector<uint32_t> wanted;
    for (const nb::handle pid : pids) wanted.push_back(nb::cast<uint32_t>(pid));
    return collector.look([&](Processes& processes, Devices& devices, const Timebase& time, const auto& damaged) {
        nb::dict rows;
        nb::list listed, sums;
        Everybody all;
        Chips summed(devices.all().size());
        const AllPeaks peaks = all_peaks(processes, time);
        rows["time_ns"] = nanoseconds(CLOCK_REALTIME);
        device_rows(devices, histories_of(devices, processes, peaks), Wanted{nb::none()}, rows);
        space_rows(collector, processes, devices, rows);
        for (size_t i = 0; i < processes.size(); ++i) {
            const Process& process = *processes[i];
            if (process.shadowed_by != 0) continue;  // shown once, by what tells more
            const Sum sum = sum_of(process, peaks[i], summed.size(), all);
            listed.append(process_row(process, time));
            sums.append(sum_row(process, sum));
            for (size_t number = 0; number < summed.size(); ++number)
                summed[number] = summed[number] || sum.chips[number];
        }
        if (!wanted.empty()) rows["whole"] = rows_about(processes, time, wanted);
        rows["processes"] = listed;
        rows["sums"] = sums;
        everybody_rows(all, rows);
        rows["spoken_of"] = spoken_of_rows(devices, processes, summed);
        rows["doubted"] = doubted_rows(processes);
        rows["damaged"] = damaged_rows(damaged);
        return rows;
    });
}

}  // namespace ttmem
