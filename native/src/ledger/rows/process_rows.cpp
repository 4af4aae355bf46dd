// A process over all its chips.
#include <algorithm>

#include "ledger/rows/making.hpp"

namespace ttmem {
namespace {

void add(MaybeBytes& sum, MaybeBytes part) { sum = sum && part ? MaybeBytes(*sum + *part) : std::nullopt; }

// The peaks were not at one time: that of the last of them stands for all.
void add_pool(PoolRow& sum, const PoolRow& part) {
    sum.used += part.used;
    add(sum.requested, part.requested);
    for (size_t i = 0; i != sum.totals.size(); ++i) add(sum.totals[i], part.totals[i]);
    sum.count += part.count;
    sum.peak += part.peak;
    if (part.peak_time_ns) sum.peak_time_ns = std::max(sum.peak_time_ns.value_or(0), *part.peak_time_ns);
    sum.is_lower_bound |= part.is_lower_bound;
}

std::vector<PoolRow> pools_over(const std::vector<HeldRow>& held) {
    std::vector<PoolRow> pools;
    for (uint8_t p = 0; p < kPools; ++p) {
        const PoolRow* first = nullptr;
        for (const HeldRow& on_chip : held)
            for (const PoolRow& part : on_chip.pools) {
                if (part.pool != p) continue;
                if (first == nullptr)
                    first = &pools.emplace_back(part);
                else
                    add_pool(pools.back(), part);
            }
    }
    return pools;
}

std::vector<KindRow> kinds_over(const std::vector<HeldRow>& held) {
    KindRow sums[kKinds];
    for (const HeldRow& on_chip : held)
        for (const KindRow& part : on_chip.kinds) {
            sums[part.kind].kind = part.kind;
            sums[part.kind].used += part.used;
            sums[part.kind].count += part.count;
            sums[part.kind].is_estimated |= part.is_estimated;
        }
    std::vector<KindRow> kinds;
    for (const KindRow& sum : sums)
        if (sum.count != 0) kinds.push_back(sum);
    return kinds;
}

// Circular buffers of several programs share addresses, so their sizes are not added up: see ledger/places/footprint.hpp.
MaybeBytes planned_over(const std::vector<HeldRow>& held) {
    uint64_t planned = 0;
    for (const HeldRow& on_chip : held) {
        const auto has_any = [](const PoolRow& pool) { return pool.pool == TTMEM_CB && pool.count != 0; };
        if (on_chip.activity.footprint)
            planned += on_chip.activity.footprint->planned;
        else if (std::any_of(on_chip.pools.begin(), on_chip.pools.end(), has_any))
            return std::nullopt;
    }
    return planned;
}

// On all targets: one on a mesh is one.
void count_refusals(ProcessRow& row, const Process& process) {
    const std::vector<TargetBook>& targets = process.book.targets();
    for (size_t i = 0; i < process.book.target_count() && i < targets.size(); ++i) {
        const bool is_counted = i < process.targets.size();
        row.refusal_count += is_counted ? process.targets[i].refusals : targets[i].refusals;
        row.clash_count += is_counted ? process.targets[i].clashes : targets[i].clashes;
    }
}

OwnerRow owner_row(const TargetBook& target) { return {target.rows, target.columns, target.devices}; }

void add_findings(ProcessRow& row, const Process& process) {
    row.findings = findings_of(process);
    if (has_ended(process)) return;
    const std::vector<TargetBook>& targets = process.book.targets();
    for (Overlap& one : overlaps_of(process.book))
        row.overlaps.push_back({one.pool, one.address, one.bytes, std::move(one.devices), owner_row(targets[one.first]),
                                owner_row(targets[one.second])});
    if (!row.overlaps.empty()) row.findings.emplace_back("overlap", row.overlaps.size());
}

void add_sums(ProcessRow& row, const std::vector<HeldRow>& held, const ChipOrder& order) {
    for (const HeldRow& on_chip : held)
        if (order.is_shown[on_chip.chip]) row.chips.push_back(on_chip.chip);
    std::sort(row.chips.begin(), row.chips.end(),
              [&](uint32_t a, uint32_t b) { return order.rank[a] < order.rank[b]; });
    row.pools = pools_over(held);
    row.kinds = kinds_over(held);
    for (const HeldRow& on_chip : held) row.launch_count += on_chip.launches;
    row.cb_planned = planned_over(held);
}

}  // namespace

ProcessRow process_row(const Process& process, const std::vector<HeldRow>& held, const ChipOrder& order,
                       const Timebase& time) {
    ProcessRow row;
    const bool has_lists = !process.is_over() || process.way != Way::socket;
    row.key = process.key;
    row.pid = process.pid;
    row.claimed_pid = unless_zero(process.claimed_pid);
    row.source = process.way == Way::socket ? "socket" : "journal";
    row.uid = process.uid;
    row.label = process.label.empty() ? process.command : process.label;
    row.command = process.command;
    row.path = process.path;
    row.state = has_ended(process) ? "ended" : "live";
    row.is_visible = process.is_visible;
    row.pid_namespace = unless_zero(process.pid_namespace);
    row.origin = origin_of(process);
    row.reason = reason_of(process);
    row.start_time_ns = unless_zero(process.started_ns);
    row.start_ticks = unless_zero(process.start_ticks);
    row.last_event_time_ns = unless_zero(process.realtime(process.book.last_raw(), time));
    row.event_count = process.event_count;
    row.lost_record_count = process.lost_records;
    row.skipped_count = process.hot.skipped;
    row.untabled_count = process.hot.untabled_allocs;
    row.live_count = has_lists ? process.book.table().allocation_count() : process.last_live_count;
    row.thread_count = process.hot.threads;
    add_sums(row, held, order);
    count_refusals(row, process);
    for (const KnownIncident& one : process.incidents.heads) row.incidents.push_back(incident_row(process, one, time));
    row.incident_count = process.incidents.count;
    row.sites_off = process.sites_off;
    add_findings(row, process);
    return row;
}

}  // namespace ttmem
