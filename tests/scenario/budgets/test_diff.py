"""`ttmem diff`: of prepared pairs of recordings it names the line that was changed, and by how many bytes."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.scenario.budgets.prepared import Step, recorded
from tests.support.journals.reporters import Nursery, a_nursery
from ttmem.analysis.growth.diff import LineChange
from ttmem.cli.program import run_program
from ttmem.errors import SelectionError
from ttmem.figures.compared import recording_diff
from ttmem.recording import Recording

MIB = 1 << 20
LOAD, STEP = "model/run.py:10 load\nmodel/run.py:40 main", "model/run.py:20 step\nmodel/run.py:41 main"
WEIGHTS = Step(LOAD, 8 * MIB, "load")
ACTIVATION = Step(STEP, 2 * MIB, "step", is_kept=False)
CACHE = Step("model/cache.py:7 grow\nmodel/run.py:42 main", 3 * MIB, "step")
BASE = (WEIGHTS, ACTIVATION, CACHE)
OTHER = "model/extra.py:3 added\nmodel/run.py:43 main"
PAIR = (0x71, 0x72)


class Planted(NamedTuple):
    """What was changed, and what must be said of it."""

    after: Sequence[Step]
    lines: dict[str, tuple[str, int]]  # by the first word of its names: state and signed bytes
    pool: str = "dram"
    change: int | None = None  # of the pool; None: what the lines are together
    before: Sequence[Step] = BASE
    by: str = "site"
    phase: str = ""
    chips: tuple[int, ...] = (0x71,)
    chips_before: tuple[int, ...] = (0x71,)
    folded: int = 1  # chips that the change stands for
    is_mesh: bool = False


def moved(step: Step, lines: int, directory: str = "model") -> Step:
    """Further down in its file, or in another checkout."""
    parts = []
    for frame in step.site.split("\n"):
        place, function = frame.split(" ")
        name, number = place.rsplit(":", 1)
        parts.append(f"{directory}/{name.split('/')[1]}:{int(number) + lines} {function}")
    return step._replace(site="\n".join(parts))


def bigger(step: Step, size_bytes: int) -> Step:
    return step._replace(size_bytes=size_bytes)


PLANTED = {
    "a new line": Planted((*BASE, Step(OTHER, 5 * MIB, "step")), {"model/extra.py:3": ("new", 5 * MIB)}),
    "a line that is gone": Planted((WEIGHTS, ACTIVATION), {"model/cache.py:7": ("gone", -3 * MIB)}),
    "a bigger buffer": Planted((bigger(WEIGHTS, 9 * MIB), *BASE[1:]), {"model/run.py:10": ("same", MIB)}),
    "a smaller buffer": Planted((bigger(WEIGHTS, 8 * MIB - 512), *BASE[1:]), {"model/run.py:10": ("same", -512)}),
    "more of a line": Planted((*BASE[:2], CACHE._replace(buffer_count=4)), {"model/cache.py:7": ("same", 9 * MIB)}),
    "a moved line alone": Planted((moved(WEIGHTS, 5), *BASE[1:]), {}),
    "a line that moved and grew": Planted(
        (WEIGHTS, moved(bigger(ACTIVATION, 6 * MIB), 4), CACHE), {"model/run.py:24": ("moved", 4 * MIB)}
    ),
    "all lines moved, and a new one": Planted(
        (*(moved(one, 3) for one in BASE), Step(OTHER, MIB, "step")), {"model/extra.py:3": ("new", MIB)}
    ),
    "another checkout, and a bigger buffer": Planted(
        (*(moved(one, 0, "branch") for one in BASE[:2]), moved(bigger(CACHE, 4 * MIB), 0, "branch")),
        {"branch/cache.py:7": ("same", MIB)},
    ),
    "lines that changed places": Planted(
        (moved(WEIGHTS, 10), moved(ACTIVATION, -10), bigger(CACHE, 5 * MIB)),
        {"model/cache.py:7": ("same", 2 * MIB)},
    ),
    "another phase": Planted(
        (WEIGHTS._replace(phase="step"), ACTIVATION, CACHE), {"load": ("gone", -8 * MIB), "step": ("same", 8 * MIB)},
        by="phase",
    ),
    "another kind": Planted(
        (*BASE, Step("", MIB, "step", is_binary=True)), {"program": ("new", MIB)}, by="kind"
    ),
    "another pool": Planted(
        (WEIGHTS, ACTIVATION, CACHE._replace(pool=1)), {"model/cache.py:7": ("new", 3 * MIB)}, pool="l1"
    ),
    "small L1": Planted(
        (*BASE, Step(OTHER, 4096, "step", pool=3)), {"model/extra.py:3": ("new", 4096)}, pool="l1_small"
    ),
    "more chips": Planted(
        (*BASE, Step(OTHER, 7 * MIB, "step", chip=1)), {"model/extra.py:3": ("new", 7 * MIB)}, chips=PAIR
    ),
    "fewer chips": Planted(
        BASE, {"model/extra.py:3": ("gone", -7 * MIB)}, before=(*BASE, Step(OTHER, 7 * MIB, "step", chip=1)),
        chips_before=PAIR,
    ),
    "one chip of two": Planted(
        (*BASE, Step(STEP, 6 * MIB, "step", chip=1)),
        {"model/run.py:20": ("same", 4 * MIB)},
        before=(*BASE, Step(STEP, 2 * MIB, "step", chip=1)),
        chips=PAIR,
        chips_before=PAIR,
    ),
    "a mesh": Planted(
        (bigger(WEIGHTS, 9 * MIB), *BASE[1:]), {"model/run.py:10": ("same", MIB)}, chips=PAIR, chips_before=PAIR,
        folded=2, is_mesh=True,
    ),
    "another machine": Planted(
        (bigger(WEIGHTS, 12 * MIB), *BASE[1:]), {"model/run.py:10": ("same", 4 * MIB)}, chips=(0x99,)
    ),
    "a phase below the peak": Planted(
        (Step(OTHER, MIB, "warm", is_kept=False), *BASE),
        {"model/extra.py:3": ("same", MIB - 4096)},
        before=(Step(OTHER, 4096, "warm", is_kept=False), *BASE),
        phase="warm",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


def compared(nursery: Nursery, directory: Path, planted: Planted) -> Any:
    pair = [
        Recording(recorded(nursery, directory / f"{name}-journals", directory / f"{name}.ttmem", steps, chips=chips,
                           is_mesh=planted.is_mesh))
        for name, steps, chips in (
            ("before", planted.before, planted.chips_before), ("after", planted.after, planted.chips),
        )
    ]  # fmt: skip
    return recording_diff(*pair, by=(planted.by,))  # type: ignore[arg-type]


def first_word(line: LineChange) -> str:
    return line.names[0].split(" ")[0]


@pytest.mark.parametrize("name", PLANTED)
def test_what_was_planted_is_named_with_its_bytes(nursery: Nursery, tmp_path: Path, name: str) -> None:
    planted = PLANTED[name]

    found = compared(nursery, tmp_path, planted)

    pools = [one for one in (found.phases if planted.phase else found.pools) if one.phase == planted.phase]
    changed = [one for one in pools if any(line.change_bytes for line in one.lines) and one.pool.word == planted.pool]
    lines = [line for one in changed for line in one.lines if line.change_bytes]
    assert {first_word(line): (line.state, line.change_bytes) for line in lines} == planted.lines
    for one in changed:
        assert one.is_alive_known
        assert len(one.chips) == planted.folded
        assert one.after_bytes - one.before_bytes == one.change_bytes == sum(line.change_bytes for line in one.lines)
        assert sum(line.before_bytes for line in one.lines) == one.before_bytes
        assert sum(line.after_bytes for line in one.lines) == one.after_bytes


@pytest.fixture(scope="module")
def pair(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    directory = tmp_path_factory.mktemp("pair")
    before, after = (
        recorded(nursery, directory / f"{name}-journals", directory / f"{name}.ttmem", steps)
        for name, steps in (("before", BASE), ("after", (bigger(WEIGHTS, 9 * MIB), *BASE[1:])))
    )
    return str(before), str(after)


class Said(NamedTuple):
    code: int
    out: str
    err: str


def ttmem(capsys: pytest.CaptureFixture[str], *arguments: str) -> Said:
    code = run_program([*arguments])
    return Said(code, *capsys.readouterr())


@pytest.mark.parametrize(
    ("limit", "code"), [("1%", 5), ("8%", 0), ("1MiB", 0), ("1023KiB", 5)]
)  # 1 MiB more than 13 MiB
def test_growth_beyond_a_limit_is_exit_code_five(
    capsys: pytest.CaptureFixture[str], pair: tuple[str, str], limit: str, code: int
) -> None:
    done = ttmem(capsys, "diff", *pair, "--max-growth", limit)

    assert done.code == code, done.err
    assert "  run.py:10 load" in done.out
    assert "+1.00 MiB" in done.out
    assert ("grew by more than allowed" in done.out) == (code == 5)


def test_the_document_says_the_same(capsys: pytest.CaptureFixture[str], pair: tuple[str, str]) -> None:
    found = json.loads(ttmem(capsys, "diff", *pair, "--max-growth", "1%", "--json").out)

    [pool] = found["pools"]
    assert (pool["pool"], pool["before_bytes"], pool["after_bytes"], pool["change_bytes"]) == (
        "dram", 13 * MIB, 14 * MIB, MIB,
    )  # fmt: skip
    assert pool["lines"][0]["names"] == [LOAD]
    assert {one["phase"] for one in found["phases"]} == {"load", "step"}
    assert len(found["over"]) == 1


def test_a_recording_does_not_differ_from_itself(pair: tuple[str, str]) -> None:
    same = Recording(Path(pair[0]))

    found = recording_diff(same, same, by=("site",))

    assert all(line.state == "same" and not line.change_bytes for one in found.pools for line in one.lines)
    assert not any(one.change_bytes for one in (*found.pools, *found.phases))


def test_different_boards_are_not_compared(
    capsys: pytest.CaptureFixture[str], nursery: Nursery, tmp_path: Path, pair: tuple[str, str]
) -> None:
    other = recorded(nursery, tmp_path / "journals", tmp_path / "other.ttmem", BASE, board=("blackhole", "p150"))

    with pytest.raises(SelectionError, match=r"same boards, found wormhole_b0 n300 in .* and blackhole p150 in"):
        recording_diff(Recording(Path(pair[0])), Recording(other), by=("site",))
    done = ttmem(capsys, "diff", pair[0], str(other))
    assert (done.code, done.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["{0}", "/"], 2, "not a recording"),
        (["{0}", "{1}", "--by", "colour"], 2, "'colour' is none of site"),
        (["{0}", "{1}", "--max-growth", "5"], 2, "has no unit"),
    ],
)
def test_what_is_asked_wrongly_is_answered_in_one_sentence(
    capsys: pytest.CaptureFixture[str], pair: tuple[str, str], arguments: list[str], code: int, said: str
) -> None:
    done = ttmem(capsys, "diff", *(one.format(*pair) for one in arguments))

    assert (done.code, said in done.err, done.err.count("\n")) == (code, True, 1), done.err
