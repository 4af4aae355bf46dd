// A chip, and what all processes together have there.
#include <algorithm>
#include <tuple>

#include "ledger/places/regions.hpp"
#include "ledger/rows/making.hpp"

namespace ttmem {
namespace {

bool is_planned(uint8_t pool) { return pool >= TTMEM_CB && pool <= TTMEM_DISPATCH; }

DeviceRow device_row(uint32_t number, const Device& device) {
    const DeviceDescriptor& facts = device.facts;
    DeviceRow row;
    row.name = chip_name_row(number, device);
    row.arch = facts.arch;
    row.board = facts.board;
    if (facts.grid_x != 0 && facts.grid_y != 0) row.grid = {facts.grid_x, facts.grid_y};
    row.dram_banks = unless_zero(facts.dram_banks);
    row.l1_banks = unless_zero(facts.l1_banks);
    row.kernel_ring = unless_zero(facts.kernel_ring_bytes);
    for (const uint64_t bytes : facts.capacity_bytes) row.capacities.push_back(unless_zero(bytes));
    row.open_count = static_cast<uint64_t>(std::max(device.open_count, 0));
    return row;
}

const PoolRow* pool_in(const HeldRow* held, uint8_t pool) {
    if (held == nullptr) return nullptr;
    for (const PoolRow& one : held->pools)
        if (one.pool == pool) return &one;
    return nullptr;
}

/// What is known of a chip's history: our own sums, and the peaks that each process's journal has kept by itself. If one
/// of them was there before us, it is unknown how high all of them together have been.
struct History {
    uint64_t since_ns;
    bool is_late = false;
};

History history_of(const Device& device, const ChipParts& parts) {
    History history{device.since_ns};
    for (const OnOneChip& one : parts.processes) {
        if (one.process->peaks_since_ns != 0) continue;
        history.is_late |= one.process->is_late;
        history.since_ns = std::min(history.since_ns, one.process->started_ns);
    }
    if (history.is_late || history.since_ns == 0) history.since_ns = device.since_ns;
    return history;
}

void raise(PoolRow& row, const PoolRow& own) {
    if (own.peak <= row.peak) return;
    row.peak = own.peak;
    row.peak_time_ns = own.peak_time_ns;
}

// What the holders have of a pool, and why that may not be all.
void add_shares(PoolRow& row, const ChipParts& parts, std::string_view doubt) {
    uint64_t accounted = 0;
    std::vector<std::string_view> reasons;
    row.origin = "counted";
    for (const OnOneChip& one : parts.processes) {
        const PoolRow* own = is_holder(*one.process) ? pool_in(one.held, row.pool) : nullptr;
        if (own == nullptr) continue;
        accounted += own->used;
        if (own->origin == "counter") row.origin = "counter";
        if (!own->reason.empty()) reasons.push_back(own->reason);
    }
    row.unattributed = row.used > accounted ? row.used - accounted : 0;
    row.reason = !doubt.empty() ? doubt : first_reason(reasons);
}

std::string_view doubt_of(const Device& device, const ChipParts& parts, const std::vector<PoolRow>& pools) {
    if (parts.is_doubted) return "damaged";
    if (device.contradiction.count != 0) return "contradicted";
    for (const PoolRow& row : pools)
        if (!is_planned(row.pool) && row.capacity && row.used > *row.capacity) return "over_capacity";
    return {};
}

// Of several processes. Circular buffers of all begin at the same address, so the largest stands for them; every process
// says the size of the same ring, or does not.
struct Together {
    std::optional<FootprintRow> footprint;
    std::optional<RingRow> rings[kCoreTypes];
    uint64_t stalls[kStalls] = {};
    std::optional<CacheRow> caches[kCaches];

    void add(const ActivityRow& own) {
        if (own.footprint && (!footprint || own.footprint->planned > footprint->planned)) footprint = own.footprint;
        for (const RingRow& ring : own.rings) add(rings[ring.core_type], ring);
        for (const auto& [reason, count] : own.stalls) stalls[reason] += count;
        for (const CacheRow& cache : own.caches) add(caches[cache.cache], cache);
    }

