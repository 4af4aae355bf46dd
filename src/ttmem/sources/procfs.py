"""What the kernel says about processes and their host: when they started, whose children they are, which job, pod or
unit they belong to, what users and machines are called.

Of a workload the cgroup is asked first: the kernel keeps it and a program cannot choose it. A process's environment may
be read by its own user and root only; what it says of a Slurm job counts where the cgroup names none, or the same one.

Paths are plain texts here and in `directories`: `pathlib` takes longer to load than all of these files to read.
"""

import os
import pwd
import re
import sys
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

import ttmem
from ttmem.snapshot import Host
from ttmem.snapshot.usage import ProcessUsage
from ttmem.snapshot.values import clean
from ttmem.snapshot.workload import NamedBy, WorkloadIdentity

Folder = str | os.PathLike[str]
PROC = "/proc"
_FIRST_PID_NAMESPACE = 0xEFFFFFFC  # its number is the same on every machine
_LOCKS_MOST_BYTES = 4 << 20  # some 60,000 locks


class Stat(NamedTuple):
    """The part of /proc/<pid>/stat that identifies a process, and what it takes of the host."""

    parent: int
    start_ticks: int
    state: str = ""  # R, S, D, T, Z, ...
    cpu_ticks: int = 0  # of processor time, its own and the kernel's for it
    resident_pages: int = 0

    @property
    def is_over(self) -> bool:
        """Ended, and at most not yet waited for: it holds nothing any more."""
        return self.state in ("Z", "X", "x")


def bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def stat_of(pid: int, proc: Folder = PROC) -> Stat | None:
    """None if there is no such process (any more)."""
    try:
        text = bytes_of(f"{proc}/{pid}/stat")
    except OSError:
        return None
    fields = text[text.rfind(b")") + 2 :].split()  # the command before may hold blanks and brackets
    if len(fields) <= 19:
        return None
    return Stat(
        parent=int(fields[1]),
        start_ticks=int(fields[19]),
        state=fields[0].decode(errors="replace"),
        cpu_ticks=int(fields[11]) + int(fields[12]),
        resident_pages=int(fields[21]) if len(fields) > 21 else 0,
    )


def is_descendant(pid: int, ancestor: int, proc: Folder = PROC) -> bool:
    """Whether a living process is the ancestor itself, its child, or a child's child."""
    for _ in range(1024):  # a tree that changes while it is climbed must not hold us
        if pid == ancestor:
            return True
        stat = stat_of(pid, proc)
        if stat is None or stat.parent <= 0:
            return False
        pid = stat.parent
    return False


def environment_of(pid: int, proc: Folder = PROC) -> set[str] | None:
    """The NAME=VALUE texts a process was started with; empty once it is ending, None if they may not be read."""
    try:
        text = bytes_of(f"{proc}/{pid}/environ")
    except PermissionError:
        return None
    except OSError:
        return set()
    return set(text.decode(errors="replace").split("\0")) - {""}


def own_pid_namespace(proc: Folder = PROC) -> int | None:
    """The number that names our pid namespace."""
    try:
        return os.stat(f"{proc}/self/ns/pid").st_ino
    except OSError:
        return None


def sees_all_locks(proc: Folder = PROC) -> bool:
    """Whether `locked_inodes` lists all processes: a container sees no locks of processes outside."""
    return own_pid_namespace(proc) == _FIRST_PID_NAMESPACE


def locked_inodes(proc: Folder = PROC) -> frozenset[int]:
    """Inodes of files that a process holds a record lock on, whichever file system they are on."""
    found: set[int] = set()
    try:
        with open(f"{proc}/locks", "rb") as file:
            text = file.read(_LOCKS_MOST_BYTES)  # its cost grows with the square of its length
    except OSError:
        return frozenset()
    for line in text.splitlines():
        fields = line.split()  # 7: POSIX ADVISORY WRITE 4711 00:1b:15002 0 EOF
        if len(fields) == 8 and fields[1] == b"POSIX":
            found.add(int(fields[5].rpartition(b":")[2]))
    return frozenset(found)


def start_time_ns(stat: Stat, clock_ns: Callable[[], int] = time.time_ns) -> int:
    """When a process began, in nanoseconds since 1970; right to a hundredth of a second."""
    up_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return clock_ns() - up_ns + stat.start_ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def command_of(pid: int, proc: Folder = PROC, most_bytes: int = 255) -> str:
    """Its command line, cut where journals cut it; empty if it may not be read, or is a kernel's."""
    try:
        text = bytes_of(f"{proc}/{pid}/cmdline")
    except OSError:
        return ""
    return text.rstrip(b"\0").replace(b"\0", b" ")[:most_bytes].decode(errors="replace")


class Uids(NamedTuple):
    """The user ids of a process."""

    real: int
    effective: int
    saved: int


