"""The native core, as Python sees it: the one door to journals and ledger.

`client` holds the hot reporting functions (builtins: positional arguments only, no Python frame, never raise
for what the program reports, return None or 0 when tracking is off). `Ledger` reads journals and keeps
balances; its methods release the interpreter lock while they work. `layout` has the bytes of every shared
struct, for the test that compares both languages.
"""

from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, Literal

class client:  # really a submodule
    @staticmethod
    def enable(directory: str | None = None, /) -> bool: ...
    @staticmethod
    def disable() -> None: ...
    @staticmethod
    def is_enabled() -> bool: ...
    @staticmethod
    def ignores_environment() -> bool: ...
    @staticmethod
    def journal_path() -> str: ...
    @staticmethod
    def open_device(
        unique_id: int,
        index: int,
        arch: str,
        board: str,
        grid: tuple[int, int],
        banks: tuple[int, int],
        capacities: tuple[int, ...],
        kernel_ring_bytes: int,
        /,
    ) -> int: ...
    @staticmethod
    def open_mesh(mesh_id: int, rows: int, columns: int, chips: tuple[int, ...], /) -> int: ...
    @staticmethod
    def close_target(target: int, /) -> None: ...
    @staticmethod
    def report_buffer_alloc(
        target: int,
        id: int,
        reserved_bytes: int,
        requested_bytes: int = 0,
        address: int = 0,
        per_bank_bytes: int = 0,
        buffer_type: int = 0,
        site: int = 0,
        options: int = 0,
        page_bytes: int = 0,
        layout: int = 0,
        /,
    ) -> int: ...
    @staticmethod
    def report_cb_alloc(
        target: int,
        id: int,
        address: int,
        size_per_core_bytes: int,
        core_count: int,
        options: int = 0,
        program: int = 0,
        kind: int = 2,
        site: int = 0,
        core_set: int = 0,
        /,
    ) -> int: ...
    @staticmethod
    def report_kernel_load(
        target: int,
        id: int,
        kind: int,
        binary_bytes: int,
        core_count: int,
        exact_bytes: int = 0,
        binary_times_cores_bytes: int = 0,
        program: int = 0,
        pool: int = 0,
        site: int = 0,
        core_type: int = 0,
        found_by: int = 0,
        /,
    ) -> int: ...
    @staticmethod
    def report_free(handle: int, /) -> None: ...
    @staticmethod
    def report_core_buffer_alloc(
        target: int,
        id: int,
        size_per_core_bytes: int,
        parts: Sequence[tuple[int, int, int]],
        requested_bytes: int = 0,
        buffer_type: int = 1,
        site: int = 0,
        options: int = 0,
        layout: int = 0,
        /,
    ) -> int: ...
    @staticmethod
    def report_buffer_free(target: int, id: int, buffer_type: int = 0, reserved_bytes: int = 0, /) -> None: ...
    @staticmethod
    def report_cb_free(target: int, id: int, kind: int = 2, reserved_bytes: int = 0, /) -> None: ...
    @staticmethod
    def report_kernel_unload(target: int, id: int, kind: int = 5, reserved_bytes: int = 0, /) -> None: ...
    @staticmethod
    def report_binary_status(
        target: int, program: int, status: int, dram_bytes: int = 0, address: int = 0, /
    ) -> None: ...
    @staticmethod
    def report_program_end(target: int, program: int, /) -> None: ...
    @staticmethod
    def report_launch(target: int, program: int, /) -> None: ...
    @staticmethod
    def report_trace_begin(target: int, trace: int, site: int = 0, /) -> None: ...
    @staticmethod
    def report_trace_program(target: int, trace: int, program: int, /) -> None: ...
    @staticmethod
    def report_trace_end(target: int, trace: int, size_bytes: int = 0, /) -> None: ...
    @staticmethod
    def report_trace_replay(target: int, trace: int, /) -> None: ...
    @staticmethod
    def report_trace_release(target: int, trace: int, /) -> None: ...
    @staticmethod
    def report_out_of_memory(
        target: int, pool: int, requested_bytes: int, free_bytes: int = 0, largest_free_bytes: int = 0, /
    ) -> None: ...
    @staticmethod
    def report_clash(target: int, program: int, cb_end_address: int, buffer_address: int, /) -> None: ...
    @staticmethod
    def report_incident(
        target: int,
        kind: int,
        pool: int,
        /,
        *,
        requested_bytes: int | None = None,
        per_bank_bytes: int | None = None,
        free_bytes: int | None = None,
        largest_free_bytes: int | None = None,
        bank_free_bytes: int | None = None,
        bank_largest_free_bytes: int | None = None,
        bank_count: int = 0,
        core_set: int = 0,
        space_begin_address: int = 0,
        space_end_address: int = 0,
        program: int = 0,
        cb_end_address: int = 0,
        buffer_address: int = 0,
        trace: int = 0,
        address: int = 0,
        site: int = 0,
        other_site: int = 0,
        options: int = 0,
        text: str = "",
    ) -> None: ...
    @staticmethod
    def report_ring(
        target: int,
        core_type: int,
        live_bytes: int,
        retired_bytes: int,
        entry_count: int,
        stall: int = 0,
        ring_bytes: int = 0,
        is_launch: int = 1,
        /,
    ) -> None: ...
    @staticmethod
    def report_cache(
        target: int,
        cache: int,
        outcome: int,
        size_bytes: int = 0,
        entry_count: int = 0,
        held_bytes: int = 0,
        shared_bytes: int = 0,
        /,
    ) -> None: ...
    @staticmethod
    def intern(text: str, /) -> int: ...
    @staticmethod
    def begin_phase(name: int, /) -> int: ...
    @staticmethod
    def end_phase(phase: int, /) -> None: ...
    @staticmethod
    def set_label(text: str, /) -> None: ...

