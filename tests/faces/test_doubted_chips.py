"""What the kernel's driver says of a chip is believed before its openers, and said so in every face."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.faces.terminals import a_terminal
from tests.support.journals.reporters import a_nursery
from tests.support.machine.driver_tree import DriverTree
from tests.support.processes.inside import ttmem_inside
from tests.support.server.server_serving import a_daemon, short_directory
from tests.support.timing.waiting import wait_until

CHIP = 0x99
GIB = 1 << 30
FALSE = "says board FAKE, the driver says n300 and is believed"
EXCESS = f"{40 * GIB:,} bytes of dram are reported, it has {12 * GIB:,}"
TAKEN = "\x1b[?2004h"  # the toolkit reads keys from here on


class Scene(NamedTuple):
    """Where somebody says that a chip of the driver is another, and reports more than it has."""

    directory: Path
    environ: dict[str, str]

    def ttmem(self, *arguments: str) -> str:
        done = ttmem_inside(*arguments, environ=self.environ)
        return " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    tree = DriverTree(tmp_path_factory.mktemp("driver"))
    tree.chip(0, "wormhole", asic_id=f"{CHIP:016X}", card_type="n300")
    with short_directory() as directory, a_nursery() as nursery:
        journals = directory / "j"
        journals.mkdir(mode=0o700)
        reporter = nursery.start(journals)
        chip = reporter.call("open_device", CHIP, 0, "wormhole_b0", "FAKE", (8, 8), (12, 64), (1 << 50, *[0] * 9), 0)
        reporter.do(*[("report_buffer_alloc", chip, number, GIB) for number in range(40)])
        places = {"TTMEM_DIR": str(journals), "XDG_CONFIG_HOME": str(directory / "config"), "TERM": "xterm-256color"}
        yield Scene(directory, {**os.environ, **tree.environ, **places})


@pytest.mark.parametrize("arguments", [("ps",), ("dump",)])
def test_tables_name_who_says_what_and_who_is_believed(scene: Scene, arguments: tuple[str, ...]) -> None:
    page = scene.ttmem(*arguments, "--no-daemon")

    assert FALSE in page
    assert EXCESS in page


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("ps", "--json"), ("-s",), ("dump", "--json")])
def test_documents_do_so_too(scene: Scene, arguments: tuple[str, ...]) -> None:
    page = scene.ttmem(*arguments, "--no-daemon")

    assert FALSE in page
    assert EXCESS in page


@pytest.mark.slow
def test_a_daemon_shows_it_to_every_client(scene: Scene) -> None:
    with a_daemon(directory=scene.directory, TTMEM_SYSFS_ROOT=scene.environ["TTMEM_SYSFS_ROOT"]) as daemon:
        wait_until(lambda: b'finding="contradicted"} 1' in daemon.get("/metrics")[1])  # once it has looked
        metrics = daemon.get("/metrics")[1].decode()
        overview, dump, table = daemon.get("/overview")[1], daemon.get("/dump")[1], daemon.run("ps").stdout

    for name in ("contradicted", "over_capacity"):
        assert f'ttmem_findings{{finding="{name}"}} 1' in metrics
    assert "ttmem_complete 0" in metrics
    assert 'board="n300"' in metrics
    assert "FAKE" not in metrics
    for page in (overview.decode(), dump.decode(), " ".join(table.split())):
        assert FALSE in page.replace("! ", "")
        assert EXCESS in page


@pytest.mark.slow
def test_the_monitor_lists_it_among_its_alerts(scene: Scene) -> None:
    arguments = ["-m", "ttmem", "top", "--no-daemon", "--interval", "0.1"]
    with a_terminal(arguments, scene.environ, columns=200, lines=40) as terminal:
        terminal.read_until(TAKEN)
        terminal.press("A")
        terminal.read_until("the driver says n300")
        terminal.read_until("bytes of dram are reported")
        terminal.press("q")
        terminal.press("q")

        assert terminal.end() == 0
