"""What a process belongs to: a job, a pod, a unit, a named run."""

from typing import Literal

from ttmem.snapshot.values import Struct

__all__ = ["NamedBy", "WorkloadIdentity"]

NamedBy = Literal["workload", "slurm", "pod", "unit", "label", "user"]


class WorkloadIdentity(Struct, frozen=True, kw_only=True):
    """What the kernel and the environment say a process belongs to; empty is unknown.

    The kernel's word (its cgroup) goes before the environment's, which the program's user chooses.
    """

    id: str  # the first there is of those that `named_by` lists, in its order
    named_by: NamedBy  # TTMEM_WORKLOAD, Slurm's job.step, pod/container, systemd unit, TTMEM_LABEL; else label (user)
    slurm_job: str = ""
    slurm_step: str = ""  # 0, batch, extern, interactive
    slurm_array_job: str = ""
    slurm_array_task: str = ""
    slurm_name: str = ""  # of the job
    pod_uid: str = ""
    pod_namespace: str = ""
    pod_name: str = ""
    container_id: str = ""  # of Kubernetes, or another container runtime
    unit: str = ""  # of systemd