def uids_of(pid: int, proc: Folder = PROC) -> Uids | None:
    """None if there is no such process (any more), or it may not be seen."""
    try:
        lines = bytes_of(f"{proc}/{pid}/status").splitlines()
    except OSError:
        return None
    found = next((line.split() for line in lines if line.startswith(b"Uid:")), [])
    return Uids(*map(int, found[1:4])) if len(found) > 3 else None


def pid_namespace_of(pid: int, proc: Folder = PROC) -> int | None:
    """The number that names its pid namespace; None if that may not be seen."""
    try:
        return os.stat(f"{proc}/{pid}/ns/pid").st_ino
    except OSError:
        return None


def innermost_pid(pid: int, proc: Folder = PROC) -> int:
    """The pid by which a process knows itself."""
    try:
        lines = bytes_of(f"{proc}/{pid}/status").splitlines()
    except OSError:
        return pid
    found = [line.split() for line in lines if line.startswith(b"NSpid:")]
    return int(found[0][-1]) if found and len(found[0]) > 1 else pid


def maps_of(pid: int, proc: Folder = PROC) -> bytes | None:
    """What a process has mapped, as text; None if that may not be seen, empty once it is gone."""
    try:
        return bytes_of(f"{proc}/{pid}/maps")
    except PermissionError:
        return None
    except OSError:
        return b""


_PAGE_BYTES, _PAGES = "SC_PAGE_SIZE", "SC_PHYS_PAGES"
_RELEASE, _DRIVER = "/etc/os-release", "/sys/module/tenstorrent/version"


def chip_directory(environ: Mapping[str, str]) -> str:
    """Where the kernel's driver lists its chips; it is there only with that driver."""
    return os.path.join(environ.get("TTMEM_SYSFS_ROOT") or "/", "sys/class/tenstorrent")


def read_host() -> Host:
    """What a snapshot says about the machine it was taken on."""
    system = os.uname()
    return Host(
        hostname=clean(system.nodename),
        os=system.sysname,
        distro=_distro(),
        kernel=system.release,
        platform=system.machine,
        python=".".join(map(str, sys.version_info[:3])),
        memory=f"{os.sysconf(_PAGE_BYTES) * os.sysconf(_PAGES) / (1 << 30):.2f} GB",  # tt-smi's word for GiB
        driver=_driver(),
        version=ttmem.__version__,
    )


@lru_cache(maxsize=1024)  # DESIGN 12, "full snapshot": a user is asked for once, not for every process
def user_name(uid: int) -> str:
    """The user's name, or the number where it has none here."""
    try:
        return clean(pwd.getpwuid(uid).pw_name)
    except (KeyError, OverflowError):
        return str(uid)


def _distro() -> str:
    lines = _text_of(_RELEASE).splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("PRETTY_NAME", "").strip("\"'")


def _driver() -> str:
    version = _text_of(_DRIVER).strip()
    return f"TT-KMD {version}" if version else ""


def _text_of(path: str) -> str:
    """Empty if there is no such file here."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


POD_LOGS = "/var/log/pods"  # where the node keeps logs of pods, as NAMESPACE_NAME_UID
_LONGEST = 255

# Slurm: /slurm/uid_1000/job_7/step_0/task_1 (v1), /system.slice/slurmstepd.scope/job_7/step_batch/user/task_0 (v2).
_SLURM = re.compile(r"slurm.*?/job_(\w+)(?:/step_(\w+))?")
_STEPS = {"4294967290": "interactive", "4294967291": "batch", "4294967292": "extern"}  # Slurm's numbers for them
# /kubepods/burstable/podUID/ID (cgroupfs), /kubepods.slice/kubepods-podUID.slice/cri-containerd-ID.scope (systemd,
# where the dashes of a uid are underscores); pods of the node itself have a uid without any.
_POD = re.compile(r"\bpod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?=[./]|$)")
_CONTAINER = re.compile(r"(?:^|[/:-])([0-9a-f]{64})(?=[./]|$)")
_NO_UNIT = re.compile(r"user@\d+\.service$|session-.*\.scope$|init\.scope$|.*slurmstepd\.scope$")

WorkloadOf = Callable[[ProcessUsage], WorkloadIdentity | None]


def no_workload(process: ProcessUsage) -> WorkloadIdentity | None:
    """Where the kernel is not asked what a process belongs to."""
    return None


class _Cgroup(NamedTuple):
    """What the paths of a process's cgroups say."""

    slurm_job: str = ""
    slurm_step: str = ""
    pod_uid: str = ""
    container_id: str = ""
    unit: str = ""


def _cgroup_in(text: str) -> _Cgroup:
    """From the lines of /proc/PID/cgroup; those of v1 name a controller each and may differ, so the first that says
    something counts."""
    paths = [line.split(":", 2)[2] for line in text.splitlines() if line.count(":") >= 2]
    slurm = next(filter(None, map(_SLURM.search, paths)), None)
    pod = next(filter(None, map(_POD.search, paths)), None)
    containers = [found for path in paths if (found := _CONTAINER.findall(path))]
    return _Cgroup(
        slurm_job=slurm[1] if slurm else "",
        slurm_step=(slurm[2] or "") if slurm else "",
        pod_uid=pod[1].replace("_", "-") if pod else "",
        container_id=containers[0][-1] if containers else "",  # the innermost
        unit=next(filter(None, map(_unit_in, paths)), ""),
    )


