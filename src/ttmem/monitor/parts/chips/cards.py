"""One chip as a framed card.

╭─ 0  n300 ──────────────────────── 48 °C  30 W  1000 MHz ─╮
│ DRAM █████████████████████████████│                74%   │
│      8.86 of 11.9 GiB            largest block 3.09 GiB  │
│ L1   ███▌              ┊                            5%   │
│      73.0 KiB of 1.40 MiB   headroom 600 KiB planned 59% │
│      ▂▅▇█▆▅▂▂                         4,310 launches/s   │
│      ██████████                              last 60 s   │
│ no incidents                            llama-8b (anna)  │
╰──────────────────────────────────────────────────────────╯
"""

from ttmem.monitor.parts.chips.figures import ChipView, Gauge, figures_of, gauge_line, of_text, share_span
from ttmem.monitor.parts.drawing import DrawArea, Pen, framed, placed
from ttmem.monitor.parts.news import ago_text
from ttmem.view.bars import graph
from ttmem.view.table import Line, Role, Span, clipped, width_of
from ttmem.view.texts import plural, signed_text

__all__ = [
    "CARD_LINES",
    "GUTTER",
    "badge_spans",
    "card_lines",
    "figure_rows",
]

CARD_LINES = 9
GUTTER = 1  # blanks between two cards
_LABEL = 6  # columns of ` DRAM `
_SHARE = 6  # of ` ▲100%`
_FIGURE_LEAST = 27  # columns of a small figure


def badge_spans(chip: ChipView, width: int, area: DrawArea, *, has_figures: bool = False) -> Line:
    """What happened on the chip: a badge while it is news, then a count in grey."""
    news = chip.news
    if news is None:
        return (Span("no incidents", Role.DIM),)
    if not news.is_fresh:
        return (Span(f"{plural(news.incident_count, 'incident', 's')}, {ago_text(news.age_ns)}", Role.DIM),)
    mark = "!" if area.is_ascii else "✖"
    badge = Span(f" {mark} {news.words} ", Role.BADGE)
    ago = Span(f" {ago_text(news.age_ns)}", Role.FULL)
    if badge.width + ago.width > width:
        return (Span(clipped(badge.text, width, is_ascii=area.is_ascii), Role.BADGE),)
    return (badge, ago)


def card_lines(chip: ChipView, width: int, area: DrawArea, *, has_figures: bool = False) -> list[Line]:
    """The card; with all small figures below its meters if wanted."""
    inner = width - 2
    bar = inner - _LABEL - _SHARE
    lines: list[Line] = []
    for gauge, words in ((chip.dram, _dram_words), (chip.l1, _l1_words)):
        lines.append(
            (
                Span(f" {gauge.word if len(gauge.word) < _LABEL - 1 else 'L1'}".ljust(_LABEL), Role.TITLE),
                *gauge_line(gauge, bar, area),
                share_span(gauge, _SHARE, area),
            )
        )
        when = " now" if gauge.word == "L1" else ""  # what is planned stands in the same line
        lines.append((Span(f"{when:{_LABEL}}", Role.DIM), *words(chip, gauge, inner - _LABEL - 1), Span(" ")))
    lines += _launch_lines(chip, inner, area)
    if has_figures:
        lines += figure_rows(chip, inner, area)
    lines.append(_last_line(chip, inner, area))
    role = Role.FULL if chip.is_alarming else Role.FRAME
    return framed(lines, width, _title(chip, area), _sensors(chip, area), role=role, is_ascii=area.is_ascii)


def _title(chip: ChipView, area: DrawArea) -> Line:
    index = Role.SELECTED if chip.is_selected else Role.INDEX
    pointer = ">" if chip.is_selected else ""
    mark, role = chip.mark
    marked = (Span(mark, role),) if mark.strip() else ()
    return (Span(f"{pointer}{chip.name}", index), *marked, Span(f"  {chip.board}", Role.DIM))


def _sensors(chip: ChipView, area: DrawArea) -> Line:
    text = "  ".join(chip.sensor_texts())
    return (Span(text.replace("°", "") if area.is_ascii else text),) if text else ()


def _dram_words(chip: ChipView, gauge: Gauge, width: int) -> Line:
    used = Span(gauge.mark + of_text(gauge.used_bytes, gauge.total_bytes))
    note = (Span(f" {gauge.note}", Role.NOTICE),) if gauge.note else ()
    is_split = chip.hole_count is not None and chip.hole_count > 1
    return placed((used, *note), width, (Span(chip.block_text, Role.TITLE if is_split else Role.DIM),))


def _l1_words(chip: ChipView, gauge: Gauge, width: int) -> Line:
    used = Span(gauge.mark + of_text(gauge.used_bytes, gauge.total_bytes))
    note = [Span(f" {gauge.note}", Role.NOTICE)] if gauge.note else []
    if gauge.word != "L1":
        return placed((used, *note, Span(" of L1 buffers", Role.DIM)), width)
    headroom = chip.usage.headroom_bytes
    right = [Span(chip.planned_text, Role.DIM)] if chip.planned_text else []
    room = width - used.width - 1 - sum(span.width for span in (*note, *right))
    if headroom is not None and room >= len(text := f"headroom {signed_text(headroom)}  "):
        right.insert(0, Span(text, Role.DIM if headroom >= 0 else Role.TITLE))
        room -= len(text)
    core = chip.usage.fullest_core
    place = f" on core {core[0]},{core[1]}" if core else " on each core"
    if room > len(place):
        note.append(Span(place, Role.DIM))
    return placed((used, *note), width, tuple(right))


def _launch_lines(chip: ChipView, inner: int, area: DrawArea) -> list[Line]:
    """The last minute in two rows, and how many there are now."""
    words = [chip.launches_text, chip.idle_text or "last 60 s"]
    room = inner - _LABEL - 1 - max(map(len, words)) - 2
    top = max((value for value in chip.samples if value), default=1)
    rows = graph(chip.samples, max(1, min(60, room)), 2, top, is_ascii=area.is_ascii)
    roles = (Role.TITLE if chip.launches else Role.DIM, Role.DIM)
    return [
        (
            Span(" " * _LABEL),
            *placed(row, inner - _LABEL - 1, (Span(text, role),)),
            Span(" "),
        )
        for row, text, role in zip(rows, words, roles, strict=True)
    ]


def _last_line(chip: ChipView, inner: int, area: DrawArea) -> Line:
    left = badge_spans(chip, inner - 1, area)
    room = inner - 2 - sum(span.width for span in left) - 1
    owner = clipped(chip.owner, room, is_ascii=area.is_ascii) if room > 3 else ""
    return (*placed((Span(" "), *left), inner - 1, (Span(owner, Role.DIM),) if owner else ()), Span(" "))


def figure_rows(chip: ChipView, inner: int, area: DrawArea) -> list[Line]:
    """Everything else that is known of the chip, in columns of one width."""
    across = max(1, (inner - 2) // _FIGURE_LEAST)
    width = (inner - 2) // across
    figures = list(figures_of(chip.usage, is_ascii=area.is_ascii))
    lines = []
    for begin in range(0, len(figures), across):
        pen = Pen().put(" ")
        for figure in figures[begin : begin + across]:
            value = figure.value
            room = width - 2 - width_of(value) - 1
            pen.name(figure.name, room, Role.DIM, is_ascii=area.is_ascii).put(f" {value}  ")
        lines.append(pen.to(inner).done())
    return lines
