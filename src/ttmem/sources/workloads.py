"""Which job, pod or unit a process belongs to, as its cgroup and its environment say.

The cgroup is asked first: the kernel keeps it and a program cannot choose it. A process's environment may be read by
its own user and root only; what it says of a Slurm job counts where the cgroup names none, or the same one.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ttmem.snapshot.usage import ProcessUsage
from ttmem.snapshot.values import clean
from ttmem.snapshot.workload import NamedBy, WorkloadIdentity
from ttmem.sources.procfs import PROC, Folder, environment_of, stat_of

__all__ = ["POD_LOGS", "WorkloadOf", "Workloads", "no_workload", "workload_in"]

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