def _unit_in(path: str) -> str:
    """The innermost unit, but for sessions of users and scopes of containers: those are no workloads."""
    units = [part for part in path.split("/") if part.endswith((".service", ".scope"))]
    named = [unit for unit in units if not _NO_UNIT.match(unit) and not _CONTAINER.search(unit)]
    return clean(named[-1])[:_LONGEST] if named else ""


def workload_in(
    cgroup: str, environment: Mapping[str, str], *, label: str, user: str, pod_logs: Folder = POD_LOGS
) -> WorkloadIdentity:
    """The workload that these name; `label` and `user` where nothing else does."""
    kernel = _cgroup_in(cgroup)
    own = {name: clean(value)[:_LONGEST] for name, value in environment.items()}
    job = own.get("SLURM_JOB_ID", "")
    is_of_job = bool(job) and kernel.slurm_job in ("", job)
    slurm = own if is_of_job else {}
    slurm_job = kernel.slurm_job or job
    step = slurm.get("SLURM_STEP_ID", "")
    slurm_step = kernel.slurm_step or _STEPS.get(step, step)
    namespace, name = _pod_name(kernel.pod_uid, own, pod_logs) if kernel.pod_uid else ("", "")
    named: dict[NamedBy, str] = {
        "workload": own.get("TTMEM_WORKLOAD", ""),
        "slurm": ".".join(filter(None, (slurm_job, slurm_step))),
        "pod": "/".join(filter(None, (kernel.pod_uid, kernel.container_id))) if kernel.pod_uid else "",
        "unit": kernel.unit,
        "label": own.get("TTMEM_LABEL", ""),
        "user": f"{label} ({user})",
    }
    named_by = next(by for by, text in named.items() if text)
    return WorkloadIdentity(
        id=named[named_by],
        named_by=named_by,
        slurm_job=slurm_job,
        slurm_step=slurm_step,
        slurm_array_job=slurm.get("SLURM_ARRAY_JOB_ID", ""),
        slurm_array_task=slurm.get("SLURM_ARRAY_TASK_ID", ""),
        slurm_name=slurm.get("SLURM_JOB_NAME", ""),
        pod_uid=kernel.pod_uid,
        pod_namespace=namespace,
        pod_name=name,
        container_id=kernel.container_id,
        unit=kernel.unit,
    )


def _pod_name(uid: str, environment: Mapping[str, str], pod_logs: Folder) -> tuple[str, str]:
    """Namespace and name of a pod: as the node's directories of logs say, else as its environment does by custom."""
    try:
        found = next((entry for entry in os.listdir(pod_logs) if entry.endswith(f"_{uid}")), "")
    except OSError:
        found = ""
    parts = clean(found).split("_")  # neither of them may contain a _
    if len(parts) == 3:
        return parts[0], parts[1]
    return environment.get("POD_NAMESPACE", ""), environment.get("POD_NAME", "")


class Workloads:
    """Remembers what processes belong to, also when they have ended. Any thread may ask.

    A process is looked at once, which is why this is a cache: DESIGN 12, "full snapshot, 16 x 32 <= 3 ms".
    """

    _MOST = 4096

    def __init__(self, proc: Folder = PROC, *, pod_logs: Folder = POD_LOGS) -> None:
        self._proc, self._pod_logs = proc, pod_logs
        self._known: dict[tuple[int, int, int | None, str], WorkloadIdentity] = {}

    def workload_of(self, process: ProcessUsage) -> WorkloadIdentity:
        """The workload of a process; by its label and user where the kernel says nothing (any more)."""
        name = process.key, process.pid, process.start_time_ns, process.label
        known = self._known.get(name)
        if known is not None:
            return known
        is_here = process.is_live and process.is_visible
        cgroup, environment = self._read(process) if is_here else ("", {})
        found = workload_in(cgroup, environment, label=process.label, user=process.user, pod_logs=self._pod_logs)
        if cgroup or not is_here:
            if len(self._known) >= self._MOST:
                self._known = dict(list(self._known.items())[self._MOST // 2 :])
            self._known[name] = found
        return found

    def _read(self, process: ProcessUsage) -> tuple[str, dict[str, str]]:
        """Its cgroup and its environment, if they are those of the very process."""
        try:
            with open(f"{self._proc}/{process.pid}/cgroup", encoding="utf-8", errors="replace") as file:
                cgroup = file.read()
        except OSError:
            return "", {}
        pairs = (text.partition("=") for text in environment_of(process.pid, self._proc) or ())
        environment = {name: value for name, _, value in pairs}
        stat = stat_of(process.pid, self._proc)
        is_same = stat is not None and process.start_ticks in (None, stat.start_ticks)
        return (cgroup, environment) if is_same else ("", {})
