"""What a process belongs to, from the words of its cgroup and its environment."""

from pathlib import Path

import pytest

from tests.support.simulated.overviews import a_row
from ttmem.snapshot.workload import WorkloadIdentity
from ttmem.sources.procfs import Workloads, workload_in

UID = "2c48913c-b29f-11e7-9350-020968147796"
UNDERSCORED = UID.replace("-", "_")
ID = "4f5e7a" + "0" * 58
OTHER_ID = "9" * 64

SLURM_V1 = "8:memory:/slurm/uid_1000/job_71/step_0/task_1\n1:name=systemd:/system.slice/slurmd.service\n"
SLURM_V2 = "0::/system.slice/slurmstepd.scope/job_71/step_batch/user/task_0\n"
SLURM_V2_NAMED = "0::/system.slice/node3_slurmstepd.scope/job_71/step_extern\n"
CONTAINERD = (
    f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UNDERSCORED}.slice/cri-containerd-{ID}.scope\n"
)
GUARANTEED = f"0::/kubepods.slice/kubepods-pod{UNDERSCORED}.slice/crio-{ID}.scope\n"
CGROUPFS = f"11:devices:/kubepods/besteffort/pod{UID}/{ID}\n10:cpu:/kubepods/besteffort/pod{UID}/{ID}\n"
STATIC_POD = f"0::/kubepods/burstable/pod{'a' * 32}/{ID}\n"
COLONS = (
    f"1:name=systemd:/system.slice/containerd.service/kubepods-besteffort-pod{UNDERSCORED}.slice:cri-containerd:{ID}\n"
)
NESTED = f"0::/docker/{OTHER_ID}/kubelet/kubepods/pod{UID}/{ID}\n"
SEEN_FROM_A_POD = f"0::/../../kubepods-burstable-pod{UNDERSCORED}.slice/cri-containerd-{ID}.scope\n"
DOCKER = f"0::/system.slice/docker-{ID}.scope\n"
SERVICE = "0::/system.slice/inference@7.service\n"
RUN_SCOPE = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r12.scope\n"
SESSION = "0::/user.slice/user-1000.slice/session-3.scope\n"
BARE = "0::/\n"


def found(cgroup: str, tmp_path: Path, **environment: str) -> WorkloadIdentity:
    return workload_in(cgroup, environment, label="model.py", user="ada", pod_logs=tmp_path)


@pytest.mark.parametrize(
    ("cgroup", "workload_id", "named_by"),
    [
        pytest.param(SLURM_V1, "71.0", "slurm", id="slurm, cgroup v1"),
        pytest.param(SLURM_V2, "71.batch", "slurm", id="slurm, cgroup v2"),
        pytest.param(SLURM_V2_NAMED, "71.extern", "slurm", id="slurm, several daemons on a host"),
        pytest.param(CONTAINERD, f"{UID}/{ID}", "pod", id="kubernetes, systemd"),
        pytest.param(GUARANTEED, f"{UID}/{ID}", "pod", id="kubernetes, guaranteed"),
        pytest.param(CGROUPFS, f"{UID}/{ID}", "pod", id="kubernetes, cgroupfs v1"),
        pytest.param(STATIC_POD, f"{'a' * 32}/{ID}", "pod", id="a pod of the node itself"),
        pytest.param(COLONS, f"{UID}/{ID}", "pod", id="containerd's own form"),
        pytest.param(NESTED, f"{UID}/{ID}", "pod", id="a node that is a container"),
        pytest.param(SEEN_FROM_A_POD, f"{UID}/{ID}", "pod", id="seen from another pod"),
        pytest.param(DOCKER, "model.py (ada)", "user", id="a container is no workload by itself"),
        pytest.param(SERVICE, "inference@7.service", "unit", id="a service"),
        pytest.param(RUN_SCOPE, "run-r12.scope", "unit", id="systemd-run"),
        pytest.param(SESSION, "model.py (ada)", "user", id="a login is no workload"),
        pytest.param(BARE, "model.py (ada)", "user", id="no cgroup"),
        pytest.param("", "model.py (ada)", "user", id="cannot be read"),
        pytest.param("no colons\n::\n", "model.py (ada)", "user", id="nonsense"),
    ],
)
def test_a_cgroup_names_the_workload(cgroup: str, workload_id: str, named_by: str, tmp_path: Path) -> None:
    workload = found(cgroup, tmp_path)

    assert (workload.id, workload.named_by) == (workload_id, named_by)


