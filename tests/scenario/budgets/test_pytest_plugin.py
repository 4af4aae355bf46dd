"""`pytest --ttmem` as people run it: every marker and option, sub-processes, xdist, runs that are repeated."""

import json

import pytest

from tests.support.timing.waiting import wait_until

pytest_plugins = ["pytester"]

HEAD = """
import os, subprocess, sys
import pytest
import ttmem
MIB = 1 << 20

@pytest.fixture(scope="session")
def chip():
    return ttmem.open_device(0x51, index=0)

def hold(chip, size, number=1):
    return ttmem.report_buffer_alloc(chip, number, size)

def use(chip, size):
    ttmem.report_free(hold(chip, size))
"""
MARKERS = """
CHILD = "import ttmem; ttmem.report_buffer_alloc(ttmem.open_device(0x51), 1, 6 << 20)"

@pytest.mark.limit_device_memory(dram="4MiB")
def test_within(chip):
    use(chip, 4 * MIB)

@pytest.mark.limit_device_memory(dram="4MiB", l1=0)
def test_over(chip):
    use(chip, 5 * MIB)

@pytest.mark.limit_device_memory(dram="8MiB")
def test_child_alone(chip):
    subprocess.run([sys.executable, "-c", CHILD], check=True)

@pytest.mark.limit_device_memory(dram="8MiB")
def test_with_child(chip):
    kept = hold(chip, 3 * MIB)
    subprocess.run([sys.executable, "-c", CHILD], check=True)
    ttmem.report_free(kept)

def leak(chip, numbers=[100]):
    numbers.append(numbers[-1] + 1)
    hold(chip, MIB, numbers[-1])

@pytest.mark.no_device_leaks(warmups=2)
def test_leaks(chip):
    leak(chip)

@pytest.mark.no_device_leaks
def test_keeps_what_the_first_run_made(chip):
    if not hasattr(ttmem, "kept_by_test"):
        ttmem.kept_by_test = hold(chip, MIB, 99)

@pytest.mark.limit_device_memory(sram="4MiB")
def test_wrong(chip):
    pass
"""


def run(pytester: pytest.Pytester, body: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=HEAD + body)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def said(result: pytest.RunResult) -> str:
    return str(result.stdout)


@pytest.mark.slow
def test_markers_limit_and_find_leaks_and_sub_processes_count(pytester: pytest.Pytester) -> None:
    result = run(pytester, MARKERS, "--ttmem")

    result.assert_outcomes(passed=3, failed=4)
    text = said(result)
    assert "chip 0 dram highest 5.00 MiB, limit 4.00 MiB (its marker), 1.00 MiB too much" in text
    assert "highest 9.00 MiB, limit 8.00 MiB" in text
    assert "  5.00 MiB      1  " in text
    assert "test_it.py:11 hold < " in text
    assert "device memory left behind: chip 0 dram 1.00 MiB" in text
    assert "limit_device_memory: expected one of dram, l1, l1_small, trace, l1_per_core, found 'sram'" in text
    assert "dram 9.00 MiB  test_it.py::test_with_child" in text


UNASKED = """
def test_nothing_is_loaded():
    mine = sorted(name for name in sys.modules if name.partition(".")[0] == "ttmem")
    assert mine == ["ttmem", "ttmem.pytest_plugin"]
    assert "TTMEM" not in os.environ

@pytest.mark.limit_device_memory(dram=0)
@pytest.mark.no_device_leaks
def test_markers_do_nothing():
    pass
"""


def test_unasked_nothing_is_loaded_and_markers_do_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="import os, sys, pytest\n" + UNASKED)

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers")

    result.assert_outcomes(passed=2)
    assert "device memory" not in said(result)


SIZES = """
def test_two(chip):
    use(chip, 2 * MIB)

@pytest.mark.limit_device_memory(dram="3MiB")
def test_three(chip):
    use(chip, 3 * MIB)
"""


@pytest.mark.slow
def test_a_marker_goes_before_the_command_line_and_that_before_the_settings(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nttmem = true\nttmem_limits = dram=1MiB\n")

    by_settings = run(pytester, SIZES)
    by_command_line = run(pytester, SIZES, "--ttmem-limit", "dram=2MiB")

    by_settings.assert_outcomes(passed=1, failed=1)
    assert "limit 1.00 MiB (ttmem_limits)" in said(by_settings)
    by_command_line.assert_outcomes(passed=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ttmem-limit", "dram=2"], "--ttmem-limit: expected a size with its unit"),
        (["--ttmem-fail-on-increase", "1%"], "--ttmem-baseline FILE is missing"),
        (["--ttmem-baseline", "test_it.py"], "expected a baseline of ttmem"),
    ],
)
def test_an_option_that_was_written_wrongly_ends_the_run_in_one_sentence(
    pytester: pytest.Pytester, arguments: list[str], words: str
) -> None:
    result = run(pytester, SIZES, *arguments)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert words in str(result.stderr)
    assert "Traceback" not in str(result.stderr)


