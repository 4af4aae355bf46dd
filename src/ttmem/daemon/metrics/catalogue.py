"""Every metric of the page, in its order. docs/reference/metrics.md describes the same ones; a test compares them."""

from ttmem.daemon.metrics.families import Family
from ttmem.devices import POOL_TOTALS

_CHIP = ("device", "arch")
_MEMORY = (*_CHIP, "memory")

UP = Family("ttmem_up", "1 if every part of the daemon is well, 0 if one has failed.")
BUILD = Family("ttmem_build_info", "Which ttmem answers, on which machine.", ("version", "hostname"), "info")
START = Family("ttmem_start_time_seconds", "When the daemon began, in seconds since 1970.")
AGE = Family(
    "ttmem_source_age_seconds",
    "How old the figures of this page are (snapshot), and the newest word of any process (journal, socket).",
    ("source",),
)
COMPLETE = Family("ttmem_complete", "1 if every living process could be followed, else 0.")
CLIENTS = Family("ttmem_clients", "Living processes, by how they are known.", ("source", "state"))
FOREIGN = Family("ttmem_foreign_places", "Directories and files of other users that may not be read.")
FINDINGS = Family("ttmem_findings", "What does not add up, of all processes known now.", ("finding",))
EVENTS = Family("ttmem_events_total", "Events that were read.", ("source",), "counter")
DROPPED = Family(
    "ttmem_events_dropped_total",
    "Records and lines that were not read: they cost history, never a balance.",
    ("reason",),
    "counter",
)
INCIDENTS = Family(
    "ttmem_incidents_total", "What was refused, each once whatever its chips.", ("kind", "memory"), "counter"
)

DEVICE = Family(
    "ttmem_device_info",
    "What is known of a chip.",
    (*_CHIP, "board", "uuid", "dev_node", "pci_bus_id", "tray", "chip", "grid"),
    "info",
)
OPEN = Family("ttmem_device_open_processes", "Living processes that have the chip open.", _CHIP)
DEVICE_COMPLETE = Family("ttmem_device_complete", "1 if the figures of the chip are whole, else 0.", _CHIP)

USED = Family("ttmem_memory_used_bytes", "What all banks give up for what is alive.", (*_MEMORY, "kind"))
CAPACITY = Family("ttmem_memory_capacity_bytes", "All banks together, as the chip's opener reported.", _MEMORY)
FREE = Family("ttmem_memory_free_bytes", "What nothing holds, in all banks together.", _MEMORY)
PEAK = Family("ttmem_memory_peak_bytes", "Highest use by all processes together.", _MEMORY)
LARGEST = Family(
    "ttmem_memory_largest_free_block_bytes", "Largest block that one allocation could get, over all banks.", _MEMORY
)
ALIVE = Family("ttmem_memory_allocations", "Allocations that are alive.", _MEMORY)
UNATTRIBUTED = Family("ttmem_memory_unattributed_bytes", "Used, but by no process that is known.", _MEMORY)
READ = Family(
    "ttmem_memory_read_bytes", "Held by processes that do not report, by the runtime's own counters.", _MEMORY
)
STALE = Family(
    "ttmem_memory_stale_bytes", "Still in the runtime's own counters, of processes that have ended.", _MEMORY
)

L1 = Family("ttmem_l1_used_bytes", "What takes L1 of all worker cores, by kind.", (*_CHIP, "kind"))
FULLEST = Family(
    "ttmem_l1_fullest_core_bytes", "L1 of the fullest worker core now: buffers, resident circular buffers, ring.", _CHIP
)
PLANNED = Family("ttmem_l1_planned_bytes", "The same with circular buffers of all loaded programs.", _CHIP)
HEADROOM = Family(
    "ttmem_l1_headroom_bytes", "Lowest L1 buffer less end of all circular buffers; below 0 a launch is refused.", _CHIP
)
WORST = Family("ttmem_l1_worst_core_used_bytes", "Older name of ttmem_l1_planned_bytes.", _CHIP)
WORST_RESIDENT = Family("ttmem_l1_worst_core_resident_bytes", "Older name of ttmem_l1_fullest_core_bytes.", _CHIP)
CORE = Family("ttmem_l1_core_capacity_bytes", "What a worker core has: kernel ring and L1 bank.", _CHIP)
CB_PLANNED = Family(
    "ttmem_circular_buffers_planned_bytes", "L1 that circular buffers of all loaded programs take.", _CHIP
)
CB_RESIDENT = Family(
    "ttmem_circular_buffers_resident_bytes", "The same, of the program that ran last on each core.", _CHIP
)
CB_WORST_PLANNED = Family(
    "ttmem_circular_buffers_worst_core_planned_bytes", "Planned circular buffers of the fullest core.", _CHIP
)
CB_WORST_RESIDENT = Family(
    "ttmem_circular_buffers_worst_core_resident_bytes", "Resident circular buffers of the fullest core.", _CHIP
)
KERNELS = Family("ttmem_kernels", "Kernels that are loaded.", (*_CHIP, "type"))
KERNEL_BYTES = Family(
    "ttmem_kernel_bytes", "Code of loaded kernels on all their cores: an inventory, not L1.", (*_CHIP, "type")
)
RING = Family("ttmem_kernel_ring_bytes", "The kernel ring of each core.", (*_CHIP, "core_type", "state"))
RING_ENTRIES = Family("ttmem_kernel_ring_entries", "Programs that live in the ring.", (*_CHIP, "core_type"))
CACHE_ENTRIES = Family("ttmem_cache_entries", "What a cache holds.", (*_CHIP, "cache"))
CACHE_BYTES = Family("ttmem_cache_bytes", "What a cache holds, in bytes.", (*_CHIP, "cache"))