def test_the_first_name_there_is_counts(tmp_path: Path) -> None:
    environment = {"TTMEM_WORKLOAD": "nightly", "SLURM_JOB_ID": "9", "SLURM_STEP_ID": "2", "TTMEM_LABEL": "run 5"}
    names = []
    for gone in ("", "TTMEM_WORKLOAD", "SLURM_JOB_ID", "TTMEM_LABEL"):
        environment.pop(gone, None)
        names.append(found(BARE, tmp_path, **environment).id)

    assert names == ["nightly", "9.2", "run 5", "model.py (ada)"]


def test_the_environment_adds_to_the_job_that_the_cgroup_names(tmp_path: Path) -> None:
    environment = {"SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "4", "SLURM_JOB_NAME": "llama"}

    workload = found(SLURM_V2, tmp_path, SLURM_JOB_ID="71", **environment)
    assert (workload.slurm_array_job, workload.slurm_array_task, workload.slurm_name) == ("70", "4", "llama")
    assert workload.id == "71.batch"


def test_an_environment_of_another_job_is_not_believed(tmp_path: Path) -> None:
    workload = found(SLURM_V1, tmp_path, SLURM_JOB_ID="5", SLURM_STEP_ID="3", SLURM_JOB_NAME="stolen")

    assert (workload.slurm_job, workload.slurm_step, workload.slurm_name) == ("71", "0", "")


def test_slurms_numbers_for_steps_are_words(tmp_path: Path) -> None:
    assert found(BARE, tmp_path, SLURM_JOB_ID="71", SLURM_STEP_ID="4294967291").id == "71.batch"


def test_the_node_names_its_pods(tmp_path: Path) -> None:
    (tmp_path / f"team-a_llama-0_{UID}").mkdir()

    workload = found(CONTAINERD, tmp_path, POD_NAMESPACE="another", POD_NAME="other")
    assert (workload.pod_namespace, workload.pod_name) == ("team-a", "llama-0")


def test_a_pod_may_name_itself(tmp_path: Path) -> None:
    workload = found(CONTAINERD, tmp_path / "none", POD_NAMESPACE="team-b", POD_NAME="llama-1")

    assert (workload.pod_namespace, workload.pod_name) == ("team-b", "llama-1")


def a_proc(root: Path, pid: int, *, cgroup: str, environ: bytes, start_ticks: int = 900) -> Path:
    folder = root / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup").write_text(cgroup)
    (folder / "environ").write_bytes(environ)
    (folder / "stat").write_text(f"{pid} (python) S 1 {' '.join(['0'] * 17)} {start_ticks} 0")
    return root


def test_a_process_is_remembered_when_it_has_ended(tmp_path: Path) -> None:
    proc = a_proc(tmp_path / "proc", 77, cgroup=BARE, environ=b"TTMEM_WORKLOAD=nightly\0X=1\0")
    workloads = Workloads(proc)
    process = a_row(pid=77, start_ticks=900)

    assert workloads.workload_of(process).id == "nightly"
    (proc / "77" / "environ").write_bytes(b"")
    ended = a_row(pid=77, start_ticks=900, state="ended")
    assert workloads.workload_of(ended).id == "nightly"


def test_another_process_of_that_pid_is_not_asked(tmp_path: Path) -> None:
    proc = a_proc(tmp_path / "proc", 77, cgroup=SLURM_V2, environ=b"", start_ticks=901)

    workload = Workloads(proc).workload_of(a_row(pid=77, start_ticks=900))
    assert workload.named_by == "user"


def test_a_name_that_is_no_text_is_cleaned(tmp_path: Path) -> None:
    proc = a_proc(tmp_path / "proc", 77, cgroup=BARE, environ=b"TTMEM_WORKLOAD=a\xff\xfeb\0")

    name = Workloads(proc).workload_of(a_row(pid=77, start_ticks=900)).id
    name.encode()
    assert (name[0], name[-1]) == ("a", "b")