GROWN = SIZES.replace("use(chip, 2 * MIB)", "use(chip, 2 * MIB + 65536)")


@pytest.mark.slow
def test_a_baseline_is_written_compared_and_written_again(pytester: pytest.Pytester) -> None:
    baseline = ("--ttmem-baseline", "base.json")

    written = run(pytester, SIZES, *baseline)
    first = json.loads((pytester.path / "base.json").read_text())
    same = run(pytester, SIZES, *baseline, "--ttmem-fail-on-increase", "0%")
    told = run(pytester, GROWN, *baseline)
    allowed = run(pytester, GROWN, *baseline, "--ttmem-fail-on-increase", "64KiB")
    grown = run(pytester, GROWN, *baseline, "--ttmem-fail-on-increase", "1%")
    assert json.loads((pytester.path / "base.json").read_text()) == first
    updated = run(pytester, GROWN, *baseline, "--ttmem-update-baseline")

    assert first["tests"] == {"test_it.py::test_two": {"dram": 2 << 20}, "test_it.py::test_three": {"dram": 3 << 20}}
    assert "baseline written: base.json" in said(written)
    for result in (written, same, told, allowed, updated):
        result.assert_outcomes(passed=2)
    assert "changed: dram 2.00 MiB -> dram 2.06 MiB  test_it.py::test_two" in said(told)
    grown.assert_outcomes(passed=1, failed=1)
    assert "device memory grew: dram 2.00 MiB in the baseline, now 2.06 MiB, 64.0 KiB more (+3.12%)" in said(grown)
    assert json.loads((pytester.path / "base.json").read_text())["tests"]["test_it.py::test_two"]["dram"] == 2162688


@pytest.mark.slow
def test_a_baseline_may_stand_in_the_settings(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nttmem = true\nttmem_baseline = base.json\nttmem_fail_on_increase = 1%\n")

    run(pytester, SIZES).assert_outcomes(passed=2)
    run(pytester, GROWN).assert_outcomes(passed=1, failed=1)


WORKERS = """
import time
from pathlib import Path

@pytest.mark.limit_device_memory(dram="5MiB")
@pytest.mark.parametrize("number", range(2))
def test_beside_each_other(chip, number):
    kept = hold(chip, 4 * MIB)
    mine, other = Path(f"here-{number}"), Path(f"here-{1 - number}")
    mine.touch()
    deadline = time.monotonic() + 60
    while not other.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    ttmem.report_free(kept)
"""


@pytest.mark.slow
def test_a_worker_without_a_device_is_no_trouble(pytester: pytest.Pytester) -> None:
    result = run(pytester, NOTHING + SIZES, "--ttmem", "-n", "3")

    result.assert_outcomes(passed=3)
    assert "dram 2.00 MiB  test_it.py::test_two" in said(result)
    assert "no test opened a device" not in said(result)


@pytest.mark.slow
def test_workers_of_one_run_are_told_apart_and_told_together(pytester: pytest.Pytester) -> None:
    result = run(pytester, WORKERS, "--ttmem-baseline", "base.json", "-n", "2")

    result.assert_outcomes(passed=2)
    names = [f"test_it.py::test_beside_each_other[{number}]" for number in range(2)]
    assert json.loads((pytester.path / "base.json").read_text())["tests"] == {name: {"dram": 4 << 20} for name in names}
    assert said(result).count("dram 4.00 MiB  test_it.py::test_beside_each_other") == 2
    assert "no device memory was reported" not in said(result)
    assert "no test opened a device" not in said(result)


RERUNS = """
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(3):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if attempt == 2 or all(report.passed for report in reports):
            for report in reports:
                item.ihook.pytest_runtest_logreport(report=report)
            break
        item._initrequest()
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""
FLAKY = """
sizes = [9 * MIB, 3 * MIB]

@pytest.mark.limit_device_memory(dram="4MiB")
def test_flaky(chip):
    use(chip, sizes.pop(0))
"""


@pytest.mark.slow
def test_a_test_that_is_run_again_is_measured_again(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import pytest\n" + RERUNS)

    result = run(pytester, FLAKY, "--ttmem")

    result.assert_outcomes(passed=1)
    assert "dram 3.00 MiB  test_it.py::test_flaky" in said(result)


CORES = """
from ttmem import metal
from ttmem.devices import BufferType

@pytest.fixture(scope="module")
def device():
    with metal.open_device("n150", tracker=ttmem.GraphTracker()) as device:
        yield device

def in_l1(device, rows):
    return device.create_buffer(metal.tensor((rows, 4096), "bfloat16", buffer_type=BufferType.L1))

@pytest.mark.limit_device_memory(l1_per_core="300KiB")
def test_one(device):
    in_l1(device, 1024).deallocate()

@pytest.mark.limit_device_memory(l1_per_core="300KiB", l1="16MiB")
def test_two(device):
    both = in_l1(device, 1024), in_l1(device, 1024)
    for one in both:
        one.deallocate()
"""


@pytest.mark.slow
def test_a_core_may_have_a_limit(pytester: pytest.Pytester) -> None:
    result = run(pytester, CORES, "--ttmem")

    result.assert_outcomes(passed=1, failed=1)
    assert "L1 of a core highest 325 KiB, limit 300 KiB" in said(result)
    assert "in_l1" in said(result)


NOTHING = """
def test_without_a_device():
    pass
"""
BROKEN = """
import signal
from pathlib import Path

def children():
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()

def test_first(chip):
    use(chip, MIB)

def test_second(chip):
    for pid in children():
        os.kill(int(pid), signal.SIGKILL)
    use(chip, MIB)

@pytest.mark.limit_device_memory(dram=0)
def test_third(chip):
    use(chip, MIB)
"""


@pytest.mark.slow
def test_what_is_missing_is_said_in_one_line(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = run(pytester, NOTHING, "--ttmem")
    broken = run(pytester, BROKEN, "--ttmem")
    monkeypatch.setenv("TTMEM", "0")
    off = run(pytester, SIZES, "--ttmem")

    nothing.assert_outcomes(passed=1)
    assert "no device memory was reported: no test opened a device" in said(nothing)
    broken.assert_outcomes(passed=3)
    assert "no recorder: " in said(broken)
    off.assert_outcomes(passed=2)
    assert "no device memory was reported: TTMEM=0 turns tracking off: unset it" in said(off)


KILLED = """
import signal

def test_killed(chip):
    use(chip, MIB)
    assert [name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("ttmem-pytest-")]
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_killed_run_leaves_no_recording_behind(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = pytester.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(directory))

    result = run(pytester, KILLED, "--ttmem")

    assert result.ret == -9
    wait_until(lambda: not [*directory.glob("ttmem-pytest-*")])


@pytest.mark.slow
def test_ttnn_without_the_hook_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ttnn="")

    result = run(pytester, "import ttnn\n" + NOTHING, "--ttmem")

    assert "ttnn runs without the hook: start pytest as `ttmem run -- pytest --ttmem`" in said(result)


