"""What lives of a recording add up to at noted moments, held against what a model and a living ledger had then."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ttmem.figures.growing import leaks
from ttmem.recording import Ending, Life, LifeFlag, Lives, Recording

__all__ = ["compare_held", "compare_lives", "is_alive_at", "may_be_alive_at"]

_Use = dict[int, dict[str, Any]]


def is_alive_at(life: Life, at_ns: int) -> bool:
    return life.begin_ns <= at_ns and (life.ending is Ending.ALIVE or life.end_ns > at_ns)


def may_be_alive_at(life: Life, at_ns: int) -> bool:
    """Also one that ended at an unknown moment behind that one, or around it."""
    return is_alive_at(life, at_ns) or (
        life.ending is Ending.LOST and life.begin_ns <= at_ns and (life.latest_end_ns or at_ns) >= at_ns
    )


def used_by(lives: Iterable[Life]) -> _Use:
    used: dict[int, Counter[str]] = {}
    for life in lives:
        for chip in life.chips:
            used.setdefault(chip, Counter())[life.pool.word] += life.bytes
    return {chip: {pool: size for pool, size in pools.items() if size} for chip, pools in used.items()}


def compare_lives(recording: Recording, noted: Iterable[tuple[int, _Use, list[tuple[Any, ...]]]]) -> int:
    """Every moment, with what was alive by its sequence; returns how many lives there are."""
    lives = list(Lives(recording).rows())
    assert len({(life.process, life.begin_sequence) for life in lives}) == len(lives)
    for at_ns, used, alive in noted:
        sure = [life for life in lives if is_alive_at(life, at_ns)]
        possible = [life for life in lives if may_be_alive_at(life, at_ns)]
        low, high = used_by(sure), used_by(possible)
        for chip, pools in used.items():
            for pool, size in pools.items():
                least, most = low.get(chip, {}).get(pool, 0), high.get(chip, {}).get(pool, 0)
                assert least <= size <= most, f"{chip} {pool}: {least} <= {size} <= {most}"
                assert len(sure) < len(possible) or least == size
        if len(sure) == len(possible):
            assert sorted(_told(life) for life in sure if not life.flags & LifeFlag.IS_PART) == sorted(
                _listed(row) for row in alive
            )
        _compare_ranges(recording, lives, at_ns)
    return len(lives)


def compare_held(recording: Recording, used: _Use) -> None:
    """What was alive in L1 when all devices were closed is what the program never freed. (Programs give theirs back; of
    DRAM the model knows the sum with their binaries.)"""
    held: dict[int, Counter[str]] = {}
    for line in leaks(recording).held:
        assert line.until == "device closed"
        for one in line.chips:
            held.setdefault(one.unique_id, Counter())[line.pool.word] += line.size_bytes
    for chip, its in used.items():
        told = held.get(chip) or Counter()
        assert told["dram"] <= its.get("dram", 0)
        assert {pool: told[pool] for pool in ("l1", "l1_small")} == {
            pool: its.get(pool, 0) for pool in ("l1", "l1_small")
        }, (told, its)


def _compare_ranges(recording: Recording, lives: list[Life], at_ns: int) -> None:
    """From a moment on is what was not over by then; until it is what had begun, and what was alive then is alive."""
    begun = {life.begin_sequence: is_alive_at(life, at_ns) for life in lives if life.begin_ns <= at_ns}
    until = {life.begin_sequence: life.ending is Ending.ALIVE for life in Lives(recording, until_ns=at_ns).rows()}
    assert until.keys() == begun.keys()
    if not any(life.ending is Ending.LOST for life in lives):
        assert until == begun
    later = {life.begin_sequence for life in lives if not life.latest_end_ns or life.latest_end_ns >= at_ns}
    assert {life.begin_sequence for life in Lives(recording, from_ns=at_ns).rows()} == later


def _told(life: Life) -> tuple[Any, ...]:
    names = (life.thread, life.program or 0, life.operation, life.tensor, life.site)
    return (life.begin_sequence, life.kind.number, life.id, life.pool.number, life.address, *names)


def _listed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """As `comparison.alive_in` has it."""
    kind, number, pool, _, _, _, address, _, _, thread, _, sequence = row[:12]
    return (sequence, kind, number, pool, address, thread, row[13] or 0, row[18], row[19], row[21])
