"""Rules and boards do what they say: every expression of them runs on a real Prometheus, which scrapes a real daemon,
which hears a program on the runtime model. One story for all of it, calm at first, then every trouble there is an alert
for; what was seen meanwhile is judged afterwards.
"""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.docs.languages import expressions
from tests.support.docs.pages import blocks_of
from tests.support.faces.prometheus import Prometheus, a_prometheus, prometheus_programs
from tests.support.machine.stock_regions import Slot, a_region, put
from tests.support.metal.troubled import Troubled, a_troubled_program
from tests.support.processes.programs import a_program
from tests.support.server.server_serving import Daemon, a_daemon, short_directory
from tests.support.timing.waiting import wait_until

pytestmark = pytest.mark.slow

DASHBOARDS = Path(__file__).parents[3] / "dashboards"
RULES = sorted((DASHBOARDS / "rules").glob("*.yml"))
BOARD = json.loads((DASHBOARDS / "grafana" / "ttmem.json").read_text(encoding="utf-8"))
ALERTS = set(re.findall(r"alert: (\w+)", (DASHBOARDS / "rules" / "alerts.yml").read_text(encoding="utf-8")))
NEUTRAL = 'accelerator_memory_used_bytes{vendor="tenstorrent",device="0"}'
LEFT = "ttmem_memory_capacity_bytes - ttmem_memory_free_bytes - sum without (kind) (ttmem_memory_used_bytes)"
SECONDS = 15  # for each part of the story, on a machine that others use, too
CHIP = 0x1000_0000_0000  # that only the runtime's counters tell of
TOO_MUCH = """\
from ttmem import _native
chip = ttmem.open_device(0x7777)
meet()
for number in range(200_000):
    _native.client.report_free(_native.client.report_buffer_alloc(chip, number, 64))
for number in range(140_000):
    _native.client.report_buffer_alloc(chip, number, 64)
_native.client.report_clash(chip, 1, 0x9000, 0x8000)
meet()
"""


def quick(text: str) -> str:
    """Rules and boards for people look at minutes; here everything happens within seconds."""
    text = re.sub(r"\[(1m|5m|10m|1h|1d|\$__rate_interval)\]", "[8s]", text)
    return re.sub(r"\bfor: \w+", "for: 0s", text).replace("offset 5m", "offset 8s")


@dataclass
class Story:
    """Everything that runs, and what was seen of it."""

    daemon: Daemon
    prometheus: Prometheus
    program: Troubled
    calm_alerts: set[str] = field(default_factory=set)
    alerts: set[str] = field(default_factory=set)
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # of expressions, while all was calm
    target: dict[str, Any] = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)
    used: dict[str, float] = field(default_factory=dict)
    neutral: list[float] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    offered: dict[str, set[str]] = field(default_factory=dict)

    def agrees(self) -> bool:
        """Whether Prometheus knows what the program's chip holds."""
        for memory in self.program.truth:
            found = self.prometheus.values(f'sum(ttmem_memory_used_bytes{{memory="{memory}",device="0"}})')
            self.used[memory] = found[0] if found else math.nan
        return self.used == self.program.truth


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    """Played once; all that is asked of Prometheus is asked here, for at the end the daemon is gone."""
    prometheus_programs()
    with short_directory() as directory, ExitStack() as running:
        regions = directory / "regions"
        regions.mkdir()
        options = ("--listen", "127.0.0.1:0", "--metrics-processes", "--metrics-aliases")
        daemon = running.enter_context(a_daemon(*options, directory=directory, TTMEM_STOCK_SHM_DIR=str(regions)))
        prometheus = running.enter_context(a_prometheus(config_for(daemon, directory)))
        program = running.enter_context(a_troubled_program(directory / "j", "troubled"))
        told = Story(daemon, prometheus, program)
        play_calm(told)
        play_trouble(told, regions, running)
        look_around(told)
        daemon.kill()
        wait_for_alerts(told, {"TtmemDaemonDown"})
        yield told


def config_for(daemon: Daemon, directory: Path) -> Path:
    """The scrape config of the docs, in a hurry, with the rules."""
    [port] = re.findall(r"http://127\.0\.0\.1:(\d+)", daemon.text())
    text = (DASHBOARDS / "prometheus.yml").read_text(encoding="utf-8").replace("8265", port).replace("15s", "250ms")
    (directory / "rules").mkdir()
    for rules in RULES:
        (directory / "rules" / rules.name).write_text(quick(rules.read_text(encoding="utf-8")))
    path = directory / "prometheus.yml"
    path.write_text(text)
    return path


def play_calm(story: Story) -> None:
    """A program that works; nothing is amiss, and every expression has its data."""
    expressions = all_expressions()

    def has_all() -> bool:
        story.program.step()
        for expression in expressions:
            story.answers[expression] = story.answers.get(expression) or story.prometheus.query(quick(expression))
        return all(story.answers.values())

    wait_for(has_all)
    wait_until(story.agrees)
    story.calm_alerts = story.prometheus.firing()