class allocation_client:  # really a submodule
    """The older socket client's calls, as builtins that report into the journal; lost_count is how many were not taken.

    What is reported never raises. `count_lost` is for the other transport, which counts in the same place.
    """

    @staticmethod
    def report_allocation(device_id: int, size: int, buffer_type: int, buffer_id: int) -> None: ...
    @staticmethod
    def report_deallocation(device_id: int, buffer_id: int) -> None: ...
    @staticmethod
    def report_cb_allocation(device_id: int, size: int, cb_id: int) -> None: ...
    @staticmethod
    def report_cb_deallocation(device_id: int, size: int, cb_id: int) -> None: ...
    @staticmethod
    def report_kernel_load(device_id: int, size: int, kernel_id: int, kernel_type: int = 0) -> None: ...
    @staticmethod
    def report_kernel_unload(device_id: int, size: int, kernel_id: int) -> None: ...
    @staticmethod
    def is_enabled() -> bool: ...
    @staticmethod
    def lost_count() -> int: ...
    @staticmethod
    def count_lost() -> None: ...
    @staticmethod
    def at_once(name: str, call: Callable[..., None], /) -> Callable[..., None]:
        """What `call` does, one of the reports over the socket: sent by itself while `arm` says that it may be."""
    @staticmethod
    def arm(descriptor: int, backlog: Sized, flight: Sized, /) -> bool:
        """From now on reports go straight to this socket, if nothing waits; what it does not take goes to `call`."""
    @staticmethod
    def disarm() -> None:
        """Something waits: every report goes to its `call`."""

class own:  # really a submodule
    """What this process itself has reported, read from its mapped journal; nothing, as long as it has none."""
    @staticmethod
    def version() -> int:
        """Another number whenever a target was opened, described again or closed; 0 without a journal."""

    JOURNAL_VERSION: int
    @staticmethod
    def other_version() -> int: ...  # of a journal that is not read here, since another ttmem owns it; else 0
    @staticmethod
    def targets() -> list[tuple[Any, ...]]:
        """(number, is open, unique or mesh id, (index, arch, board, capacities) of a chip, unique ids of a mesh's)."""
    @staticmethod
    def pool(targets: tuple[int, ...], pool: int, /) -> tuple[int, ...]:
        """What targets that stand for one chip have of a pool: bytes used, the highest since a reset, how many; then
        its totals, in the order of `POOL_TOTALS`."""
    @staticmethod
    def circular_buffers(targets: tuple[int, ...], /) -> tuple[int | None, int | None]:
        """What cores give up for circular buffers: of all loaded programs, and of those that ran last."""
    @staticmethod
    def entries() -> list[tuple[Any, ...]]:
        """What is alive, oldest first: (target, kind, id, pool, flags, reserved, requested, address, per_bank, page,
        layout, cores, program, thread id, age_ns, what the site says)."""
    @staticmethod
    def reset_peaks(target: int, /) -> None:
        """The highest of `pool` starts over at what is used now; what others see of peaks does not."""
    @staticmethod
    def record_sites() -> None:
        """From now on buffers reported without a site get the Python stack of their thread."""
    @staticmethod
    def forget_sites() -> None: ...
    @staticmethod
    def described_site(tensor: str, operation: str, /) -> int:
        """The site of a buffer: the Python stack if that is recorded, then the tensor and the operation, if they are
        not empty. 0 if there is nothing of it."""
    @staticmethod
    def name_program(target: int, program: int, operation: str, /) -> None:
        """What a program does; it must be known on that target by now."""
    @staticmethod
    def current_site() -> int:
        """The site of the caller's Python stack, as an allocation would get it; 0 if there is none."""
    @staticmethod
    def stack_node_count() -> int:
        """How many frames, tensors and operations the journal's tree of stacks has."""

