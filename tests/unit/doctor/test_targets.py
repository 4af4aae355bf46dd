"""Whether the hook can go along into a program, told from the program's files alone."""

import os
import platform
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.processes.compiled import GREETING, compiled
from ttmem.doctor.hook import preloading, unhooked
from ttmem.doctor.targets import obstacle_of

SELF = os.path.realpath(sys.executable)  # any library or program of this machine's kind will do in the hook's place
X86 = platform.machine() == "x86_64"


def reason(*command: str, **environ: str) -> str:
    obstacle = obstacle_of(command, {"PATH": os.environ["PATH"], **environ}, SELF)
    return obstacle.reason if obstacle else ""


def a_script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("targets") / "plain", GREETING)


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("targets") / "sanitized", GREETING, "-fsanitize=address")


def test_an_ordinary_program_takes_it_along(plain: Path) -> None:
    assert reason(str(plain)) == ""


@pytest.mark.parametrize("command", [["ls"], ["python3", "x.py"], ["sh", "-c", "true"], ["no-such-command"], ["/"]])
def test_what_is_found_by_name_or_not_at_all_is_no_obstacle(command: list[str]) -> None:
    assert reason(*command) == ""


def test_a_static_program_cannot_but_what_it_starts_can(tmp_path: Path) -> None:
    """One with a dynamic section of its own, which others of its kind have not; those are in the scenarios."""
    program = compiled(tmp_path / "static", GREETING, "-static-pie")
    obstacle = obstacle_of([str(program)], {}, SELF)

    assert obstacle is not None
    assert "statically linked" in obstacle.reason
    assert not obstacle.is_inherited


@pytest.mark.parametrize(("mode", "word"), [(0o4755, "setuid"), (0o2755, "setgid")])
def test_a_program_with_rights_of_its_own_cannot(plain: Path, tmp_path: Path, mode: int, word: str) -> None:
    program = shutil.copy(plain, tmp_path / "privileged")
    os.chmod(program, mode)

    assert word in reason(str(program))


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setcap"), reason="needs root and setcap")
def test_a_program_with_file_capabilities_cannot(plain: Path, tmp_path: Path) -> None:
    program = shutil.copy(plain, tmp_path / "capable")
    subprocess.run(["setcap", "cap_net_raw+ep", str(program)], check=True)

    assert "file capabilities" in reason(str(program))


def test_a_program_with_address_sanitizer_cannot_unless_it_was_set_not_to_mind(sanitized: Path) -> None:
    assert "AddressSanitizer" in reason(str(sanitized))
    assert "AddressSanitizer" in reason(str(sanitized), ASAN_OPTIONS="verify_asan_link_order=1")
    assert reason(str(sanitized), ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0") == ""


@pytest.mark.parametrize("line", ["#!{}\n", "#! {} --flag\n", "#!/usr/bin/env {}\n", "#!/usr/bin/env -S A=1 {} -x\n"])
def test_a_script_is_as_its_interpreter(sanitized: Path, tmp_path: Path, line: str) -> None:
    script = a_script(tmp_path / "script", line.format(sanitized))
    outer = a_script(tmp_path / "outer", f"#!{script}\n")

    assert "AddressSanitizer" in reason(script)
    assert "AddressSanitizer" in reason(outer)


def test_scripts_that_run_each_other_in_a_circle_are_left_to_the_kernel(tmp_path: Path) -> None:
    script = a_script(tmp_path / "circle", f"#!{tmp_path}/circle\n")

    assert reason(script) == ""


def test_a_script_found_on_the_path_is_followed_too(sanitized: Path, tmp_path: Path) -> None:
    a_script(tmp_path / "tool", f"#!{sanitized}\n")

    assert "AddressSanitizer" in reason("tool", PATH=f"/nowhere:{tmp_path}")


def with_loader(place: Path, program: Path, loader: bytes) -> str:
    """The same program, but for who loads it."""
    content = program.read_bytes()
    at = content.index(b"/lib64/ld-linux")
    path = place / "foreign"
    path.write_bytes(content[:at] + loader.ljust(27, b"\0") + content[at + 27 :])
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(not X86, reason="knows the loader of one machine only")
def test_a_program_of_another_c_library_cannot(plain: Path, tmp_path: Path) -> None:
    assert "ld-musl-x86_64.so.1" in reason(with_loader(tmp_path, plain, b"/lib/ld-musl-x86_64.so.1"))


@pytest.mark.skipif(not X86, reason="knows the loader of one machine only")
def test_a_loader_that_lies_elsewhere_is_still_the_same(plain: Path, tmp_path: Path) -> None:
    assert reason(with_loader(tmp_path, plain, b"/nix/ld-linux-x86-64.so.2")) == ""


def test_a_program_for_another_processor_cannot(plain: Path, tmp_path: Path) -> None:
    content = bytearray(plain.read_bytes())
    content[18:20] = struct.pack("<H", 243)  # e_machine: RISC-V
    path = tmp_path / "foreign"
    path.write_bytes(content)

    assert "another kind of processor" in reason(str(path))


@pytest.mark.parametrize("hook", ["/a place/hook.so", "/a:b/hook.so"])
def test_a_hook_whose_path_cannot_be_named_stays_behind(hook: str) -> None:
    obstacle = obstacle_of(["true"], {}, hook)

    assert obstacle is not None
    assert obstacle.program == hook


def test_a_hook_that_may_not_be_executed_stays_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_NOEXEC))

    assert "noexec" in reason("true")


def test_a_hook_that_is_no_library_goes_nowhere(tmp_path: Path) -> None:
    """Else the loader would complain in every program that is started."""
    hook = tmp_path / "hook.so"
    hook.write_bytes(b"no library")
    obstacle = obstacle_of(["true"], {"PATH": os.environ["PATH"]}, str(hook))

    assert obstacle is not None
    assert (obstacle.program, obstacle.is_inherited) == (str(hook), True)
    assert "no library" in obstacle.reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "/h.so"),
        ("/a.so", "/h.so:/a.so"),
        ("/a.so b.so", "/h.so:/a.so:b.so"),
        ("/a.so:/h.so:/b.so", "/h.so:/a.so:/b.so"),
    ],
)
def test_the_hook_comes_first_and_what_was_preloaded_stays(before: str, after: str) -> None:
    assert preloading({"LD_PRELOAD": before}, "/h.so")["LD_PRELOAD"] == after


def test_who_said_something_about_link_order_is_not_overruled() -> None:
    assert preloading({}, "/h.so")["ASAN_OPTIONS"] == "verify_asan_link_order=0"
    assert preloading({"ASAN_OPTIONS": "a=1"}, "/h.so")["ASAN_OPTIONS"] == "a=1:verify_asan_link_order=0"
    assert "ASAN_OPTIONS" not in preloading({"ASAN_OPTIONS": "verify_asan_link_order=1"}, "/h.so")


def test_an_environment_is_freed_of_the_hook_and_of_nothing_else() -> None:
    assert unhooked({"LD_PRELOAD": "/h.so", "A": "b"}, "/h.so") == {"A": "b"}
    assert unhooked({"LD_PRELOAD": "/a.so:/h.so b.so"}, "/h.so") == {"LD_PRELOAD": "/a.so:b.so"}
