"""TT_METAL_KERNEL_BACKTRACE=1 under the hook: a line for each kernel that is loaded, as the Python client prints it."""

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.hooked.process import hook_path
from tests.support.processes.programs import tracked
from tests.support.stand_in.build import StandIn
from tests.support.stand_in.host import Host
from tests.support.stand_in.stories import ADD_KERNELS, an_add

HEAD = re.compile(
    r"\N{LEFT-POINTING MAGNIFYING GLASS} KERNEL_LOAD Backtrace \(Device (\d+), Type: (\w+), "
    r"Binary Size: ([\d.]+) KB, Cores: (\d+), Total L1: ([\d.]+) KB, ID: 0x([0-9a-f]+)\)"
)
FRAME = re.compile(r"  #\d+ \S.* \S+\+0x[0-9a-f]+")
SIZES = [sum((size + 15) // 16 * 16 for size in sizes) for sizes in ADD_KERNELS.values()]


def printed(stand_in: StandIn, journals: Path, *orders: str, switch: str = "") -> list[str]:
    with Host(stand_in, journals, TT_METAL_KERNEL_BACKTRACE=switch) as host:
        host.tell(*orders)
        status, _, words = host.leave()
    assert status == 0
    return words.splitlines()


def test_each_kernel_is_printed_once_with_its_figures_and_the_native_stack(stand_in: StandIn, journals: Path) -> None:
    lines = printed(stand_in, journals, "open 1 1 0", *an_add(7), "enqueue 1", "enqueue 1", switch="1")
    heads = [found.groups() for line in lines if (found := HEAD.fullmatch(line))]

    assert [(chip, kind) for chip, kind, *_ in heads] == [("0", "Application")] * 3
    assert sorted(float(size) * 1024 for _, _, size, *_ in heads) == pytest.approx(sorted(SIZES), rel=1e-4)  # %g
    assert all(
        float(size) * int(cores) == pytest.approx(float(total), rel=1e-4) for _, _, size, cores, total, _ in heads
    )
    assert [int(number, 16) >> 12 for *_, number in heads] == [7, 7, 7]
    frames = [line for line in lines if not HEAD.fullmatch(line)]
    assert [line for line in frames if not FRAME.fullmatch(line)] == []
    assert any("tt::tt_metal::detail::ProgramImpl::compile(" in line for line in frames)
    assert not any("libttmem_hook" in line for line in frames)


def test_a_kernel_of_the_runtime_is_printed_as_what_it_is(stand_in: StandIn, journals: Path) -> None:
    lines = printed(stand_in, journals, "create 1 1 0 1", "fabric 1", "initialize 1", switch="1")
    heads = [found.groups() for line in lines if (found := HEAD.fullmatch(line))]

    assert {kind for _, kind, *_ in heads} == {"Fabric"}
    assert sorted({chip for chip, *_ in heads}) == ["0", "1"]


def test_nothing_is_printed_unless_it_is_asked_for(stand_in: StandIn, journals: Path) -> None:
    story = ("open 1 1 0", *an_add(), "enqueue 1")

    assert printed(stand_in, journals, *story) == []
    assert printed(stand_in, journals, *story, switch="0") == []


def test_a_log_without_a_reader_does_not_hold_up_the_host(stand_in: StandIn, journals: Path) -> None:
    """Its stderr is a pipe that is full."""
    libraries = f"{stand_in.library()} {stand_in.operations()}"
    orders = (f"load first {libraries}", "open 1 1 0", *an_add(), "enqueue 1", "exit")
    reader, writer = os.pipe()
    fill(writer)

    ended = subprocess.run(
        [stand_in.driver],
        input="".join(f"{order}\n" for order in orders),
        stdout=subprocess.PIPE,
        stderr=writer,
        text=True,
        env=tracked(journals, LD_PRELOAD=str(hook_path()), TT_METAL_KERNEL_BACKTRACE="1"),
        timeout=60,
        check=False,
    )

    os.close(reader)
    os.close(writer)
    assert ended.returncode == 0
    assert ended.stdout.splitlines()[len(orders) - 1] == "launched"


def fill(pipe: int) -> None:
    """Writes until it takes no more."""
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        while os.write(pipe, b"x" * 4096):
            pass
    os.set_blocking(pipe, True)
