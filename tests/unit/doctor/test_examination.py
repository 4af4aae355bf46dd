"""What a doctor says about runtimes of every kind: whole, older, stripped, doubled, broken, absent."""

import os
import sys
from pathlib import Path

import pytest

from tests.support.processes.compiled import compiled
from tests.support.stand_in.stand_in_runtime import a_runtime, entries
from ttmem.doctor.checks import Status
from ttmem.doctor.examination import DoctorReport, examine
from ttmem.doctor.features import FEATURES
from ttmem.doctor.hook import hook_path
from ttmem.doctor.interpreter import likely_pythons

OTHER_SPELLINGS = {"old_stats_provider_made", "buffer_is_trace", "source_made"}


def examined(place: Path, **settings: str) -> DoctorReport:
    """An examination that sees nothing of this machine but the kernel."""
    asked = {name: settings.pop(name) for name in ("python", "library") if name in settings}
    journals, regions = place / "journals", place / "regions"
    journals.mkdir(mode=0o700, exist_ok=True)
    regions.mkdir(exist_ok=True)
    places = {"TTMEM_DIR": str(journals), "TTMEM_STOCK_SHM_DIR": str(regions), "TTMEM_SYSTEM_DIR": str(place)}
    hook = {"TTMEM_HOOK": os.environ["TTMEM_HOOK"]} if "TTMEM_HOOK" in os.environ else {}
    environ = {"PATH": os.environ["PATH"], **places, **hook, **settings}
    return examine(environ, uid=os.geteuid(), **asked)


def said(report: DoctorReport, status: Status) -> dict[str, str]:
    return {check.topic: check.text for check in report.checks if check.status is status}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_runtime(tmp_path_factory.mktemp("whole"))


def test_every_entry_of_the_hook_belongs_to_a_feature_and_every_need_is_an_entry() -> None:
    needed = {name for feature in FEATURES for need in (*feature.needs, *feature.details) for name in need.names}

    assert needed == {entry.name for entry in entries() if entry.kind != "offset"}


def test_of_a_whole_runtime_everything_can_be_shown(tmp_path: Path, whole: Path) -> None:
    report = examined(tmp_path, library=str(whole))

    assert said(report, Status.WARN) | said(report, Status.FAIL) == {}
    assert {what.level for what in report.shown} == {"full"}
    assert report.status is Status.PASS


def test_what_a_release_spells_otherwise_is_not_missing(tmp_path: Path) -> None:
    library = a_runtime(tmp_path / "lib", without=OTHER_SPELLINGS)

    report = examined(tmp_path, library=str(library))

    assert report.status is Status.PASS
    assert {presence.entry.name for presence in report.presences if not presence.is_there} == OTHER_SPELLINGS
    assert {presence.finding for presence in report.presences} == {"found", "used", "not needed"}


def test_an_older_release_shows_less_and_that_is_a_warning(tmp_path: Path) -> None:
    buffers = {"buffer_id", "buffer_size", "buffer_type", "buffer_layout", "buffer_device"}
    without = buffers | {"set_global_buffer", "assign_global_address"}
    library = a_runtime(tmp_path / "lib", without=without, uncalled={"replay_trace"})

    report = examined(tmp_path, library=str(library))

    warnings = said(report, Status.WARN)
    assert report.status is Status.WARN
    assert "ids of buffers" in warnings["buffers"]
    assert "circular buffers that move with a tensor" in warnings["circular buffers"]
    assert "none, this release lacks replay_trace" in warnings["traces"]
    assert "set_global_buffer (missing)" in warnings["hooks"]
    assert "replay_trace (not called)" in warnings["hooks"]


def test_a_release_that_shows_nothing_of_buffers_is_a_failure(tmp_path: Path) -> None:
    library = a_runtime(tmp_path / "lib", without={"track_allocate"})

    assert "lacks track_allocate" in said(examined(tmp_path, library=str(library)), Status.FAIL)["buffers"]


def test_a_library_without_symbols_is_a_failure_that_says_so(tmp_path: Path) -> None:
    library = a_runtime(tmp_path / "lib", is_hidden=True)

    assert "exports nothing" in said(examined(tmp_path, library=str(library)), Status.FAIL)["runtime"]


def test_a_library_that_binds_its_calls_itself_is_a_failure(tmp_path: Path) -> None:
    library = a_runtime(tmp_path / "lib", "-Wl,-Bsymbolic")

    report = examined(tmp_path, library=str(library))

    assert "0 of " in said(report, Status.FAIL)["hooks"]
    hooks = {presence.entry.name: presence.finding for presence in report.presences if presence.entry.kind == "hook"}
    assert hooks.pop("set_binaries") == "not needed"  # sizes can be asked for
    assert set(hooks.values()) == {"not called"}


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "No such file"), (b"", "expected"), (b"\x7fELF\x02\x01" + bytes(58), "exports nothing")],
)
def test_a_library_that_is_none_is_a_failure(tmp_path: Path, content: bytes | None, words: str) -> None:
    library = tmp_path / "libtt_metal.so"
    if content is not None:
        library.write_bytes(content)

    assert words in said(examined(tmp_path, library=str(library)), Status.FAIL)["runtime"]


def a_python(place: Path, answer: str, code: int = 0) -> str:
    """Something that answers as a Python would."""
    path = place / "python"
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\nexit {code}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("answer", "words"),
    [('[null, ""]', "no ttnn in "), ("", "found exit code"), ('[["/nowhere"], ""]', "libtt_metal")],
)
def test_a_python_without_a_runtime_is_a_failure(tmp_path: Path, answer: str, words: str) -> None:
    report = examined(tmp_path, python=a_python(tmp_path, answer))

    assert words in said(report, Status.FAIL)["runtime"]
    [advice] = [check.next_step for check in report.checks if check.topic == "runtime"]
    assert (" -m pip install ttnn, or " in advice) is words.startswith("no ttnn")