STORY = """
import json, random

PARTNER = '''
import json, sys
import ttmem
chip = ttmem.open_device(0x51, index=0)
handles = {}
for line in sys.stdin:
    what, number, size = json.loads(line)
    if what == "alloc":
        handles[number] = ttmem.report_buffer_alloc(chip, number, size)
    else:
        ttmem.report_free(handles.pop(number))
    print(flush=True)
'''

@pytest.mark.parametrize("seed", range(4))
def test_story(chip, seed):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    partner = subprocess.Popen([sys.executable, "-c", PARTNER], text=True, **pipes)

    def theirs(*order):
        partner.stdin.write(json.dumps(order) + "\\n")
        partner.stdin.flush()
        partner.stdout.readline()

    rng = random.Random(seed)
    mine, other, held, peak = {}, {}, 0, 0
    for number in range(1, 1500):
        is_mine = rng.random() < 0.7
        alive = mine if is_mine else other
        if alive and rng.random() < 0.48:
            key = rng.choice(sorted(alive))
            size = alive.pop(key)
            held -= size[0]
            ttmem.report_free(size[1]) if is_mine else theirs("free", key, 0)
        else:
            size = rng.randrange(1, 1 << 20)
            held += size
            if is_mine:
                alive[number] = (size, hold(chip, size, number))
            else:
                theirs("alloc", number, size)
                alive[number] = (size, 0)
        peak = max(peak, held)
    partner.communicate()
    for size, handle in mine.values():
        ttmem.report_free(handle)
    with open("truth.json", "a") as file:
        file.write(json.dumps([f"test_it.py::test_story[{seed}]", peak]) + "\\n")
"""


@pytest.mark.slow
def test_figures_of_two_processes_are_the_arithmetic_of_their_stories(pytester: pytest.Pytester) -> None:
    result = run(pytester, STORY, "--ttmem-baseline", "base.json")

    result.assert_outcomes(passed=4)
    truth = dict(map(json.loads, (pytester.path / "truth.json").read_text().splitlines()))
    found = json.loads((pytester.path / "base.json").read_text())["tests"]
    assert {name: figures["dram"] for name, figures in found.items()} == truth