class Books: ...

class Ledger(Books):
    """Balances of every process that reports by journal or socket; safe to use from several threads."""

    def __init__(self) -> None: ...
    def attach(self, path: str, device: int, inode: int) -> tuple[int, str]:
        """Starts reading a journal: (process key, ""), (0, what is wrong with the file), or (0, "") if no descriptor is
        free to open it now. One that is read already keeps its key."""

    def drain(self) -> int:
        """Applies what every journal has to say now, reaps the dead; returns how many events were applied."""

    def run(self, seconds: float) -> int:
        """Drains for a while: naps 0.2 ms while events flow, longer when quiet. Returns events applied."""

    def stop(self) -> None:
        """Makes a `run` in another thread return at once."""

    def look(
        self,
        details: Iterable[int] | Literal["all"] | None = None,
        chips: dict[int, int] = ...,
        processes: dict[int, int] = ...,
        detailed: dict[int, int] = ...,
    ) -> tuple[Any, ...]:
        """Everything at one instant, in nested tuples: (time_ns, chips, processes, unlisted, damaged), whose fields
        stand in the order of `snapshot.usage` and are written down in native/python/rows/whole_rows.cpp.

        chips: (number, version, row), those that are shown, in their order. processes: (key, version, row), their
        figures summed over their chips, with details where `details` names their key or is "all". unlisted: names of
        other chips that rows may name. damaged: (path, what is wrong). A version is never given twice, and a row has
        another one whenever anything in it may have changed. A row is None if the caller says that it has that version:
        of `chips` by number, of `processes` by key, of `detailed` by key and with details."""

    def is_settling(self) -> bool:
        """Whether some journal is not read to its end yet, so that figures are not complete."""

    def journal_count(self) -> int:
        """How many living processes report by a journal."""

    def set_bank_sizes(self, arch: str, dram_bytes: int, l1_bytes: int) -> bool:
        """How large each bank of an architecture is: what is free in one piece follows from that.
        Returns whether that is news: then rows of its chips have new versions."""

    def process(self, pid: int, key: int, most: int) -> dict[str, Any]:
        """One process close up, at one instant: its `largest` and `oldest` allocations, at most `most` of each, as
        `allocations` has them; its `sites` as (what the site says, bytes on all devices, allocations), the largest, and
        `site_count` of all. `key`: which of several of that pid; else the one that lives. Empty if there is none."""

    def sample(self) -> tuple[Any, ...]:
        """For one sampler of the history: (time_ns, chips, processes, events).
        chips: (number, unique id or None, name, ((pool, used, highest since the last call, capacity or 0), ...));
        processes: (key, pid, label or command, is live, started_ns, ended_ns); events since the last call, of each
        process in their order: (key, what, device or None, pool, requested bytes, program or name of a phase, time_ns).
        """

    def lifetime(self) -> tuple[Any, ...]:
        """What happened since this ledger began, never less than before: (chips, journals, sockets, incidents). chips:
        (number, launches, clashes, allocations by pool, frees by pool, refusals by pool, stalls by reason, outcomes by
        cache); journals and sockets: (events, lost records, skipped, untabled, processes, time_ns of the newest event
        or 0); incidents: (kind, pool, how many), each counted once whatever its chips."""

    def allocations(self, process: int, most: int = 0, first: int = 0, count: int = ...) -> list[tuple[Any, ...]]:
        """What is alive, of that `count` from the `first` on, as long as nothing happens in one order; or the `most`
        largest of every target, pool and kind: (device numbers, kind, id, pool, flags,
        reserved, requested, address, per_bank, count, thread id, site, time_ns, sequence, status, launches,
        holders, program, core_type, found_by, layout, page_bytes, operation, tensor, packed sizes, what the site says,
        parts)."""

    def chip(self, device: int, most: int) -> dict[str, Any]:
        """What lies where on a device, by its number: `pools` (dram, trace, l1, l1_small) as (allocations that did
        not say where they lie, others, bytes of a bank they take, where the first begins, where the last ends,
        largest hole between, holes between, stretches as (begin, end, allocations, bytes in holes too small to be
        distinguished)), at most about `most` of them; `cores` with circular buffers as (x, y, used with buffers,
        planned, resident), `worst` the place of the fullest among them, and what is `planned` and `resident` there as
        (begin, end)."""

    def kernels(self, device: int, most: int) -> tuple[int, list[tuple[Any, ...]], int]:
        """When, the `most` largest kernels on a device, by its number, and how many there are: (process, program, id,
        kind, flags, charged, binary size x cores, binary, cores, core_type, found_by, whether its program is known, its
        status and launches, time_ns, packed sizes, name, operation of its program)."""

    def incident(self, pid: int, key: int, number: int) -> tuple[Any, ...] | None:
        """An incident of a process with what was alive then: (pid, names of chips, incident as in the rows of
        processes, entries, sequence before and after the copy). An entry: (kind, pool, id, address, reserved,
        requested, per bank, program, operation, cores, how many, whether by core, whether a view, layout, page, thread,
        time_ns, sequence, phase, site, devices if others). `key`: which of several of that pid; else one that lives.
        None if there is no copy of it."""

    def log_events(self) -> None:
        """Makes a line of every event from now on, of journals and sockets; before anything is attached."""

    def take_log(self, wait_seconds: float) -> tuple[bytes, int]:
        """Waits for lines: (text, lines dropped so far). From one thread, not beside `AllocationServer.take_log`."""

    def reset_peaks(self) -> None:
        """Peaks of chips and processes start over from what is held now."""

    def describe_by_driver(self, unique_id: int, arch: str, board: str, dram_bytes: int, l1_bytes: int) -> bool:
        """What the driver says of a chip: it is believed before those who open it. Sizes are the most that such a chip
        can have; 0 and "" for what it does not say. Returns whether that is news."""

    def checkpoint(self) -> bytes | None:
        """What processes reported by socket; None if nothing has changed since the last call."""

    def restore(self, checkpoint: bytes) -> tuple[int, str]:
        """Takes back the processes of a checkpoint that still live: (how many, "" or what is wrong with it)."""

