"""What the overview says of each chip, read from its picture: figures by their titles, whatever the layout."""

import re

from tests.support.monitored.pictures import rows_of, words_of
from ttmem.view.texts import signed_text

_SIZE = r"(\d[\d.]*(?: ?[KMGT]?i?B|[KMGTB])|\d+)"
_SIGNED = _SIZE.replace("(", "(-?", 1)
TITLES = {
    "dram": rf"\bDRAM {{2,}}{_SIZE} ?/",
    "dram_total": rf"\bDRAM {{2,}}\S+(?: [KMGT]?i?B)? ?/ ?{_SIZE}",
    "core": rf"\bL1 {{2,}}{_SIZE} ?/",
    "core_total": rf"\bL1 {{2,}}\S+(?: [KMGT]?i?B)? ?/ ?{_SIZE}",
    "core_share": r"\bL1 {2,}[^%\n]*?(\S+%)",
    "planned_core": rf"(?<!CBs )\bplanned +{_SIZE}",
    "headroom": rf"\bheadr(?:oom)? +{_SIGNED}",
    "buffers": rf"\bL1 buf(?:fers)? +{_SIZE}",
    "l1_total": rf"\bL1 total +{_SIZE}",
    "resident": rf"\bCBs? now +{_SIZE}",
    "planned": rf"\bCBs? plan(?:ned)? +{_SIZE}",
    "ring": rf"\b(?:kernel )?ring +{_SIZE}",
    "application": rf"\bapp \(?(\d+)\)? +{_SIZE}",
    "fabric": rf"\bfabric \(?(\d+)\)? +{_SIZE}",
    "dispatch": rf"\bdisp(?:atch)? \(?(\d+)\)? +{_SIZE}",
    "small": rf"\b(?:L1_SMALL|small) +{_SIZE}",
    "trace": rf"\btrace +{_SIZE}",
    "l1_block": rf"\b(?:L1 bl(?:oc)?k|L1 {{2,}}.*\bblock) +{_SIZE}",
    "dram_block": rf"\b(?:DRAM bl(?:oc)?k|DRAM {{2,}}.*\bblock) +{_SIZE}",
    "l1_peak": rf"\b(?:L1 peak|L1 {{2,}}.*\bpeak) +≥?{_SIZE}",
    "dram_peak": rf"\b(?:(?:DRAM|D) peak|DRAM {{2,}}.*\bpeak) +≥?{_SIZE}",
    "launches": r"\blaunches +(\d[\d,]*)",
}


def cards_of(svg: str, count: int) -> dict[int, str]:
    """The part of the picture that each chip has: from its index to the next one to the right and below."""
    found = [word for word in words_of(svg) if word.style == "index" and word.text.isdigit() and int(word.text) < count]
    heads = list({int(word.text): word for word in reversed(found)}.values())
    rows = rows_of(svg)
    cards = {}
    for head in heads:
        right = min((one.column for one in heads if one.row == head.row and one.column > head.column), default=1000)
        below = min((one.row for one in heads if one.row > head.row), default=len(rows))
        last = next((row for row in range(head.row, below) if "STATE" in rows[row]), below)
        left = round(head.column)
        cards[int(head.text)] = "\n".join(row[left : round(right)] for row in rows[head.row : last])
    return cards


def figures_in(card: str) -> dict[str, tuple[str, ...]]:
    """Every figure that is shown under a title this reader knows."""
    found = {name: re.search(pattern, card) for name, pattern in TITLES.items()}
    return {name: match.groups() for name, match in found.items() if match}


def shown_as(size_bytes: int) -> set[str]:
    """How a figure may be written."""
    tight = signed_text(size_bytes).replace(" ", "").removesuffix("iB")
    return {signed_text(size_bytes), tight}
