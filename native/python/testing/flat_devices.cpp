// Chips as plain Python rows: what they are, and what all processes together have there.
#include "python/testing/flat_rows.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

nb::dict device_row(uint32_t number, const Device& device) {
    nb::dict row;
    const DeviceDescriptor& facts = device.facts;
    nb::list capacities;
    for (const uint64_t bytes : facts.capacity_bytes) capacities.append(bytes);
    row["number"] = number;
    row["unique_id"] = device.unique_id;
    row["index"] = facts.index;
    row["arch"] = text(facts.arch);
    row["board"] = text(facts.board);
    row["grid"] = nb::make_tuple(facts.grid_x, facts.grid_y);
    row["banks"] = nb::make_tuple(facts.dram_banks, facts.l1_banks);
    row["kernel_ring_bytes"] = facts.kernel_ring_bytes;
    row["capacities"] = nb::tuple(capacities);
    row["open_count"] = std::max(device.open_count, 0);
    row["known"] = device.is_known;
    row["name"] = text(device.name.substr(0, device.name.find('@')));
    return row;
}

}  // namespace

nb::list device_list(const Devices& devices, const Wanted& wanted) {
    nb::list list;
    for (uint32_t number = 0; number < devices.all().size(); ++number) {
        const Device& device = devices.all()[number];
        if (wanted.has(number) && (device.is_known || device.user_count > 0)) list.append(device_row(number, device));
    }
    return list;
}

void device_rows(const Devices& devices, const std::vector<History>& histories, const Wanted& wanted, nb::dict& rows) {
    nb::list pools, kinds, cores;
    for (uint32_t number = 0; number < devices.all().size(); ++number) {
        const Device& device = devices.all()[number];
        if (!wanted.has(number) || (!device.is_known && device.user_count == 0)) continue;  // or unused by now
        const History& history = histories[number];
        for (uint32_t p = 0; p < kPools; ++p) {
            const PeakAmount& pool = device.cell.pools[p];
            const Peak& peak = history.peaks[p];
            if (peak.bytes == 0 && pool.count == 0) continue;
            const int64_t requested = history.is_request_known[p] ? shown(pool.requested) : -1;
            pools.append(nb::make_tuple(number, p, shown(pool.used), requested, shown(pool.count), peak.bytes,
                                        peak.time_ns, history.since_ns, peak.is_lower_bound));
        }
        for (uint32_t k = 0; k < kKinds; ++k) {
            const KindAmount& kind = device.cell.kinds[k];
            if (kind.count > 0)
                kinds.append(nb::make_tuple(number, k, shown(kind.used), kind.count, kind.estimated > 0));
        }
        for (uint32_t c = 0; c < kCoreTypes; ++c) {
            const KindAmount& core = device.cell.cores[c];
            if (core.count > 0)
                cores.append(nb::make_tuple(number, c, shown(core.used), core.count, core.estimated > 0));
        }
    }
    nb::list contradictions;
    for (uint32_t number = 0; number < devices.all().size(); ++number) {
        const Contradiction& found = devices.all()[number].contradiction;
        if (found.count != 0 && wanted.has(number))
            contradictions.append(nb::make_tuple(number, found.believed, found.other, text(found.what),
                                                 text(found.believed_text), text(found.other_text), found.count));
    }
    rows["contradictions"] = contradictions;
    rows["devices"] = device_list(devices, wanted);
    rows["device_pools"] = pools;
    rows["device_kinds"] = kinds;
    rows["device_cores"] = cores;
}

}  // namespace ttmem
