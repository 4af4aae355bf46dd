"""What a recording says of growth: leaks, changes between equal phases, what was still held, what was temporary."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from ttmem.analysis.growth import (
    CountedSeries,
    GrownLine,
    GrownPool,
    GrowthReport,
    HeldCounter,
    HeldLine,
    LeakReport,
    RunCounter,
    RunSeries,
    Survivor,
    TemporaryCounter,
    TemporaryLine,
    TemporaryPool,
    TemporaryReport,
    repeated,
)
from ttmem.analysis.growth.counting import LineRuns
from ttmem.devices import PLANNED_POOLS, Kind, Pool
from ttmem.errors import SelectionError
from ttmem.figures.recorded import process_word
from ttmem.recording import EventKind, LifeProcess, Lives, PhaseRun, Recording, WantedLives
from ttmem.snapshot.selection import device_test, known_devices
from ttmem.snapshot.values import ChipId, ChipName, Hex, TimeNs, place_of

__all__ = ["LEAST_RUNS", "growth", "leaks", "temporary"]

LEAST_RUNS = 3
_SERVER_CHIPS = 0x5EED_0000  # of chips that are known by a number only


def leaks(recording: Recording, *, warmups: int = 1, pool: Pool | None = None, chip: str | None = None) -> LeakReport:
    """Lines whose live count rises from the end of each run of a phase to the next, without the first `warmups`.

    `pool` and `chip` (as `ps -i` names it) choose; a chip that is not there is a SelectionError, here and below.
    """
    counters, held = _counters(recording, warmups), HeldCounter()
    lives = _played(recording, [*counters, held], _wanted(counters))
    found: dict[tuple[object, ...], GrownLine] = {}
    for counter in counters:
        for line in counter.lines(lives.texts):
            if _has_risen(line):
                found.setdefault(line.key, _grown(recording, lives, counter.series, line))
    doubts = tuple(_doubts(recording, lives, [one.series.said for one in counters]))
    is_wanted = _selection(lives, pool, chip)
    return LeakReport(
        path=str(recording.path),
        series=tuple(one.series.said for one in counters),
        leaks=tuple(sorted(filter(is_wanted, found.values()), key=_leak_order)),
        held=tuple(filter(is_wanted, _held(lives, held))),
        is_sure=not doubts,
        doubts=doubts,
    )


def _leak_order(one: GrownLine) -> tuple[bool, int, str]:
    """What takes room first, the most first."""
    return one.pool in PLANNED_POOLS, -one.bytes_per_run, one.line


def growth(
    recording: Recording, *, warmups: int = 1, pool: Pool | None = None, chip: str | None = None
) -> GrowthReport:
    """Pools and lines at the end of each run of a phase."""
    counters = _counters(recording, warmups)
    lives = _played(recording, counters, _wanted(counters))
    pools: list[GrownPool] = []
    grown: list[GrownLine] = []
    for counter in counters:
        lines = [_grown(recording, lives, counter.series, line) for line in counter.lines(lives.texts)]
        pools += _pools(lines, counter.series.said.runs)
        grown += [line for line in lines if line.sizes[0] != line.sizes[-1]]
    doubts = tuple(_doubts(recording, lives, [one.series.said for one in counters]))
    is_wanted = _selection(lives, pool, chip)
    return GrowthReport(
        path=str(recording.path),
        series=tuple(one.series.said for one in counters),
        pools=tuple(filter(is_wanted, pools)),
        lines=tuple(sorted(filter(is_wanted, grown), key=lambda one: (-abs(one.sizes[-1] - one.sizes[0]), one.line))),
        is_sure=not doubts,
        doubts=doubts,
    )


def temporary(recording: Recording, *, pool: Pool | None = None, chip: str | None = None) -> TemporaryReport:
    """Buffers that were freed before their thread allocated again in that pool."""
    counter = TemporaryCounter()
    lives = _played(recording, [counter], WantedLives.ALL)
    lines: list[TemporaryLine] = []
    pools: dict[tuple[int, int, int], list[int]] = {}
    for one in counter.lines(lives.texts):
        sums = pools.setdefault((one.process, one.chips, one.pool), [0, 0, 0])
        sums[:] = (sums[0] + one.life_count, sums[1] + one.temporary_count, sums[2] + one.temporary_bytes)
        if one.temporary_count:
            lines.append(
                TemporaryLine(
                    process=_process_text(lives.processes[one.process]),
                    chips=_chips(lives, one.chips),
                    pool=Pool.numbered(one.pool),
                    line=one.line,
                    count=one.life_count,
                    temporary_count=one.temporary_count,
                    temporary_bytes=one.temporary_bytes,
                    largest_bytes=one.largest_bytes,
                    alive_ns=TimeNs(one.alive_ns),
                )
            )
    doubts = tuple(_gap_doubts(recording, lives))
    is_wanted = _selection(lives, pool, chip)
    return TemporaryReport(
        path=str(recording.path),
        pools=tuple(filter(is_wanted, _temporary_pools(lives, pools))),
        lines=tuple(sorted(filter(is_wanted, lines), key=lambda one: (-one.temporary_bytes, one.line))),
        is_sure=not doubts,
        doubts=doubts,
    )


def _temporary_pools(lives: Lives, sums: Mapping[tuple[int, int, int], Sequence[int]]) -> Iterator[TemporaryPool]:
    processes = lives.processes
    for (process, chips, pool), (count, temporary_count, size) in sums.items():
        yield TemporaryPool(
            process=_process_text(processes[process]),
            chips=_chips(lives, chips),
            pool=Pool.numbered(pool),
            count=count,
            temporary_count=temporary_count,
            temporary_bytes=size,
        )


# ---- which runs are compared


def _counters(recording: Recording, warmups: int) -> list[RunCounter]:
    """One for each phase of each process that ran often enough; else for its rounds of launches. Most runs first."""
    events = [EventKind.LAUNCHED, EventKind.PROGRAM_NAMED]
    lives = Lives(recording, events=events, wanted=WantedLives.NONE)
    launches = _launches(lives)
    phases, processes = lives.phases, lives.processes
    found: list[CountedSeries] = []
    for number, process in enumerate(processes):
        if not process.is_counted:
            continue
        runs = [run for run in phases if run.process == number and run.ended_sequence]
        its = list(_phase_series(number, _process_text(process), runs, warmups))
        if not its and number in launches:
            its = _launch_series(number, _process_text(process), launches[number], warmups)
        found += its
    return [RunCounter(one) for one in sorted(found, key=lambda one: (-len(one.marks), one.marks[0]))]


def _launches(lives: Lives) -> "dict[int, array[int]]":
    """What each process launched, in order: a number for each operation, or for a program that has none. It may
    be named only after its first launch."""
    programs: dict[tuple[int, int, int], int] = {}
    names: dict[int, int] = {}
    launched: dict[int, array[int]] = {}
    for batch in lives.batches():
        columns = (batch.events[name] for name in ("kind", "process", "target", "id", "name"))
        for kind, process, target, program, name in zip(*columns, strict=True):
            number = programs.setdefault((process, target, program), len(programs))
            if name:
                names[number] = name
            if kind == EventKind.LAUNCHED:
                launched.setdefault(process, array("I")).append(number)
    words = [-names[number] if number in names else number for number in range(len(programs))]
    return {process: array("q", (words[number] for number in its)) for process, its in launched.items()}


def _phase_series(number: int, process: str, runs: Sequence[PhaseRun], warmups: int) -> Iterator[CountedSeries]:
    by_name: dict[str, list[PhaseRun]] = {}
    for run in sorted(runs, key=lambda run: run.end_mark):
        by_name.setdefault(run.name, []).append(run)
    for name, its in by_name.items():
        compared = [run for run in its[warmups:] if not run.is_unsure]
        if len(compared) < LEAST_RUNS:
            continue
        said = RunSeries(
            process=process,
            name=name,
            is_inferred=False,
            run_count=len(its),
            warmup_count=warmups,
            unsure_count=len(its) - warmups - len(compared),
            runs=tuple(run.run for run in compared),
        )
        yield CountedSeries(number, said, [run.end_mark for run in compared], is_by_launch=False)


def _launch_series(number: int, process: str, launches: Sequence[int], warmups: int) -> list[CountedSeries]:
    """Rounds are compared where the next one begins: the last launch of all has nothing behind it."""
    rounds = repeated(launches)
    if rounds is None:
        return []
    marks = [start for start in rounds.starts[1:] if start < len(launches)][warmups:]
    if len(marks) < LEAST_RUNS:
        return []
    said = RunSeries(
        process=process,
        name=_counted(rounds.length, "launch", "es"),
        is_inferred=True,
        run_count=len(marks) + warmups,
        warmup_count=warmups,
        unsure_count=0,
        runs=tuple(range(warmups + 1, warmups + 1 + len(marks))),
    )
    return [CountedSeries(number, said, marks, is_by_launch=True)]


# ---- what was counted, in words


def _counted(count: int, word: str, ending: str) -> str:
    return f"{count} {word}{'' if count == 1 else ending}"


def _has_risen(line: LineRuns) -> bool:
    return all(before < after for before, after in pairwise(line.counts))


def _wanted(counters: Iterable[RunCounter]) -> WantedLives:
    """To compare by launches takes all of them."""
    return WantedLives.ALL if any(one.series.is_by_launch for one in counters) else WantedLives.LASTING


def _played(
    recording: Recording, counters: Iterable[RunCounter | HeldCounter | TemporaryCounter], wanted: WantedLives
) -> Lives:
    lives = Lives(recording, events=(), wanted=wanted)
    for batch in lives.batches():
        for counter in counters:
            counter.add(batch)
    return lives


def _grown(recording: Recording, lives: Lives, series: CountedSeries, line: LineRuns) -> GrownLine:
    return GrownLine(
        process=series.said.process,
        phase=series.said.name,
        chips=_chips(lives, line.key.chips),
        pool=Pool.numbered(line.key.pool),
        kind=Kind.numbered(line.key.kind).word,
        line=line.key.line,
        counts=line.counts,
        sizes=line.sizes,
        bytes_per_run=_per_run(line.sizes, series.said.runs),
        first_survivor=_survivor(recording, lives, series, line),
    )


def _survivor(recording: Recording, lives: Lives, series: CountedSeries, line: LineRuns) -> Survivor | None:
    its = line.first
    if its is None:
        return None
    return Survivor(
        run=series.said.runs[its.run],
        began_ns=TimeNs(recording.wall_ns(its.began_ns)),
        since_start_ns=TimeNs(max(0, its.began_ns - recording.first_ns)),
        id=Hex(its.id),
        address=Hex(its.address),
        size_bytes=its.size_bytes,
        thread=its.thread,
        site=lives.texts[its.site],
        operation=lives.texts[its.operation],
        tensor=lives.texts[its.tensor],
    )


def _per_run(sizes: Sequence[int], runs: Sequence[int]) -> int:
    """Between two compared runs there may be others, which were left out."""
    return (sizes[-1] - sizes[0]) // (runs[-1] - runs[0])


def _pools(lines: Iterable[GrownLine], runs: Sequence[int]) -> Iterator[GrownPool]:
    sums: dict[tuple[str, str, tuple[ChipName, ...], Pool], list[int]] = {}
    for line in lines:
        name = (line.process, line.phase, line.chips, line.pool)
        its = sums.setdefault(name, [0] * len(line.sizes))
        its[:] = map(sum, zip(its, line.sizes, strict=True))
    for (process, phase, chips, pool), its in sums.items():
        yield GrownPool(
            process=process,
            phase=phase,
            chips=chips,
            pool=pool,
            sizes=tuple(its),
            bytes_per_run=_per_run(its, runs),
        )


def _held(lives: Lives, counter: HeldCounter) -> list[HeldLine]:
    processes = lives.processes
    found = [
        HeldLine(
            process=_process_text(processes[key.process]),
            chips=_chips(lives, key.chips),
            pool=Pool.numbered(key.pool),
            kind=Kind.numbered(key.kind).word,
            line=key.line,
            until=until,
            count=count,
            size_bytes=size,
        )
        for key, until, count, size in counter.lines(lives.texts)
    ]
    return sorted(found, key=lambda one: (-one.size_bytes, one.line))


def _process_text(process: LifeProcess) -> str:
    return process_word(process.pid, process.label or process.command)


def _chips(lives: Lives, number: int) -> tuple[ChipName, ...]:
    indexes = {row[0]: row[1] for row in lives.chips if row[1] >= 0}
    return tuple(_chip_name(chip, indexes.get(chip)) for chip in lives.chip_sets[number])


def _chip_name(chip: int, index: int | None) -> ChipName:
    if chip >> 32 == _SERVER_CHIPS:
        number = chip & 0xFFFF_FFFF
        return ChipName(0, ChipId(0), number, is_known=False, name=f"server:{number}")
    return ChipName(0, ChipId(chip), index, is_known=True, name="")


def _selection(
    lives: Lives, pool: Pool | None, chip: str | None
) -> Callable[[GrownLine | GrownPool | HeldLine | TemporaryLine | TemporaryPool], bool]:
    """Whether something was asked for."""
    is_meant = device_test(chip) if chip is not None else None
    known = {name for number in range(len(lives.chip_sets)) for name in _chips(lives, number)}
    if is_meant is not None and not any(map(is_meant, known)):
        raise SelectionError(f"no chip {chip} in this recording; {known_devices(sorted(known, key=place_of))}")
    return lambda one: (pool is None or one.pool is pool) and (is_meant is None or any(map(is_meant, one.chips)))


# ---- how sure it is


def _doubts(recording: Recording, lives: Lives, series: Sequence[RunSeries]) -> Iterator[str]:
    if not series:
        yield (
            f"nothing to compare: no phase ended {LEAST_RUNS} times behind its warm-ups, and no launches repeat as "
            "often; put ttmem.phase(...) around what is repeated"
        )
    for one in series:
        if one.is_inferred:
            yield (
                f"{one.process}: rounds are inferred from {one.name}, repeated {one.run_count} times, because no "
                f"phase ended {LEAST_RUNS} times behind its warm-ups"
            )
        if one.unsure_count:
            yield f"{one.process}: {_counted(one.unsure_count, 'run', 's')} of {one.name} ended within gaps: left out"
    yield from _gap_doubts(recording, lives)


def _gap_doubts(recording: Recording, lives: Lives) -> Iterator[str]:
    for process in lives.processes:
        if process.gap_count:
            times = _counted(process.gap_count, "time", "s")
            yield (
                f"{_process_text(process)} could not be followed {times}: what began and ended meanwhile is not known"
            )
        if process.was_found:
            yield f"{_process_text(process)} was running before it was recorded: what it freed before is not known"
    yield from recording.troubles