def play_trouble(story: Story, regions: Path, running: ExitStack) -> None:
    wait_for(lambda: grown(story))
    story.program.step("trouble")
    leave_stale_bytes(regions)
    report_too_much(story, running)
    os.unlink(story.daemon.directory / "j" / "daemon.sock")
    wait_for_alerts(story, ALERTS - {"TtmemDaemonDown"})


def look_around(story: Story) -> None:
    """What Prometheus knows now."""
    ask = story.prometheus
    wait_for(story.agrees)
    wait_for(lambda: ask.values(NEUTRAL) == [story.program.truth["dram"]])
    story.neutral = ask.values(NEUTRAL)
    story.target, story.rules, story.left = ask.target(), ask.rules(), ask.values(LEFT)
    for variable in BOARD["templating"]["list"][1:]:
        found = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
        assert found, variable["query"]
        story.offered[variable["name"]] = ask.label_values(re.sub(r"\$\w+", ".*", found[1]), found[2])


def wait_for(condition: Callable[[], object]) -> None:
    """For a while; what did not come true is told by the test that is about it."""
    with suppress(AssertionError):
        wait_until(condition, seconds=SECONDS)


def wait_for_alerts(story: Story, names: set[str]) -> None:
    def seen() -> bool:
        story.alerts |= story.prometheus.firing()
        return story.alerts >= names

    wait_for(seen)


def grown(story: Story) -> bool:
    """Leaves something behind until that is noticed."""
    story.program.step()
    story.alerts |= story.prometheus.firing()
    return "TtmemMemoryGrowing" in story.alerts


def leave_stale_bytes(regions: Path) -> None:
    """The runtime's own counters of another chip: of a process that has ended, and of one that holds something."""
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    slots = (Slot(gone.pid, (4096, 0, 0, 0, 0)), Slot(os.getpid(), (8192, 0, 0, 0, 0), time.time_ns()))
    put(regions, CHIP, a_region(*slots, asic_id=CHIP))


def report_too_much(story: Story, running: ExitStack) -> None:
    """A program that reports more than its journal remembers while the daemon cannot look, then holds more than the
    journal can list; and whose circular buffers clash."""
    program = running.enter_context(a_program(story.daemon.directory / "j", TOO_MUCH))
    program.arrive()
    wait_until(lambda: len(story.daemon.document()["processes"]) >= 2)
    os.kill(story.daemon.pid, signal.SIGSTOP)
    try:
        program.go_on()
        program.arrive()
    finally:
        os.kill(story.daemon.pid, signal.SIGCONT)


def all_expressions() -> list[str]:
    """Of every panel, with all that the variables offer chosen; what recording rules make; and those of the docs."""
    board = {target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())}
    chosen = {re.sub(r"\$(hostname|device|username|workload)\b", ".*", expression) for expression in board}
    rules = (DASHBOARDS / "rules" / "recording.yml").read_text(encoding="utf-8")
    docs = [expression for block in blocks_of("promql") for expression in expressions(block)]
    return sorted({*chosen, *re.findall(r"record: (\S+)", rules), *docs})


def test_the_daemon_is_scraped_without_a_complaint(story: Story) -> None:
    assert (story.target["health"], story.target["lastError"]) == ("up", "")
    assert story.target["labels"]["instance"] == "this-machine"


def test_what_prometheus_knows_is_what_the_model_holds(story: Story) -> None:
    assert story.used == story.program.truth
    assert story.neutral == [story.program.truth["dram"]]
    assert story.program.truth["dram"] > 10 << 30


def test_used_and_free_are_the_capacity(story: Story) -> None:
    assert story.left == [0.0] * 4  # dram, trace, l1, l1_small


@pytest.mark.parametrize("expression", all_expressions())
def test_an_expression_has_an_answer(story: Story, expression: str) -> None:
    answer = story.answers[expression]

    assert answer
    assert all(math.isfinite(float(series["value"][1])) for series in answer)


def test_variables_of_the_board_offer_what_there_is(story: Story) -> None:
    assert story.offered["hostname"] == {"this-machine"}
    assert "0" in story.offered["device"]
    assert "troubled" in story.offered["workload"]
    assert len(story.offered["username"]) == 1


def test_every_rule_is_evaluated(story: Story) -> None:
    assert len(story.rules) == sum(text.count(" expr: ") for text in map(Path.read_text, RULES))
    assert [rule["lastError"] for rule in story.rules if rule["health"] != "ok"] == []


def test_nothing_is_alerted_while_all_is_well(story: Story) -> None:
    assert story.calm_alerts <= {"TtmemMemoryGrowing"}  # it leaves something behind at every step


@pytest.mark.parametrize("alert", sorted(ALERTS))
def test_an_alert_fires_in_its_trouble(story: Story, alert: str) -> None:
    assert alert in story.alerts
