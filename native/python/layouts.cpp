#include "python/layouts.hpp"

#include "journal/layout.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

#define TTMEM_FIELD(type, field) fields[#field] = nb::make_tuple(offsetof(type, field), sizeof(type::field))

nb::tuple record() {
    nb::dict fields;
    TTMEM_FIELD(Record, commit);
    TTMEM_FIELD(Record, time);
    TTMEM_FIELD(Record, tag);
    TTMEM_FIELD(Record, id);
    TTMEM_FIELD(Record, address);
    TTMEM_FIELD(Record, reserved);
    TTMEM_FIELD(Record, requested);
    TTMEM_FIELD(Record, per_bank);
    return nb::make_tuple(sizeof(Record), fields);
}

nb::tuple pool_counters() {
    nb::dict fields;
    TTMEM_FIELD(PoolCounters, used);
    TTMEM_FIELD(PoolCounters, peak);
    TTMEM_FIELD(PoolCounters, peak_time);
    TTMEM_FIELD(PoolCounters, window_peak);
    TTMEM_FIELD(PoolCounters, allocs);
    TTMEM_FIELD(PoolCounters, frees);
    TTMEM_FIELD(PoolCounters, spare);
    return nb::make_tuple(sizeof(PoolCounters), fields);
}

nb::tuple kind_counters() {
    nb::dict fields;
    TTMEM_FIELD(KindCounters, used);
    TTMEM_FIELD(KindCounters, count);
    return nb::make_tuple(sizeof(KindCounters), fields);
}

nb::tuple target() {
    nb::dict fields;
    TTMEM_FIELD(Target, state);
    TTMEM_FIELD(Target, descriptor);
    TTMEM_FIELD(Target, unique_id);
    TTMEM_FIELD(Target, closed_sequence);
    TTMEM_FIELD(Target, launches);
    TTMEM_FIELD(Target, spare);
    TTMEM_FIELD(Target, kinds);
    TTMEM_FIELD(Target, kinds_spare);
    TTMEM_FIELD(Target, pools);
    TTMEM_FIELD(Target, pools_spare);
    return nb::make_tuple(sizeof(Target), fields);
}

nb::tuple phase_peak() {
    nb::dict fields;
    TTMEM_FIELD(PhasePeak, name_and_place);
    TTMEM_FIELD(PhasePeak, peak);
    TTMEM_FIELD(PhasePeak, time);
    TTMEM_FIELD(PhasePeak, runs);
    return nb::make_tuple(sizeof(PhasePeak), fields);
}

nb::tuple device_descriptor() {
    nb::dict fields;
    TTMEM_FIELD(DeviceDescriptor, unique_id);
    TTMEM_FIELD(DeviceDescriptor, index);
    TTMEM_FIELD(DeviceDescriptor, kernel_ring_bytes);
    TTMEM_FIELD(DeviceDescriptor, grid_x);
    TTMEM_FIELD(DeviceDescriptor, grid_y);
    TTMEM_FIELD(DeviceDescriptor, dram_banks);
    TTMEM_FIELD(DeviceDescriptor, l1_banks);
    TTMEM_FIELD(DeviceDescriptor, capacity_bytes);
    TTMEM_FIELD(DeviceDescriptor, arch);
    TTMEM_FIELD(DeviceDescriptor, board);
    return nb::make_tuple(sizeof(DeviceDescriptor), fields);
}

nb::tuple mesh_descriptor() {
    nb::dict fields;
    TTMEM_FIELD(MeshDescriptor, mesh_id);
    TTMEM_FIELD(MeshDescriptor, rows);
    TTMEM_FIELD(MeshDescriptor, columns);
    TTMEM_FIELD(MeshDescriptor, chip_count);
    return nb::make_tuple(sizeof(MeshDescriptor), fields);
}

nb::tuple identity() {
    nb::dict fields;
    TTMEM_FIELD(Identity, magic);
    TTMEM_FIELD(Identity, version);
    TTMEM_FIELD(Identity, header_bytes);
    TTMEM_FIELD(Identity, file_bytes);
    TTMEM_FIELD(Identity, targets_offset);
    TTMEM_FIELD(Identity, threads_offset);
    TTMEM_FIELD(Identity, slab_offset);
    TTMEM_FIELD(Identity, index_offset);
    TTMEM_FIELD(Identity, ring_offset);
    TTMEM_FIELD(Identity, phases_offset);
    TTMEM_FIELD(Identity, arena_offset);
    TTMEM_FIELD(Identity, target_count);
    TTMEM_FIELD(Identity, thread_count);
    TTMEM_FIELD(Identity, table);
    TTMEM_FIELD(Identity, ring_slots);
    TTMEM_FIELD(Identity, phase_peaks);
    TTMEM_FIELD(Identity, arena_bytes);
    TTMEM_FIELD(Identity, index_slots);
    TTMEM_FIELD(Identity, pid);
    TTMEM_FIELD(Identity, uid);
    TTMEM_FIELD(Identity, clock_kind);
    TTMEM_FIELD(Identity, start_ticks);
    TTMEM_FIELD(Identity, pid_namespace);
    TTMEM_FIELD(Identity, boot_id);
    TTMEM_FIELD(Identity, nonce);
    TTMEM_FIELD(Identity, first_sequence);
    TTMEM_FIELD(Identity, clock_raw);
    TTMEM_FIELD(Identity, clock_monotonic_ns);
    TTMEM_FIELD(Identity, clock_realtime_ns);
    TTMEM_FIELD(Identity, command);
    return nb::make_tuple(sizeof(Identity), fields);
}

nb::tuple header() {
    nb::dict fields;
    TTMEM_FIELD(Header, identity);
    TTMEM_FIELD(Header, next_sequence);
    TTMEM_FIELD(Header, free_head);
    TTMEM_FIELD(Header, slab_high);
    TTMEM_FIELD(Header, index_live);
    TTMEM_FIELD(Header, skipped);
    TTMEM_FIELD(Header, untabled_allocs);
    TTMEM_FIELD(Header, untabled_frees);
    TTMEM_FIELD(Header, unsized_frees);
    TTMEM_FIELD(Header, unmatched_frees);
    TTMEM_FIELD(Header, replaced);
    TTMEM_FIELD(Header, clamped);
    TTMEM_FIELD(Header, shrunk_kernels);
    TTMEM_FIELD(Header, arena_used);
    TTMEM_FIELD(Header, arena_refused);
    TTMEM_FIELD(Header, phases_refused);
    TTMEM_FIELD(Header, label);
    TTMEM_FIELD(Header, threads_used);
    TTMEM_FIELD(Header, target_refused);
    return nb::make_tuple(sizeof(Header), fields);
}

#undef TTMEM_FIELD

}  // namespace

nb::dict layouts() {
    nb::dict all;
    all["Record"] = record();
    all["PoolCounters"] = pool_counters();
    all["KindCounters"] = kind_counters();
    all["Target"] = target();
    all["PhasePeak"] = phase_peak();
    all["DeviceDescriptor"] = device_descriptor();
    all["MeshDescriptor"] = mesh_descriptor();
    all["Identity"] = identity();
    all["Header"] = header();
    return all;
}

}  // namespace ttmem