LAUNCHES = Family("ttmem_launches_total", "Programs launched.", _CHIP, "counter")
STALLS = Family("ttmem_launch_stalls_total", "Launches that had to wait.", (*_CHIP, "reason"), "counter")
CACHE = Family("ttmem_cache_requests_total", "What came of asking a cache.", (*_CHIP, "cache", "result"), "counter")
ALLOCATIONS = Family("ttmem_allocations_total", "Allocations made.", _MEMORY, "counter")
FREES = Family("ttmem_frees_total", "Allocations freed.", _MEMORY, "counter")
OUT_OF_MEMORY = Family(
    "ttmem_out_of_memory_total", "Allocations the runtime refused, on each chip.", _MEMORY, "counter"
)
CLASHES = Family(
    "ttmem_circular_buffer_clashes_total",
    "Launches refused because circular buffers would have reached into a buffer, on each chip.",
    _CHIP,
    "counter",
)

_WORKLOAD = ("workload", "username")
WORKLOAD = Family("ttmem_workload_info", "What a workload runs.", (*_WORKLOAD, "command"), "info")
WORKLOAD_PROCESSES = Family("ttmem_workload_processes", "Living processes of a workload.", _WORKLOAD)
WORKLOAD_INCIDENTS = Family(
    "ttmem_workload_incidents", "Incidents of the living processes of a workload, each once.", _WORKLOAD
)
WORKLOAD_USED = Family(
    "ttmem_workload_memory_used_bytes", "What a workload holds of a chip.", ("device", "memory", *_WORKLOAD)
)
WORKLOAD_READ = Family(
    "ttmem_workload_memory_read_bytes",
    "The same of one that does not report, by the runtime's own counters.",
    ("device", "memory", *_WORKLOAD),
)
WORKLOAD_TOTALS = {
    total: Family(
        f"ttmem_workload_memory_{total.field}",
        f"Of the living processes of a workload, {total.meaning}.",
        ("device", "memory", *_WORKLOAD),
    )
    for total in POOL_TOTALS
}

# tt-telemetry's names, for boards that were made for it: whole MiB, called megabytes there.
_ITS_CHIP = ("hostname", "tray", "chip", "unit")
_ITS_HOST = ("hostname", "unit")
TT_DEVICE_USED = Family("tt_device_dram_used_megabytes", "DRAM used on the chip, in MiB.", _ITS_CHIP)
TT_DEVICE_TOTAL = Family("tt_device_dram_total_megabytes", "DRAM of the chip, in MiB.", _ITS_CHIP)
TT_USED = Family("tt_dram_used_megabytes", "DRAM used on all chips of the host, in MiB.", _ITS_HOST)
TT_TOTAL = Family("tt_dram_total_megabytes", "DRAM of all chips of the host, in MiB.", _ITS_HOST)

SERVICE = (UP, BUILD, START, AGE, COMPLETE, CLIENTS, FOREIGN, FINDINGS, EVENTS, DROPPED, INCIDENTS)
CHIPS = (DEVICE, OPEN, DEVICE_COMPLETE)
MEMORY = (USED, CAPACITY, FREE, PEAK, LARGEST, ALIVE, UNATTRIBUTED, READ, STALE)
PROGRAMS = (
    *(L1, FULLEST, PLANNED, HEADROOM, WORST, WORST_RESIDENT, CORE),
    *(CB_PLANNED, CB_RESIDENT, CB_WORST_PLANNED, CB_WORST_RESIDENT),
    *(KERNELS, KERNEL_BYTES, RING, RING_ENTRIES, CACHE_ENTRIES, CACHE_BYTES),
)
COUNTERS = (LAUNCHES, STALLS, CACHE, ALLOCATIONS, FREES, OUT_OF_MEMORY, CLASHES)
WORKLOADS = (WORKLOAD, WORKLOAD_PROCESSES, WORKLOAD_INCIDENTS, WORKLOAD_USED, WORKLOAD_READ, *WORKLOAD_TOTALS.values())
ALIASES = (TT_DEVICE_USED, TT_DEVICE_TOTAL, TT_USED, TT_TOTAL)
OF_CHIPS = (*CHIPS, *MEMORY, *PROGRAMS, *COUNTERS)
FAMILIES = (*SERVICE, *OF_CHIPS, *WORKLOADS, *ALIASES)
