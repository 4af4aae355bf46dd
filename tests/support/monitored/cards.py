"""What the overview says of each chip, read from its picture: figures by their titles, whatever the layout."""

import re

from tests.support.monitored.pictures import rows_of, words_of
from ttmem.view.texts import signed_text

_SIZE = r"(\d[\d.]* [KMGT]?i?B)"
_SIGNED = _SIZE.replace("(", "(-?", 1)
_OF = r"[^\n]*\n\W*(?:now +)?~?(\d[\d.]*(?: [KMGT]?i?B)?) of (\d[\d.]* [KMGT]?i?B)"
_HEADS = ("index", "full", "selected")
CARD = {
    "dram_share": r"\bDRAM [^%\n]*?([<>]?\d+%)",
    "core_share": r"\bL1 [^%\n]*?([<>]?\d+%)",
    "headroom": rf"\bheadroom {_SIGNED}",
    "planned_share": r"\bplanned ([<>]?\d+%)",
    "dram_block": rf"\blargest(?: block)? {_SIZE}",
    "idle": r"\bidle (\d+ (?:s|min))",
    "rate": r"(\d[\d,]*) launches/s",
    # With all figures.
    "planned_core": rf"\bplanned core +{_SIZE}",
    "buffers": rf"\bL1 buffers +{_SIZE}",
    "l1_total": rf"\bL1 total +{_SIZE}",
    "resident": rf"\bcircular buffers +{_SIZE}",
    "planned": rf"\bcircular planned +{_SIZE}",
    "ring": rf"\bkernel code +{_SIZE}",
    "application": rf"\bkernels \((\d+)\) +{_SIZE}",
    "fabric": rf"\bfabric \((\d+)\) +{_SIZE}",
    "dispatch": rf"\bdispatch \((\d+)\) +{_SIZE}",
    "small": rf"\bsmall buffers +{_SIZE}",
    "trace": rf"\btrace region +{_SIZE}",
    "l1_block": rf"\bL1 block +{_SIZE}",
    "l1_peak": rf"\bL1 peak +≥?{_SIZE}",
    "dram_peak": rf"\bDRAM peak +≥?{_SIZE}",
    "launches": r"\blaunches in all +(\d[\d,]*)",
}
_ROW = re.compile(
    rf"\d+\W+[\w ]*?{_SIZE} +([<>]?\d+%) +(?:{_SIZE} +)?{_SIZE} +([<>]?\d+%)(?: +([<>]?\d+%))?(?: +(\d[\d,.]*k?)\b)?"
)
_ROW_NAMES = ("dram", "dram_share", "dram_block", "core", "core_share", "planned_share", "rate")


def cards_of(svg: str, count: int) -> dict[int, str]:
    """The part of the picture that each chip has: from its index to the next one to the right and below."""
    found = [word for word in words_of(svg) if word.style in _HEADS and word.text.strip(" >").isdigit()]
    found = [word for word in found if int(word.text.strip(" >")) < count and word.row > 1]
    heads = list({int(word.text.strip(" >")): word for word in reversed(found)}.values())
    rows = rows_of(svg)
    cards = {}
    for head in heads:
        right = min((one.column for one in heads if one.row == head.row and one.column > head.column), default=1000)
        below = min((one.row for one in heads if one.row > head.row), default=len(rows))
        last = next((row for row in range(head.row, below) if re.search(r"\bPID\b|^ +all ", rows[row])), below)
        left = max(0, round(head.column) - 3)
        ending = 1000 if right == 1000 else round(right) - 4
        cards[int(head.text.strip(" >"))] = "\n".join(row[left:ending] for row in rows[head.row : last])
    return cards


def figures_in(card: str) -> dict[str, tuple[str, ...]]:
    """Every figure that is shown under a title this reader knows."""
    found = {name: match.groups() for name, pattern in CARD.items() if (match := re.search(pattern, card))}
    for names, word in ((("dram", "dram_total"), "DRAM"), (("core", "core_total"), "L1")):
        if match := re.search(rf"\b{word}\b{_OF}", card):
            used, total = match.groups()
            found[names[0]] = (used if " " in used else f"{used} {total.split()[1]}",)
            found[names[1]] = (total,)
    row = _ROW.search(card.splitlines()[0])
    if row:
        found |= {name: (text,) for name, text in zip(_ROW_NAMES, row.groups(), strict=True) if text}
    return found


def shown_as(size_bytes: int) -> set[str]:
    """How a figure may be written."""
    return {signed_text(size_bytes)}