class testing:  # really a submodule
    """What only tests ask of a ledger: flat tables, a second way to what `look` says, and replayed records."""

    @staticmethod
    def flat_rows(ledger: Ledger, devices: Iterable[int] | None = None) -> dict[str, Any]:
        """Everything at one instant, a list of tuples for each kind of row, or what is about some devices, by their
        numbers, without programs, phases, refusals and what lies where."""

    @staticmethod
    def alike(ledger: Ledger) -> list[tuple[int, ...]]:
        """All device numbers; those together of which `flat_rows` has the same figures, but for names, times, and
        single programs."""

    @staticmethod
    def tally(ledger: Ledger, process: int) -> list[tuple[tuple[int, ...], int, int, bool, int]]:
        """How many are alive of every target, kind and flags: (device numbers, kind, flags, whether they take bytes,
        how many)."""

    @staticmethod
    def alive_at_peak(ledger: Ledger, process: int, device: int, pool: int) -> tuple[list[tuple[Any, ...]], bool]:
        """What was alive at the process's peak on a device, and whether the list is complete."""

    @staticmethod
    def tapped_ledger() -> Ledger:
        """A ledger that remembers the records it applies, for `taken`."""

    @staticmethod
    def taken(ledger: Ledger, process: int) -> tuple[bytes, bytes]:
        """Of a tapped ledger: the records applied so far for a process (64 bytes each) and its arena; then forgets
        them."""

    @staticmethod
    def feed(ledger: Ledger, records: bytes, arena: bytes, identity: tuple[int, int, int, str]) -> int:
        """Replays taken records as a process (pid, uid, start, label); returns its key."""

    @staticmethod
    def end(ledger: Ledger, process: int) -> None:
        """Ends a fed process, as its death would."""

    @staticmethod
    def forget_ended(ledger: Ledger) -> None:
        """Drops the list of ended processes."""

