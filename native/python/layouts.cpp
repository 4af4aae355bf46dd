#include "python/layouts.hpp"

#include "journal/layout.hpp"
#include "ledger/checkpoint.hpp"
#include "server/message.hpp"

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
    TTMEM_FIELD(PoolCounters, own_peak);
    TTMEM_FIELD(PoolCounters, totals);
    return nb::make_tuple(sizeof(PoolCounters), fields);
}

nb::tuple kind_counters() {
    nb::dict fields;
    TTMEM_FIELD(KindCounters, used);
    TTMEM_FIELD(KindCounters, count);
    return nb::make_tuple(sizeof(KindCounters), fields);
}

nb::tuple ring_counters() {
    nb::dict fields;
    TTMEM_FIELD(RingCounters, live);
    TTMEM_FIELD(RingCounters, retired);
    TTMEM_FIELD(RingCounters, entries);
    TTMEM_FIELD(RingCounters, launches);
    TTMEM_FIELD(RingCounters, total);
    return nb::make_tuple(sizeof(RingCounters), fields);
}

nb::tuple cache_counters() {
    nb::dict fields;
    TTMEM_FIELD(CacheCounters, outcomes);
    TTMEM_FIELD(CacheCounters, entries);
    TTMEM_FIELD(CacheCounters, held);
    TTMEM_FIELD(CacheCounters, shared);
    return nb::make_tuple(sizeof(CacheCounters), fields);
}

