"""Which operation a program belongs to: by the function that launches it, else by the source of its kernels."""

from pathlib import Path

from tests.support.hooked.operations import operations
from tests.support.journals.watching import Watch
from tests.support.stand_in.build import STATUSLESS, StandIn
from tests.support.stand_in.host import CHIP, Host
from tests.support.stand_in.stories import NEARLY_ALL_L1, a_matmul, an_add
from ttmem.devices import Kind

FAKE, OTHER = "FakeDeviceOperation", "OtherDeviceOperation"


def test_a_program_is_named_by_the_function_that_launches_it(host: Host, journals: Path) -> None:
    host.tell("open 1 1 0", *an_add(1), *a_matmul(3), "enqueue 1", "enqueue 2 blocking", "enqueue 1", "enqueue 2")

    assert operations(journals, host.pid) == {1: FAKE, 3: OTHER}
    assert host.look().findings == {}


def test_programs_on_parts_of_a_mesh_are_named_together(host: Host, journals: Path) -> None:
    parts = [order.replace("workload 1 1 12288 6 1", "workload 1 1 12288 6 1@0,0-0,0 2@0,1-0,1") for order in an_add(1)]
    host.tell("open 1 1 0 1", *an_add(2)[:-1], *parts, "enqueue 1")

    assert operations(journals, host.pid) == {1: FAKE, 2: FAKE}


def test_a_launch_by_a_function_of_no_operation_is_named_by_its_kernels(stand_in: StandIn, journals: Path) -> None:
    """Nothing but the runtime itself is loaded."""
    with Host(stand_in, journals, release=STATUSLESS) as host:
        host.tell("open 1 1 0", *an_add(1), *a_matmul(3), "enqueue 1", "enqueue 2")

        assert operations(journals, host.pid) == {1: "eltwise/binary_ng (by its kernels)", 3: "matmul (by its kernels)"}


def test_kernels_that_many_operations_use_say_less_than_others(stand_in: StandIn, journals: Path) -> None:
    shared, own = (
        "ttnn/cpp/ttnn/operations/eltwise/unary/device/x.cpp",
        "ttnn/cpp/ttnn/operations/reduction/device/y.cpp",
    )
    with Host(stand_in, journals, release=STATUSLESS) as host:
        kernels = [f"kernel 1 data {path} 0,0-1,1 44" for path in (shared, own, shared)]
        host.tell("open 1 1 0", "program 1", *kernels, "workload 1 1 2048 6 1", "enqueue 1")
        host.tell("program 3", kernels[0].replace("kernel 1", "kernel 3"), "workload 2 1 2048 8 3", "enqueue 2")

        assert operations(journals, host.pid) == {1: "reduction (by its kernels)", 3: "eltwise/unary (by its kernels)"}


def test_a_program_is_named_again_when_tracking_was_off_meanwhile(host: Host, journals: Path) -> None:
    host.tell("open 1 1 0", *an_add(1), "enqueue 1", "tracking off")
    off = operations(journals, host.pid)
    host.tell("tracking on", "enqueue 1", "enqueue 1", "enqueue 1")

    assert off == {}
    assert operations(journals, host.pid) == {1: FAKE}


def test_a_clash_at_a_first_launch_knows_its_operation(host: Host) -> None:
    host.tell("open 1 1 0", f"buffer 2 1 L1 {NEARLY_ALL_L1} 2048", *an_add(1))
    thrown = host.tell("enqueue 1")
    [incident] = host.look().process["incidents"]

    assert "clash with L1 buffers" in thrown
    assert (incident["program"], incident["operation"]) == (1, FAKE)


def test_programs_kernels_and_circular_buffers_show_the_operation(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(1), *a_matmul(3), "enqueue 1", "enqueue 2 blocking")
    look = host.look()

    assert look.operations(CHIP) == {1: FAKE, 3: "ttnn.other"}  # as users call it, where that is known
    told = {(told.program, told.operation) for told in look.of(Kind.KERNEL_APPLICATION, Kind.CIRCULAR_BUFFER)}
    assert told == {(1, FAKE), (3, "ttnn.other")}


def test_the_table_of_kernels_shows_the_operation(host: Host, watch: Watch) -> None:
    host.tell("open 1 1 0", *an_add(1), "enqueue 1")
    [device] = [row["number"] for row in watch.rows()["devices"]]

    assert {row[-1] for row in watch.collector.ledger.kernels(device, 0)[1]} == {FAKE}


def test_the_inspector_confirms_an_operation(host: Host, journals: Path) -> None:
    host.tell("open 1 1 0", *an_add(1), f"inspector {FAKE}", "enqueue 1", "enqueue 1")

    assert operations(journals, host.pid) == {1: FAKE}
    assert host.look().findings == {}


def test_where_the_inspector_says_otherwise_the_operation_is_marked(host: Host, journals: Path) -> None:
    orders = (f"inspector ttnn::prim::{FAKE}", "enqueue 1", "inspector SoftmaxDeviceOperation", "enqueue 2")
    host.tell("open 1 1 0", *an_add(1), *a_matmul(3), *orders)

    assert operations(journals, host.pid) == {1: FAKE, 3: f"{FAKE} (Inspector: SoftmaxDeviceOperation)"}


def test_the_inspector_names_what_no_function_does(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=STATUSLESS) as host:
        host.tell("open 1 1 0", *an_add(1), *a_matmul(3), "inspector SoftmaxDeviceOperation", "enqueue 1")
        host.tell("inspector off", "enqueue 2")  # what was said of another launch is not said of this one

        assert operations(journals, host.pid) == {1: "SoftmaxDeviceOperation", 3: "matmul (by its kernels)"}
