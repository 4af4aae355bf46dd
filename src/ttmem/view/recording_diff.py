"""The page of `ttmem diff`: what each pool was at its highest before and after, and which lines made the difference."""

from collections.abc import Iterator, Sequence
from functools import partial

from ttmem.analysis.growth.diff import ComparedRecording, LineChange, PoolChange, RecordingDiff, above_noise
from ttmem.analysis.limits import Amount
from ttmem.view.page import PageOptions
from ttmem.view.table import Cell, Column, Line, Role, Span, cell, clean, clipped, table, wrapped
from ttmem.view.texts import clock_text, count_text, devices_word, name_text, plural, size_text

__all__ = ["change_text", "diff_page", "pool_text"]

_NAME_LEAST, _NAME_MOST = 20, 120
_MOST_PHASES = 8
_UNKNOWN = "not known"


def diff_page(diff: RecordingDiff, options: PageOptions, *, noise: Amount, most: int) -> list[Line]:
    """All lines, top to bottom; of each pool the `most` largest changes (0: all)."""
    lines: list[Line] = [*_recording("before", diff.before), *_recording("after ", diff.after)]
    if not diff.pools:
        lines += [(), cell("no device memory was held in either", Role.DIM)]
    for pool in diff.pools:
        lines += [(), *_pool(pool, diff, options, noise, most)]
    lines += _phases(diff, options, noise, most)
    for word, names in (("new", diff.new_phases), ("gone", diff.gone_phases)):
        if names:
            lines += [(), cell(f"{word} phases: {', '.join(map(clean, names))}", Role.DIM)]
    doubts = [*_doubts("before", diff.before), *_doubts("after", diff.after)]
    if any(line.state == "moved" for pool in (*diff.pools, *diff.phases) for line in pool.lines):
        doubts.append(
            "moved lines were matched by file, function, operation and tensor: a recording has no text of lines"
        )
    if doubts:
        lines += [(), *wrapped(doubts, Role.DIM, "! ", options.width)]
    if diff.over:
        lines += [(), *(cell(f"grew by more than allowed: {text}", Role.FULL) for text in diff.over)]
    return lines


def pool_text(change: PoolChange) -> str:
    """0-3 dram, or 0-3 dram in decode."""
    phase = f" in {clean(change.phase)}" if change.phase else ""
    return f"{devices_word(change.chips)} {change.pool.word}{phase}"


def change_text(change: PoolChange) -> str:
    """4.00 MiB -> 6.00 MiB, +2.00 MiB (+50%)."""
    text = f"{size_text(change.before_bytes)} -> {size_text(change.after_bytes)}"
    return f"{text}  {_signed(change.change_bytes)}{_share(change)}"


def _share(change: PoolChange) -> str:
    if not change.before_bytes or not change.change_bytes:
        return ""
    return f" ({100 * change.change_bytes / change.before_bytes:+.3g}%)"


def _signed(size_bytes: int) -> str:
    """+2.00 MiB, -512 B; 0 has no sign."""
    sign = "+" if size_bytes > 0 else "-" if size_bytes < 0 else ""
    return sign + size_text(abs(size_bytes))


def _recording(word: str, one: ComparedRecording) -> Iterator[Line]:
    name = " ".join(one.command) or one.label
    facts = f"  {clean(name)}  " if name else "  "
    yield (
        Span(f"{word} "),
        Span(clean(one.path), Role.TITLE),
        Span(f"{facts}{one.duration_ns / 1e9:.3f} s from {clock_text(one.began_ns)}", Role.DIM),
    )


def _pool(change: PoolChange, diff: RecordingDiff, options: PageOptions, noise: Amount, most: int) -> list[Line]:
    role = Role.HIGH if change.change_bytes > 0 else Role.NOTICE
    chips = "" if change.state == "same" else f"  {plural(len(change.chips), 'chip', 's')} {change.state}"
    lines: list[Line] = [
        (
            Span(pool_text(change), Role.INDEX),
            Span(f"  highest {change_text(change)}", role if change.change_bytes else Role.DIM),
            Span(chips, Role.HIGH),
        )
    ]
    shown = above_noise(change, noise)
    if shown:
        lines += _changed_lines(shown[: most or None], diff.by, options)
    lines += [cell(f"  {text}", Role.DIM) for text in _rest(change, shown, most)]
    return lines