def test_the_active_environment_is_asked_first_then_the_path_then_our_own(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)

    assert likely_pythons({"PATH": f"{tmp_path}/bin"}) == [f"{tmp_path}/bin/python", sys.executable]
    assert likely_pythons({"PATH": "", "VIRTUAL_ENV": str(tmp_path)}) == [f"{tmp_path}/bin/python", sys.executable]
    assert likely_pythons({"PATH": "/nowhere"}) == [sys.executable]


def test_a_python_that_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    assert "No such file" in said(examined(tmp_path, python=str(tmp_path / "none")), Status.FAIL)["runtime"]


def test_what_is_no_python_is_shown_in_a_line_without_our_question(tmp_path: Path) -> None:
    words = said(examined(tmp_path, python="/bin/ls"), Status.FAIL)["runtime"]

    assert words.startswith("/bin/ls: expected a Python that answers, found exit code 2")
    assert len(words) < 200


def test_a_python_that_never_answers_is_shown_with_how_long_it_was_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ttmem.doctor.interpreter._ANSWER_SECONDS", 0.05)
    sleeper = tmp_path / "python"
    sleeper.write_text("#!/bin/sh\nexec sleep 60\n")
    sleeper.chmod(0o755)

    words = said(examined(tmp_path, python=str(sleeper)), Status.FAIL)["runtime"]

    assert words == f"{sleeper}: expected a Python that answers, found none within 0.05 s"


def test_a_release_that_was_never_tried_is_a_warning(tmp_path: Path, whole: Path) -> None:
    (tmp_path / "ttnn/build/lib").mkdir(parents=True)
    (tmp_path / "ttnn/build/lib/libtt_metal.so").symlink_to(whole)

    report = examined(tmp_path, python=a_python(tmp_path, f'[["{tmp_path}/ttnn"], "0.99.0"]'))

    assert "ttnn 0.99.0" in said(report, Status.WARN)["runtime"]


def test_an_installed_package_is_found_and_not_imported(tmp_path: Path, whole: Path) -> None:
    """As in a wheel: the extension finds the runtime by the path that stands in it."""
    package = tmp_path / "site" / "ttnn"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "deep" / "libtt_metal.so").write_bytes(whole.read_bytes())
    compiled(package / "_ttnn.so", "", "-shared", "-Wl,--no-as-needed,-rpath,$ORIGIN/deep", str(whole))
    metadata = tmp_path / "site" / "ttnn-0.81.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ttnn\nVersion: 0.81.1\n")

    report = examined(tmp_path, python=sys.executable, PYTHONPATH=str(tmp_path / "site"))

    assert report.installation is not None
    assert report.installation.version == "0.81.1"
    assert report.installation.library.path == str(package / "deep" / "libtt_metal.so")
    assert report.status is Status.PASS
    version = ".".join(map(str, sys.version_info[:3]))
    assert said(report, Status.PASS)["sites"].startswith(f"Python {version}: its frames are where they should be")


def test_a_python_whose_frames_are_elsewhere_is_a_warning_with_the_reason(tmp_path: Path, whole: Path) -> None:
    """It answers as the hook does in a Python that it does not know."""
    (tmp_path / "ttnn/build/lib").mkdir(parents=True)
    (tmp_path / "ttnn/build/lib/libtt_metal.so").symlink_to(whole)
    package = a_python(tmp_path, f'[["{tmp_path}/ttnn"], "0.81.1"]')
    (tmp_path / "other").mkdir()
    frames = a_python(tmp_path / "other", "3.14.0\tthis Python's frames are not known")
    both = tmp_path / "both"
    both.write_text(f'#!/bin/sh\ncase "$2" in *ttmem_hook_python*) exec {frames};; *) exec {package};; esac\n')
    both.chmod(0o755)

    report = examined(tmp_path, python=str(both))

    expected = "Python 3.14.0: its lines are not recorded: this Python's frames are not known"
    assert said(report, Status.WARN)["sites"] == expected


def test_a_second_copy_is_a_warning_that_names_it(tmp_path: Path, whole: Path) -> None:
    other = tmp_path / "home" / "build" / "lib" / "libtt_metal.so"
    other.parent.mkdir(parents=True)
    other.write_bytes(whole.read_bytes())

    report = examined(tmp_path, library=str(whole), TT_METAL_HOME=str(tmp_path / "home"))

    assert str(other) in said(report, Status.WARN)["runtime"]


@pytest.mark.parametrize("content", [None, b"no library"])
def test_a_hook_that_cannot_be_loaded_is_a_failure(tmp_path: Path, whole: Path, content: bytes | None) -> None:
    hook = tmp_path / "hook.so"
    if content is not None:
        hook.write_bytes(content)

    report = examined(tmp_path, library=str(whole), TTMEM_HOOK=str(hook))

    assert "hook" in said(report, Status.FAIL)
    assert report.shown == []


def test_a_hook_in_a_place_with_a_blank_is_a_failure(tmp_path: Path, whole: Path) -> None:
    installed = hook_path({})
    assert installed is not None
    hook = tmp_path / "a place.so"
    hook.symlink_to(installed)

    report = examined(tmp_path, library=str(whole), TTMEM_HOOK=str(hook))

    assert "has a blank or colon in its path" in said(report, Status.FAIL)["hook"]
