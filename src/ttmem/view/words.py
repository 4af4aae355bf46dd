"""Sentences for what does not add up, and for why figures are not complete; what an allocation is, and who asked."""

from typing import TYPE_CHECKING

from ttmem.devices import BufferLayout
from ttmem.snapshot import Finding
from ttmem.view.units import pid_text, plural

if TYPE_CHECKING:
    from ttmem.snapshot.dump import DumpedAllocation

__all__ = [
    "FINDINGS",
    "REASONS",
    "finding_text",
    "no_lines_text",
    "pid_text",
    "plural",
    "process_text",
    "reason_text",
    "stack_text",
    "what_text",
]

_PACKAGES = "/site-packages/"

FINDINGS = {
    "unknown_free": "free of something that was never allocated",
    "double_free": "free of something already freed",
    "wrong_target_free": "free on another device than the allocation",
    "replaced": "allocation of an id that was still alive (its free was lost)",
    "clamped": "size beyond what any device has, cut",
    "shrunk_kernel": "kernel loaded again with a smaller size",
    "lock_lost": "process alive but its lock on the journal is gone (it closed all its descriptors)",
    "overlap": "address that two meshes over one chip both hold: they overwrite each other",
    "counter_mismatch": "counter that differs from the list of what is alive",
    "unsized_free": "free without a size while the table was full: counters are no longer exact",
    "names_lost": "name that found no room",
    "stacks_lost": "stack that found no room",
    "phases_lost": "phase that could not be kept",
    "targets_lost": "device or mesh beyond the 255 a process may open",
    "unknown_device": "buffer whose device is not known: it is missing from all figures",
    "undivided_l1": "device on which L1_SMALL cannot be told from L1: its bytes are counted as L1",
    "unjudged": "allocation, free or trace that was not compared: unsafe replays may be missing",
    "impossible_record": "record that no writer could have left (a damaged journal)",
    "free_size": "free that names another size than was allocated",
    "unknown_type": "buffer of a type nobody knows (kept in pool unknown)",
    "devices_lost": "device id beyond the 65,535 a process may name (kept under unknown)",
    "two_sources": "reports by journal and by socket: the journal's figures count, the socket's are shown apart",
    "runtime_misses": "the runtime's counter misses allocations of other threads: what was counted is shown",
    "runtime_exceeds": "the runtime's counter says more than was counted, which is shown",
    "region_ignored": "file of the runtime's counters passed over",
    "daemon_ignored": "daemon passed over",
    "socket_blocked": "socket of the daemon that something of another user, or a full disk, keeps it from",
    "directory_ignored": "directory passed over",
    "file_ignored": "file passed over",
    "damaged": "file that is no sound journal",
    "contradicted": "description of a chip that another opener, or the driver, contradicts",
    "over_capacity": "more in use than the chip has",
    "file_removed": "journal removed while its process lives: read through the descriptor of the process",
    "unverified": "journal of which no process is confirmed as the writer: listed under no pid, counted nowhere",
}

REASONS = {
    "outrun": "reports faster than they can be followed: totals are the process's own counters, the list lags",
    "targets_lost": "opened more than the 255 chips and meshes a journal has room for: what it holds on the others is "
    "counted under no chip",
    "table_full": "holds more than its table has room for: totals are right, the list is not whole (raise TTMEM_TABLE)",
    "damaged": "its journal is damaged: last figures that were read",
    "unknown_device": "has buffers whose device is not known: they are missing",
    "restored": "known from a daemon's checkpoint: what it did while no daemon ran is missing",
    "uncounted": "attached to the device, but the runtime's counters say nothing of it: what it holds is unknown",
    "read": "does not report: the runtime's counters tell its sums, not its allocations",
    "unplaced": "some did not say where they lie: what is free between them is not known",
    "undivided": "this release of the runtime does not tell L1_SMALL from L1: l1 is both together, l1_small is unknown",
    "settling": "is being read for the first time",
    "contradicted": "openers, or the driver, say different things of it: which are true is not known",
    "over_capacity": "more is reported than it has: what is free is not known",
    "unverified": "the kernel confirms no process as the writer of its journal: its figures are counted nowhere",
    "unknown": "cannot be followed",
}


def finding_text(finding: Finding) -> str:
    """One line for one finding, without the process it belongs to."""
    if finding.text:
        return finding.text
    words = FINDINGS.get(finding.name, finding.name.replace("_", " "))
    return words if finding.count == 1 else f"{finding.count:,} x {words}"


def reason_text(reason: str) -> str:
    return REASONS.get(reason, reason)


def process_text(pid: int, label: str) -> str:
    """What a line about a process begins with."""
    return f"pid {pid} {label}" if pid else f"unverified {label}"


def what_text(one: "DumpedAllocation") -> str:
    """What an allocation is: `1x1x32x14336 bfloat16, width sharded`; its kind where no tensor is known."""
    what = one.tensor.removesuffix(" tile") or one.kind.word.replace("_", " ")  # tiles are the rule
    return f"{what}, {one.layout.word.replace('_', ' ')}" if one.layout is not BufferLayout.UNKNOWN else what


def stack_text(stack: tuple[str, ...], most: int) -> str:
    """The innermost frames of the program itself, without directories: not of packages that it calls."""
    frames = [frame for frame in stack if _PACKAGES not in frame] or list(stack)
    places = (frame.partition(" ") for frame in frames[:most])
    return " < ".join(f"{place.rpartition('/')[2]}{blank}{function}" for place, blank, function in places)


def no_lines_text(reason: str) -> str:
    """Stands where lines would, if Python stacks cannot be read."""
    return f"no lines: {reason}, see ttmem doctor"
