"""What is on the pictures of the monitor is what the runtime model knows to be true, chip by chip."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.monitored.cards import cards_of, figures_in, shown_as
from tests.support.monitored.expected import CORE_BYTES, RING_BYTES, expected_of, wrong_in
from tests.support.monitored.model import EDGE_BYTES, Model
from tests.support.monitored.pictures import faults_of, rows_of
from ttmem.cli.demonstration.screenshots import SHOTS, Shot, Size, taken
from ttmem.collector import Collector
from ttmem.collector.history import HistoryRecorder
from ttmem.figures.source import FigureSource
from ttmem.snapshot.values import TimeNs, replace
from ttmem.sources import Places
from ttmem.view.screen import BACKGROUNDS
from ttmem.view.texts import share_text, size_text, tight_size_text

SIZES = (Size(80, 24), Size(120, 40), Size(200, 60))
MESHES = {1: ("n150", (1, 1)), 4: ("t3000", (1, 4)), 32: ("galaxy", (8, 4))}


@contextmanager
def looking_at(directory: Path) -> Iterator[tuple[FigureSource, dict[str, str]]]:
    environ = {**os.environ, "TTMEM_DIR": str(directory), "TTMEM_STOCK_SHM_DIR": str(directory)}
    with FigureSource(environ, uid=os.geteuid(), has_daemon=False, is_following=True) as looking:
        yield looking, environ


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journals")


@pytest.mark.parametrize("count", [1, 4, pytest.param(32, marks=pytest.mark.slow)])
def test_every_figure_on_every_picture_of_the_overview_is_true(count: int, directory: Path) -> None:
    board, shape = MESHES[count]
    place = directory / board
    place.mkdir(mode=0o700)
    with Model(place, board, shape) as model, looking_at(place) as (looking, environ):
        model.run()
        truth = model.truth()
        grid = looking.overview().devices[0].device.grid
        assert grid is not None
        seen: set[str] = set()
        shots = [Shot("each_chip" if count > 8 else "overview", size) for size in SIZES if count <= 8 or size.rows > 30]
        shots += [Shot("all_figures", Size(120, 60))] if count <= 4 else []
        for shot in shots:
            svg = taken(shot, looking, environ, banner="")
            cards = cards_of(svg, count)
            assert sorted(cards) == list(range(count)), f"on {shot}"
            wrong = {index: wrong_in(cards[index], expected_of(truth[index], grid)) for index in cards}
            assert {index: why for index, why in wrong.items() if why} == {}, f"on {shot}"
            found = {name for card in cards.values() for name in figures_in(card)}
            assert found >= {"dram", "dram_share", "core", "core_share", "planned_share", "dram_block"}, f"on {shot}"
            seen |= found
        least = {"dram_total", "core_total", "headroom", "planned_core", "buffers", "l1_total", "resident", "planned"}
        least |= {"ring", "application", "dispatch", "small", "trace", "l1_block", "l1_peak", "dram_peak", "launches"}
        least |= {"fabric"} if count > 1 else set()
        assert seen >= (least if count <= 4 else set())


def test_the_row_of_all_chips_has_their_sums(tmp_path: Path) -> None:
    with Model(tmp_path, "t3000", (1, 4)) as model, looking_at(tmp_path) as (looking, environ):
        model.run()
        truth = model.truth()
        rows = rows_of(taken(Shot("compact", Size(120, 40)), looking, environ, banner=""))

    [total] = [row for row in rows if row.split()[:1] == ["all"]]
    dram = sum(chip["used"]["dram"] for chip in truth)
    assert f"{size_text(dram)} {share_text(dram / sum(chip['capacity']['dram'] for chip in truth))}" in squeezed(total)
    fullest = max(
        chip["worst_resident"] + (chip["used"]["l1"] + chip["used"]["l1_small"]) // 64 + RING_BYTES for chip in truth
    )
    assert f"{size_text(fullest)} {share_text(fullest / CORE_BYTES)}" in squeezed(total)


def squeezed(row: str) -> str:
    return " ".join(row.split())


def test_launches_per_second_are_those_of_the_program_and_none_when_it_rests(tmp_path: Path) -> None:
    """Counted between samples of the history, which a clock of the test makes."""
    with (
        Model(tmp_path, "n150", (1, 1)) as model,
        Collector(Places(uid=os.geteuid(), directory=str(tmp_path))) as collector,
    ):
        model.do("import ttmem")
        now = 1_700_000_000
        recorder = HistoryRecorder(
            collector.ledger.sample,
            lambda: (),
            clock_ns=lambda: now * 1_000_000_000,
            overview=lambda: replace(collector.overview(), time_ns=TimeNs(now * 1_000_000_000)),
        )
        assert collector.wait_settled(5)
        recorder.take_due()
        model.run()
        assert collector.wait_settled(5)
        now += 2
        running = recorder.history(60)
        [truth] = model.truth()
        now += 1
        resting = recorder.history(60)
        pid = model.pid

    [chip], [process] = running.launches, running.processes
    assert [one for one in chip.samples if one][-1:] == [truth["launches"] // 2]  # in two seconds
    assert (process.pid, process.launches_per_second) == (pid, truth["launches"] // 2)
    assert process.growth_bytes == truth["used"]["dram"]
    assert process.host_memory_bytes is not None
    assert process.host_memory_bytes > 1 << 20
    assert resting.processes[0].launches_per_second == 0
    assert resting.processes[0].launched_time_ns == process.launched_time_ns


def test_figures_of_the_other_views_are_true(tmp_path: Path) -> None:
    with Model(tmp_path, "t3000", (1, 4)) as model, looking_at(tmp_path) as (looking, environ):
        model.run()
        truth = model.truth()
        widths = {"all_columns": 300, "l1_map": 120, "kernels": 160, "charts": 120}
        shown = {view: rows_of(taken(Shot(view, Size(width, 40)), looking, environ)) for view, width in widths.items()}

    row = next(row for row in shown["all_columns"] if "the model" in row)
    words = row.partition("the model")[2].replace(" MiB", "_MiB").replace(" KiB", "_KiB").split()
    kernels = sum(sum(chip["kernels"].values()) for chip in truth)
    dram, l1 = (sum(chip["used"][pool] for chip in truth) for pool in ("dram", "l1"))
    held = sum(sum(chip["used"].get(pool, 0) for pool in ("dram", "trace", "l1", "l1_small")) for chip in truth)
    core = max(
        chip["worst_resident"] + (chip["used"]["l1"] + chip["used"]["l1_small"]) // 64 + RING_BYTES for chip in truth
    )
    expected = [core, l1, sum(chip["planned"] for chip in truth), kernels, held]
    assert words[:2] == ["0-3", size_text(dram).replace(" ", "_")]
    assert words[3:8] == [size_text(size).replace(" ", "_") for size in expected]  # the peak stands before them

    first = truth[0]
    bank_count = first["banks"]
    l1_map = " ".join(" ".join(row.split()) for row in shown["l1_map"])
    worst = first["worst_planned"] + (first["used"]["l1"] + first["used"]["l1_small"]) // bank_count["l1"] + RING_BYTES
    assert f"the fullest: {size_text(worst)} of {size_text(CORE_BYTES)} {share_text(worst / CORE_BYTES)}" in l1_map
    for pool in ("dram", "l1"):
        block, per_bank = first["largest"][pool], first["largest"][pool] // bank_count[pool]
        used = first["used"][pool] // bank_count[pool]
        line = next(row for row in shown["l1_map"] if row.split()[:1] == [pool])
        assert f"{size_text(used)} {size_text(per_bank)} {size_text(block)}" in " ".join(line.split())

    for number in range(3):
        line = next(row for row in shown["kernels"] if f" reader{number} " in row)
        packed = 2352 + 16 * number
        assert f" {tight_size_text(packed)} {packed} 16 {tight_size_text(packed * 16)} " in " ".join(line.split())
        assert f" committed {number + 1} {number} " in " ".join(line.split())

    titles = "\n".join(shown["charts"])
    for index, chip in enumerate(truth):
        assert f"{index} DRAM {size_text(chip['used']['dram'])} " in titles
        common = (chip["used"]["l1"] + chip["used"]["l1_small"]) // bank_count["l1"] + RING_BYTES
        fullest = chip["worst_resident"] + common
        share = f"{share_text(fullest / CORE_BYTES)} of {size_text(CORE_BYTES)}"
        assert f"{index} L1 {size_text(fullest)} {share}  buffers {size_text(chip['used']['l1'])}" in titles


def test_one_byte_more_or_less_is_another_picture(tmp_path: Path) -> None:
    with Model(tmp_path, "p150", (1, 1)) as model, looking_at(tmp_path) as (looking, environ):
        model.hold(EDGE_BYTES)
        [truth] = model.truth()

        [card] = cards_of(taken(Shot("overview", Size(120, 40)), looking, environ), 1).values()

    used = truth["used"]["dram"]
    assert used == EDGE_BYTES
    assert figures_in(card)["dram"][0] in shown_as(used)
    assert figures_in(card)["dram"][0] not in shown_as(used - 1)


@pytest.mark.parametrize(
    "count", [1, pytest.param(4, marks=pytest.mark.slow), pytest.param(32, marks=pytest.mark.slow)]
)
def test_nothing_is_cut_and_nothing_overlaps_on_any_picture(count: int, tmp_path: Path) -> None:
    board, shape = MESHES[count]
    with Model(tmp_path, board, shape) as model, looking_at(tmp_path) as (looking, environ):
        model.run()
        for view in SHOTS:
            for size in SIZES:
                svg = taken(Shot(view, size), looking, environ)
                assert faults_of(svg, *size) == [], f"{view} at {size}"
                assert len(rows_of(svg)) == size.rows, f"{view} at {size}"
            light = taken(Shot(view, SIZES[1], is_light=True), looking, environ)
            assert faults_of(light, *SIZES[1]) == [], f"{view} in light colours"
            assert f'fill="{BACKGROUNDS[False].light}"' in light