nb::tuple target() {
    nb::dict fields;
    TTMEM_FIELD(Target, state);
    TTMEM_FIELD(Target, descriptor);
    TTMEM_FIELD(Target, unique_id);
    TTMEM_FIELD(Target, closed_sequence);
    TTMEM_FIELD(Target, launches);
    TTMEM_FIELD(Target, clashes);
    TTMEM_FIELD(Target, refusals);
    TTMEM_FIELD(Target, spare);
    TTMEM_FIELD(Target, kinds);
    TTMEM_FIELD(Target, kinds_spare);
    TTMEM_FIELD(Target, pools);
    TTMEM_FIELD(Target, pools_spare);
    TTMEM_FIELD(Target, caches);
    TTMEM_FIELD(Target, rings);
    TTMEM_FIELD(Target, stalls);
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

nb::tuple incident() {
    nb::dict fields;
    TTMEM_FIELD(Incident, commit);
    TTMEM_FIELD(Incident, repeats);
    TTMEM_FIELD(Incident, last_time);
    TTMEM_FIELD(Incident, time);
    TTMEM_FIELD(Incident, place);
    TTMEM_FIELD(Incident, site_and_phase);
    TTMEM_FIELD(Incident, other_site_and_cores);
    TTMEM_FIELD(Incident, requested);
    TTMEM_FIELD(Incident, per_bank);
    TTMEM_FIELD(Incident, free);
    TTMEM_FIELD(Incident, largest);
    TTMEM_FIELD(Incident, bank_free);
    TTMEM_FIELD(Incident, bank_largest);
    TTMEM_FIELD(Incident, banks);
    TTMEM_FIELD(Incident, space_begin);
    TTMEM_FIELD(Incident, space_end);
    TTMEM_FIELD(Incident, program);
    TTMEM_FIELD(Incident, cb_end);
    TTMEM_FIELD(Incident, lowest_buffer);
    TTMEM_FIELD(Incident, trace);
    TTMEM_FIELD(Incident, address);
    TTMEM_FIELD(Incident, launches);
    TTMEM_FIELD(Incident, sequence_before);
    TTMEM_FIELD(Incident, sequence_after);
    TTMEM_FIELD(Incident, entries);
    TTMEM_FIELD(Incident, left_out);
    TTMEM_FIELD(Incident, left_out_bytes);
    TTMEM_FIELD(Incident, text_bytes);
    TTMEM_FIELD(Incident, spare);
    TTMEM_FIELD(Incident, text);
    return nb::make_tuple(sizeof(Incident), fields);
}

nb::tuple stack_node() {
    nb::dict fields;
    TTMEM_FIELD(StackNode, parent);
    TTMEM_FIELD(StackNode, name);
    TTMEM_FIELD(StackNode, file);
    TTMEM_FIELD(StackNode, kind_and_line);
    return nb::make_tuple(sizeof(StackNode), fields);
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
    TTMEM_FIELD(Identity, run);
    TTMEM_FIELD(Identity, incidents_offset);
    TTMEM_FIELD(Identity, copies_offset);
    TTMEM_FIELD(Identity, stack_nodes_offset);
    TTMEM_FIELD(Identity, stack_texts_offset);
    TTMEM_FIELD(Identity, incident_slots);
    TTMEM_FIELD(Identity, incident_entries);
    TTMEM_FIELD(Identity, stack_nodes);
    TTMEM_FIELD(Identity, stack_text_bytes);
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
    TTMEM_FIELD(Header, unreported);
    TTMEM_FIELD(Header, undivided_l1);
    TTMEM_FIELD(Header, incidents);
    TTMEM_FIELD(Header, incident_counts);
    TTMEM_FIELD(Header, stack_nodes_used);
    TTMEM_FIELD(Header, stack_texts_used);
    TTMEM_FIELD(Header, stacks_refused);
    TTMEM_FIELD(Header, sites_off);
    TTMEM_FIELD(Header, sites_spare);
    TTMEM_FIELD(Header, unjudged);
    return nb::make_tuple(sizeof(Header), fields);
}

nb::tuple checkpoint_head() {
    nb::dict fields;
    TTMEM_FIELD(CheckpointHead, magic);
    TTMEM_FIELD(CheckpointHead, version);
    TTMEM_FIELD(CheckpointHead, process_count);
    TTMEM_FIELD(CheckpointHead, boot_id);
    TTMEM_FIELD(CheckpointHead, time_ns);
    TTMEM_FIELD(CheckpointHead, body_bytes);
    TTMEM_FIELD(CheckpointHead, checksum);
    return nb::make_tuple(sizeof(CheckpointHead), fields);
}

nb::tuple checkpoint_process() {
    nb::dict fields;
    TTMEM_FIELD(CheckpointProcess, pid);
    TTMEM_FIELD(CheckpointProcess, uid);
    TTMEM_FIELD(CheckpointProcess, start_ticks);
    TTMEM_FIELD(CheckpointProcess, started_ns);
    TTMEM_FIELD(CheckpointProcess, sequence);
    TTMEM_FIELD(CheckpointProcess, event_count);
    TTMEM_FIELD(CheckpointProcess, claimed_pid);
    TTMEM_FIELD(CheckpointProcess, chip_count);
    TTMEM_FIELD(CheckpointProcess, entry_count);
    TTMEM_FIELD(CheckpointProcess, command);
    return nb::make_tuple(sizeof(CheckpointProcess), fields);
}

#undef TTMEM_FIELD
#define TTMEM_PART(name, type, place) fields[name] = nb::make_tuple(offsetof(type, place), sizeof(type{}.place))

// Flat, by the names the protocol's documents have.
template <typename Message>
nb::dict server_message() {
    nb::dict fields;
    TTMEM_PART("type", Message, head.type);
    TTMEM_PART("device_id", Message, head.device_id);
    TTMEM_PART("size", Message, head.size);
    TTMEM_PART("buffer_type", Message, head.buffer_type);
    TTMEM_PART("process_id", Message, head.process_id);
    TTMEM_PART("buffer_id", Message, head.buffer_id);
    TTMEM_PART("timestamp", Message, head.timestamp);
    TTMEM_PART("dram_allocated", Message, sums.dram);
    TTMEM_PART("l1_allocated", Message, sums.l1);
    TTMEM_PART("l1_small_allocated", Message, sums.l1_small);
    TTMEM_PART("trace_allocated", Message, sums.trace);
    if constexpr (requires(Message message) { message.cb; }) {
        TTMEM_PART("cb_allocated", Message, cb);
        TTMEM_PART("kernel_allocated", Message, kernel);
    }
    if constexpr (requires(Message message) { message.info; }) {
        TTMEM_PART("total_dram_size", Message, info.total_dram);
        TTMEM_PART("total_l1_size", Message, info.total_l1);
        TTMEM_PART("arch_type", Message, info.arch);
        TTMEM_PART("num_dram_channels", Message, info.dram_channels);
        TTMEM_PART("dram_size_per_channel", Message, info.dram_per_channel);
        TTMEM_PART("l1_size_per_core", Message, info.l1_per_core);
        TTMEM_PART("is_available", Message, info.is_available);
        TTMEM_PART("num_devices", Message, info.device_count);
    }
    if constexpr (requires(Message message) { message.ring_total; }) {
        TTMEM_PART("ringbuffer_total_size", Message, ring_total);
        TTMEM_PART("ringbuffer_used_bytes", Message, ring_used);
        TTMEM_PART("ringbuffer_num_programs", Message, ring_programs);
    }
    return fields;
}

#undef TTMEM_PART

}  // namespace

nb::dict layouts() {
    nb::dict all;
    all["Record"] = record();
    all["PoolCounters"] = pool_counters();
    all["KindCounters"] = kind_counters();
    all["RingCounters"] = ring_counters();
    all["CacheCounters"] = cache_counters();
    all["Target"] = target();
    all["PhasePeak"] = phase_peak();
    all["Incident"] = incident();
    all["StackNode"] = stack_node();
    all["DeviceDescriptor"] = device_descriptor();
    all["MeshDescriptor"] = mesh_descriptor();
    all["Identity"] = identity();
    all["Header"] = header();
    all["CheckpointHead"] = checkpoint_head();
    all["CheckpointProcess"] = checkpoint_process();
    all["Message72"] = nb::make_tuple(sizeof(server::Message72), server_message<server::Message72>());
    all["Message112"] = nb::make_tuple(sizeof(server::Message112), server_message<server::Message112>());
    all["Message128"] = nb::make_tuple(sizeof(server::Message128), server_message<server::Message128>());
    all["Message144"] = nb::make_tuple(sizeof(server::Message144), server_message<server::Message144>());
    return all;
}

}  // namespace ttmem
