"""The runtime does not notice: each of its functions is reached once for each call, with what the caller gave, and the
caller gets what it returned or threw."""

import subprocess
from pathlib import Path

import pytest

from tests.support.stand_in.build import CURRENT, FUTURE, NAMELESS, OLD, OLDEST, STRIPPED, StandIn, exports
from tests.support.stand_in.host import Host, calls, unequal
from tests.support.stand_in.stories import ALL_DRAM, CROWD, EVERYTHING, NEARLY_ALL_L1, an_add

RELEASES = (CURRENT, OLD, OLDEST, STRIPPED, FUTURE, NAMELESS)


def answers(host: Host) -> list[str]:
    return [host.tell(order) for order in EVERYTHING]


@pytest.mark.parametrize("release", RELEASES)
def test_whatever_the_runtime_does_comes_out_the_same(release: str, stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=release) as hooked, Host(stand_in, journals, is_hooked=False) as plain:
        said, expected = answers(hooked), answers(plain)
        tallies, plain_tallies = (host.tell("tallies") for host in (hooked, plain))

        assert said == expected
        assert unequal(tallies) == []
        assert calls(tallies) == calls(plain_tallies)
        assert hooked.leave() == plain.leave() == (0, [], "")


def test_threads_that_do_everything_at_once_are_shown_without_a_slip(host: Host) -> None:
    host.tell(*CROWD)
    look = host.look()

    assert unequal(host.tell("tallies")) == []
    assert look.findings == {}
    assert {told.program for told in look.alive} == {1, 2}


def test_the_story_reaches_every_function_that_is_replaced(host: Host) -> None:
    answers(host)

    assert set(calls(host.tell("tallies"))) >= {
        "from_path",
        "add_kernel",
        "program_kernel_compile_finished",
        "track_allocate_cb",
        "mark_address",
        "set_global_buffer",
        "set_global_circular_buffer",
        "reserve",
        "ring_free",
        "mark_completely_full",
        "impl_replay_mesh_trace",
        "configure_fabric",
        "allocate_buffer",
    }


def test_the_judge_sees_a_call_that_is_changed_or_made_twice(stand_in: StandIn, journals: Path, tmp_path: Path) -> None:
    """Otherwise these tests could not fail: a library in between that meddles is found out."""
    name = next(export.name for export in exports() if "12GraphTracker14track_allocateE" in export.name)
    source, meddler = tmp_path / "meddler.c", tmp_path / "meddler.so"
    source.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n"
        f'void meddled(void* self, void* buffer) __asm__("{name}");\n'
        "void meddled(void* self, void* buffer) {\n"
        f'    void* library = dlopen("{stand_in.library()}", RTLD_NOW | RTLD_NOLOAD);\n'
        f'    void (*real)(void*, void*) = (void (*)(void*, void*))dlsym(library, "{name}");\n'
        "    real(self, buffer);\n    real(self, buffer);\n}\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(meddler), str(source)], check=True)
    with Host(stand_in, journals, is_hooked=False, preloaded=[meddler]) as host:
        host.tell("open 1 1 0", "buffer 2 1 DRAM 4096 2048")

        assert unequal(host.tell("tallies")) == ["track_allocate 2 UNEQUAL"]


CLASH = "Statically allocated circular buffers in program 1 clash with L1 buffers on core range [0-0 - 7-7]. "


@pytest.mark.parametrize("thread", ["", "on 3 "])
def test_a_clash_passes_through_every_hook_it_crosses(thread: str, host: Host) -> None:
    """The exception leaves a check inside a launch, on the first thread or another."""
    host.tell("open 1 1 0", *an_add(), f"buffer 2 1 L1 {NEARLY_ALL_L1} 2048")
    thrown = host.tell(f"{thread}enqueue 1")
    tallies = host.tell("tallies")

    assert thrown.startswith(f"throws {CLASH}")
    assert unequal(tallies) == []
    assert host.tell("free 2", f"{thread}enqueue 1") == "launched"


def test_an_exception_while_binaries_are_loaded_passes_too(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), f"buffer 2 1 DRAM {ALL_DRAM} 2048")
    thrown = host.tell("enqueue 1")
    host.tell("free 2", "buffer 8 1 DRAM 4096 2048")
    after = host.look()
    again = host.tell("enqueue 1")

    assert thrown.startswith("throws Out of Memory: Not enough space to allocate 12288 B DRAM buffer")
    assert [told.id for told in after.buffers] == [8]  # no binary of that program
    assert again == "launched"
    assert unequal(host.tell("tallies")) == []
    assert host.look().findings == {}