class AllocationServer:
    """Serves the allocation server's socket: what is reported there goes into a ledger. One thread runs it."""

    def __init__(self, ledger: Ledger, listener: int, log_events: bool = False, device_nodes: int = 0) -> None:
        """`listener` is a bound, listening Unix stream socket, which is duplicated; `device_nodes` how many devices
        the driver shows, for those who ask."""

    def run(self, seconds: float) -> int:
        """Serves for so long, or until `stop`; returns how many messages came."""

    def stop(self) -> None:
        """Makes a `run` in another thread return at once."""

    def finish(self) -> int:
        """Takes what has already arrived on every connection, then closes all of them and the listener."""

    def statistics(self) -> dict[str, int]:
        """What happened so far: connections, messages, queries, refusals, dropped log lines and the like."""

    def take_log(self, wait_seconds: float) -> tuple[bytes, int, int, int]:
        """Waits for lines: (text, lines dropped so far, dumps asked for since the last call, of kernels likewise)."""

class recording:  # really a submodule
    """What happens in a ledger, into files and back: the format is written down in native/src/recording/block.hpp."""

    class Recorder:
        """Listens to a ledger from its making on, before anything is attached; `redact`: no command lines, no paths."""

        def __init__(self, ledger: Ledger, redact: bool = False) -> None: ...
        def begin_segment(self, ledger: Ledger, file: int, number: int) -> None:
            """Goes on in another file, which is empty and is duplicated: first with what is alive now."""

        def flush(self, ledger: Ledger) -> tuple[int, int, int, int, int, int]:
            """Writes what has happened: (bytes of this segment, rows, rows dropped for want of room, records lost by
            readers, incidents, errno of the write that failed or 0: then rows are dropped until another segment)."""

    class Replay:
        """A recording back into a ledger of its own, block by block. A block that is none is a ValueError."""

        def __init__(self, ledger: Ledger) -> None: ...
        def read_names(self, block: bytes) -> None: ...  # all of a segment come before its other blocks
        def take(self, ledger: Ledger, block: bytes) -> None:
            """A block of events or a keyframe, of which nothing is applied yet."""

        def play(
            self,
            ledger: Ledger,
            horizon_ns: int = ...,
            until_ns: int = ...,
            chip: int = 0,
            pool: int = ...,
            bytes: int = 0,
            rows: int = ...,
        ) -> bool:
            """Applies what was taken, in the order of time: nothing later than `horizon_ns`, for blocks that were not
            taken yet may be earlier. Up to a time (CLOCK_MONOTONIC), until a pool of a chip holds `bytes`, or so many
            rows in all; whether it stopped there."""

        def watch(self, ledger: Ledger, measure: bool = False, core: int = -1) -> None:
            """From now on what no single moment says is kept up; `measure`: also the fullest core, or y * 256 + x."""

        def watched(self, ledger: Ledger) -> tuple[Any, ...]:
            """That: its rows are described in native/python/recorded/watched.hpp."""

        def phase_moments(self, block: bytes) -> list[tuple[int, bool, int, str]]:
            """Phases that begin or end in a block: (CLOCK_MONOTONIC, whether it begins, pid, name). Applies nothing."""

        def phases(self) -> dict[int, list[tuple[str, int, int, int]]]:
            """By process key: (name, began, ended or 0, thread number)."""

        def gap_peaks(self) -> list[tuple[int, tuple[int, ...], int, int, int]]:
            """What counters said of gaps: (process key, chips, pool, bytes, time_ns)."""

        def lost(self) -> list[int]: ...  # keys of processes of which is not known what they hold now
        def time_ns(self) -> int: ...
        def wall_offset_ns(self) -> int: ...
        def row_count(self) -> int: ...

    class Timeline:
        """A recording over time, between two moments (CLOCK_MONOTONIC), of at most so many points; `rows`: about how
        many it has. One ledger and one replay for each segment."""

        def __init__(self, from_ns: int, until_ns: int, points: int, rows: int) -> None: ...
        def begin_segment(self) -> None: ...
        def play(self, ledger: Ledger, replay: recording.Replay, block: bytes, horizon_ns: int = ...) -> bool:
            """A block of events or a keyframe; whether what follows is later than is asked for."""

        def end_segment(self, ledger: Ledger, at_ns: int) -> None:
            """That ledger ends, at a moment."""

        def series(self) -> list[tuple[int, str, int, int, int, int]]:
            """(chip, name of one without a unique id, pool, points, highest, when first); for the fullest core of
            a chip how many pools there are stands for the pool."""

        def processes(self) -> list[tuple[int, int, str, str]]:
            """(pid, started_ns, label, command)."""

        def tracks(self) -> list[tuple[int, int]]:
            """(process by its place, thread or 0)."""

        def phases(self) -> list[tuple[int, str, int, int]]:
            """(track by its place, name, began_ns, ended_ns or 0)."""

        def gaps(self) -> list[tuple[int, int, int]]:
            """(process by its place, began_ns, ended_ns)."""

        def counts(self) -> tuple[int, int, int, int, int, int]:
            """(points, length of slots or 0, launches shown, launches, changes of cores, looks at them)."""

        def counter_packets(self, series: int, first: int, most: int, track: int) -> bytes: ...
        def launch_packets(self, first: int, most: int, tracks: list[int]) -> bytes: ...

    class Lives:
        """A recording as lives and events, in columns of 64-bit words (native/src/recording/lives/columns.hpp). Blocks
        come in their order; one that is none is a ValueError."""

        def __init__(self, from_ns: int = 0, until_ns: int = ..., events: int = ..., wanted: int = 0) -> None: ...
        def begin_segment(self) -> None: ...
        def read_names(self, block: bytes) -> None: ...
        def apply(self, block: bytes) -> bool:
            """Whether `until_ns` was reached."""

        def finish(self) -> None:
            """Puts out what is alive."""

        def life_count(self) -> int: ...
        def event_count(self) -> int: ...
        def take_lives(self) -> tuple[bytes, ...]:
            """A column each, in the order of columns.hpp; then there are none."""

        def take_events(self) -> tuple[bytes, ...]: ...
        def texts(self, first: int = 0) -> list[str]: ...
        def chip_sets(self, first: int = 0) -> list[tuple[int, ...]]: ...
        def phases(self) -> list[tuple[Any, ...]]: ...
        def processes(self) -> list[tuple[Any, ...]]: ...
        def chips(self) -> list[tuple[int, int, str, str, int, int, int, int, int, tuple[int, ...]]]: ...
        def alive_count(self) -> int: ...
        def row_count(self) -> int: ...
        def wall_offset_ns(self) -> int: ...

    @staticmethod
    def on_core(ledger: Ledger, device: int, core: int) -> list[tuple[Any, ...]]:
        """What lies on core y * 256 + x of a device now, as described in native/python/recorded/watched.hpp."""

    @staticmethod
    def csv_rows(columns: list[tuple[bytes, int, Any]]) -> bytes:
        """Columns of 64-bit words as lines of CSV: (words, form, table); forms: 0 numbers, 1 nothing for 0, 2 places in
        a list of fields, 3 times since boot as times since 1970, by bytes of pairs (from when on, what to add),
        4 programs."""

    @staticmethod
    def wall_times(words: bytes, pairs: bytes) -> bytes:
        """Times since boot as times since 1970, as in `csv_rows`."""

    @staticmethod
    def scan(path: str) -> tuple[list[tuple[Any, ...]], str]:
        """All blocks up to the first that is not as it was written, and what is wrong there or "": (offset, size, kind,
        parts, codec, rows, first_ns, last_ns, wall_offset_ns, lost records, segment, number, balances as (chip, whether
        that is a unique id, pool, at the start, highest, whether that is a process's own counter of a gap))."""

    @staticmethod
    def payload(block: Any) -> bytes:
        """As it is stored; `restored`: the same block with its payload stored otherwise."""

    @staticmethod
    def restored(block: Any, stored: bytes, is_packed: bool) -> bytes: ...

def layout() -> dict[str, tuple[int, dict[str, tuple[int, int]]]]:
    """Every shared struct: name -> (size, field -> (offset, size))."""