def _rest(change: PoolChange, shown: Sequence[LineChange], most: int) -> Iterator[str]:
    """What is not in the list, so that the list and this are the whole difference."""
    left_out = [*shown[most or len(shown) :]]
    if left_out:
        total = _signed(sum(one.change_bytes for one in left_out))
        yield f"{plural(len(left_out), 'more change', 's')} of {total} together: --all"
    small = [one for one in change.lines if one.change_bytes and one not in shown]
    if small:
        total = _signed(sum(one.change_bytes for one in small))
        yield f"{plural(len(small), 'change', 's')} below the noise, of {total} together: --noise"
    if not change.is_alive_known:
        yield "what was alive at one of the two peaks is not all known"


def _changed_lines(shown: Sequence[LineChange], by: Sequence[str], options: PageOptions) -> list[Line]:
    rows = [
        [
            cell(_signed(one.change_bytes), Role.HIGH if one.change_bytes > 0 else Role.NOTICE),
            cell("" if one.state == "new" else size_text(one.before_bytes)),
            cell("" if one.state == "gone" else size_text(one.after_bytes)),
            cell(_counts(one)),
            cell("" if one.state == "same" else one.state),
            *_names(one, by, options),
        ]
        for one in shown
    ]
    least, most = (0, None) if options.width is None else (_NAME_LEAST, _NAME_MOST)
    columns = [Column(title, is_right=True) for title in ("CHANGE", "BEFORE", "AFTER", "COUNT")]
    columns += [Column(""), *(Column(word.upper(), least=least, most=most) for word in by)]
    return table(columns, rows, width=options.width)


def _counts(one: LineChange) -> str:
    if one.before_count == one.after_count:
        return count_text(one.after_count)
    return f"{count_text(one.before_count)} to {count_text(one.after_count)}"


def _names(one: LineChange, by: Sequence[str], options: PageOptions) -> Iterator[Cell]:
    for at, (name, word) in enumerate(zip(one.names, by, strict=True)):
        text = name_text(name, word)
        if one.was and one.was[at] != name:
            text += f" (was {name_text(one.was[at], word)})"
        role = Role.PLAIN if text else Role.DIM
        text = text or ("no phase" if word == "phase" else _UNKNOWN)
        yield cell(text, role) if options.width is None else partial(_clipped, text, role, options.is_ascii)


def _clipped(text: str, role: Role, is_ascii: bool, width: int) -> Line:
    return cell(clipped(text, width, is_ascii=is_ascii), role)


def _phases(diff: RecordingDiff, options: PageOptions, noise: Amount, most: int) -> Iterator[Line]:
    """Those that changed, each with its lines; the others are counted."""
    changed = [one for one in diff.phases if above_noise(one, noise) or one.change_bytes]
    changed.sort(key=lambda one: -abs(one.change_bytes))
    for change in changed[: _MOST_PHASES if most else None]:
        yield ()
        yield from _pool(change, diff, options, noise, most)
    if most and len(changed) > _MOST_PHASES:
        yield cell(f"{plural(len(changed) - _MOST_PHASES, 'more phase', 's')} changed: --all", Role.DIM)
    same = len(diff.phases) - len(changed)
    if same:
        yield ()
        yield cell(f"{plural(same, 'figure', 's')} of phases did not change", Role.DIM)


def _doubts(word: str, one: ComparedRecording) -> Iterator[str]:
    if one.lost_record_count:
        records = plural(one.lost_record_count, "record", "s")
        yield f"{word}: {records} came too late: balances are right, but what was alive meanwhile is not known"
    yield from (f"{word}: {clean(text)}" for text in one.troubles)