    void put_into(ActivityRow& row) const {
        row.footprint = footprint;
        for (const auto& ring : rings)
            if (ring) row.rings.push_back(*ring);
        for (uint8_t s = 0; s < kStalls; ++s)
            if (stalls[s] != 0) row.stalls.emplace_back(s, stalls[s]);
        for (const auto& cache : caches)
            if (cache) row.caches.push_back(*cache);
    }

private:
    static void add(std::optional<RingRow>& sum, const RingRow& own) {
        if (!sum) sum = RingRow{own.core_type, 0, 0, 0, 0, std::nullopt};
        sum->live += own.live;
        sum->retired += own.retired;
        sum->entries += own.entries;
        sum->launches += own.launches;
        if (own.total) sum->total = std::max(sum->total.value_or(0), *own.total);
    }

    static void add(std::optional<CacheRow>& sum, const CacheRow& own) {
        if (!sum) sum = CacheRow{own.cache};
        sum->hits += own.hits;
        sum->misses += own.misses;
        sum->evicted += own.evicted;
        sum->bypassed += own.bypassed;
        sum->emptied += own.emptied;
        sum->entries += own.entries;
        sum->held += own.held;
        sum->shared += own.shared;
    }
};

void add_activity(ChipRow& row, const ChipParts& parts) {
    Together together;
    for (const OnOneChip& one : parts.processes) {
        if (one.held == nullptr || !is_holder(*one.process)) continue;
        together.add(one.held->activity);
        row.launch_count += one.held->launches;
    }
    together.put_into(row.activity);
}

// ---- what lies where

const Places& places_of(const ChipParts& parts) {
    static const Places nothing;
    return parts.seen.places == nullptr ? nothing : *parts.seen.places;
}

void add_free_blocks(std::vector<PoolRow>& pools, const Places& places, const DeviceDescriptor& facts,
                     const BankSizes* sizes) {
    if (!places.is_followed) return;
    for (PoolRow& row : pools) {
        if (row.pool >= kPlacedPools) continue;
        const std::optional<Bounds> bounds = bounds_of(facts, row.pool, sizes);
        if (!bounds) continue;
        row.largest_free_bank = bounds->largest_free(places.pools[row.pool], places.gaps[row.pool]);
        row.hole_count = bounds->hole_count(places.pools[row.pool], places.gaps[row.pool]);
        if (row.largest_free_bank) row.largest_free = *row.largest_free_bank * bank_count_of(facts, row.pool);
    }
}

CorePlace place_of(uint32_t core) { return {static_cast<uint16_t>(core % 256), static_cast<uint16_t>(core / 256)}; }

// Where something did not say where it lies, its share of every core stands for it.
uint64_t share_of_core(const ChipRow& row, const DeviceDescriptor& facts) {
    uint64_t held = 0;
    for (const PoolRow& pool : row.pools)
        if (pool.pool == TTMEM_L1 || pool.pool == TTMEM_L1_SMALL) held += pool.used;
    const uint64_t banks = std::max<uint64_t>(facts.l1_banks, 1);
    return (held + banks - 1) / banks;
}

void add_fullest_cores(ChipRow& row, const Device& device, const ChipParts& parts) {
    row.core_bytes = core_bytes_of(device.facts);
    const Places& places = places_of(parts);
    if (!row.doubt.empty() || !places.is_followed || !row.core_bytes) return;
    const uint64_t ring = device.open_count > 0 ? device.facts.kernel_ring_bytes : 0;
    const bool has_worst = !places.cores.empty();
    uint64_t planned = has_worst ? places.cores[places.worst].used : places.buffers;
    FullestCore now = parts.seen.places == nullptr ? FullestCore{} : parts.seen.now;
    if ((places.pools[TTMEM_L1].unplaced | places.pools[TTMEM_L1_SMALL].unplaced) != 0) {
        const uint64_t share = share_of_core(row, device.facts);
        const auto& footprint = row.activity.footprint;
        planned = (footprint ? footprint->worst_planned : 0) + share;
        now.used = (footprint ? footprint->worst_resident.value_or(0) : 0) + share;
    }
    row.worst_core = planned + ring;
    if (has_worst) row.worst_place = place_of(places.cores[places.worst].core);
    if (!now.is_known) return;
    row.fullest_now = now.used + ring;
    if (now.has_core) row.fullest_place = place_of(now.core);
}

uint32_t pid_of(const Processes& processes, uint64_t key) {
    for (const auto& process : processes)
        if (process->key == key) return process->pid;
    return 0;
}

void add_headroom(ChipRow& row, const Device& device, const BankSizes* sizes, const Places& places,
                  const Processes& processes) {
    if (!row.doubt.empty() || !places.is_followed || !places.headroom.is_known) return;
    const std::optional<Bounds> l1 = bounds_of(device.facts, TTMEM_L1, sizes);
    row.headroom = headroom_of(places.headroom, l1, device.facts);
    for (const auto& [key, program] : places.headroom.programs)
        row.headroom_programs.emplace_back(pid_of(processes, key), program_number(program));
    if (l1) row.l1_hole = l1->largest_hole(places.pools[TTMEM_L1], places.gaps[TTMEM_L1]);
}

OpenerRow opener_row(const Processes& processes, uint64_t key) {
    for (const auto& process : processes)
        if (process->key == key) return {process->pid, process->uid, process->path};
    return {};
}

void add_contradiction(ChipRow& row, const Contradiction& found, const Processes& processes) {
    if (found.count == 0) return;
    ContradictionRow& to = row.contradiction.emplace();
    to.count = found.count;
    to.what = found.what;
    to.believed_text = found.believed_text;
    to.other_text = found.other_text;
    if (found.believed != 0) to.believed = opener_row(processes, found.believed);
    to.other = opener_row(processes, found.other);
}

void add_kinds(std::vector<KindRow>& rows, const KindAmount* amounts, uint8_t count) {
    for (uint8_t i = 0; i < count; ++i)
        if (amounts[i].count > 0)
            rows.push_back(
                {i, never_negative(amounts[i].used), never_negative(amounts[i].count), amounts[i].estimated > 0});
}

}  // namespace

ChipNameRow chip_name_row(uint32_t number, const Device& device) {
    ChipNameRow row;
    row.number = number;
    row.unique_id = device.unique_id;
    row.is_known = device.is_known;
    row.name = device.name.substr(0, device.name.find('@'));
    const bool has_index = device.facts.index >= 0 && (device.is_known || row.name.starts_with("server:"));
    if (has_index) row.index = static_cast<uint64_t>(device.facts.index);
    return row;
}

bool is_before(const ChipNameRow& a, const ChipNameRow& b) {
    return std::tuple(!a.index, a.index.value_or(0), a.unique_id, std::string_view(a.name)) <
           std::tuple(!b.index, b.index.value_or(0), b.unique_id, std::string_view(b.name));
}

std::vector<PoolRow> chip_pools(const Device& device, const ChipParts& parts) {
    std::vector<PoolRow> pools;
    const History history = history_of(device, parts);
    for (uint8_t p = 0; p < kPools; ++p) {
        const PeakAmount& sums = device.cell.pools[p];
        PoolRow row;
        row.pool = p;
        row.peak = never_negative(sums.peak);
        row.peak_time_ns = unless_zero(sums.peak_time_ns);
        bool is_request_known = true;
        for (const OnOneChip& one : parts.processes) {
            const PoolRow* own = pool_in(one.held, p);
            if (own == nullptr) continue;
            raise(row, *own);
            is_request_known &=
                own->requested.has_value() || own->count == 0;  // counters do not say what was asked for
        }
        if (row.peak == 0 && sums.count == 0) continue;
        row.used = never_negative(sums.used);
        if (is_request_known) row.requested = never_negative(sums.requested);
        row.count = never_negative(sums.count);
        row.is_lower_bound = device.is_lower_bound || history.is_late;
        row.since_ns = unless_zero(history.since_ns);
        row.capacity = unless_zero(device.facts.capacity_bytes[p]);
        pools.push_back(row);
    }
    return pools;
}

ChipRow chip_row(uint32_t number, const Devices& devices, const ChipParts& parts, const Processes& processes) {
    const Device& device = devices.all()[number];
    const BankSizes* sizes = devices.bank_sizes(device);
    const Places& places = places_of(parts);
    ChipRow row;
    row.device = device_row(number, device);
    row.pools = chip_pools(device, parts);
    row.doubt = doubt_of(device, parts, row.pools);
    for (PoolRow& pool : row.pools) add_shares(pool, parts, row.doubt);
    if (row.doubt.empty()) add_free_blocks(row.pools, places, device.facts, sizes);
    add_kinds(row.kinds, device.cell.kinds, kKinds);
    add_kinds(row.activity.cores, device.cell.cores, kCoreTypes);
    add_activity(row, parts);
    add_fullest_cores(row, device, parts);
    add_headroom(row, device, sizes, places, processes);
    add_contradiction(row, device.contradiction, processes);
    return row;
}

}  // namespace ttmem
