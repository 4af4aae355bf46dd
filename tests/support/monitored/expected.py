"""What may stand on a picture of the monitor, by the runtime model's arithmetic."""

import re
from typing import Any

from tests.support.monitored.cards import figures_in, shown_as
from ttmem.metal import architecture
from ttmem.view.texts import share_text

WORMHOLE = architecture("wormhole_b0")
RING_BYTES = WORMHOLE.ring_bytes()
ANY_TIME, ANY_COUNT = {r"^\d+ (s|min)$"}, {r"^[\d,.]+k?$"}  # of the moment: held by tests that make it
CORE_BYTES = WORMHOLE.l1_bytes - WORMHOLE.kernel_config_base


def expected_of(truth: dict[str, Any], grid: tuple[int, int]) -> dict[str, set[str] | tuple[str, set[str]]]:
    """What may stand under each title, by the model's arithmetic."""
    used, counts, kernels = truth["used"], truth["counts"], truth["kernels"]
    core_count = grid[0] * grid[1]
    ring = RING_BYTES * core_count
    common = (used["l1"] + used["l1_small"]) // core_count + RING_BYTES
    fullest = truth["worst_resident"] + common
    sizes = {
        "dram": used["dram"],
        "dram_total": truth["capacity"]["dram"],
        "core": fullest,
        "core_total": CORE_BYTES,
        "planned_core": truth["worst_planned"] + common,
        "headroom": truth["headroom"],
        "l1_total": truth["capacity"]["l1"],
        "buffers": used["l1"],
        "resident": truth["resident"],
        "planned": truth["planned"],
        "ring": ring,
        "small": used["l1_small"],
        "l1_block": truth["largest"]["l1"],
        "dram_block": truth["largest"]["dram"],
        "trace": used["trace"],
        "dram_peak": truth["peak"]["dram"],
        "l1_peak": truth["peak"]["l1"],
    }
    expected: dict[str, Any] = {name: shown_as(size) for name, size in sizes.items()}
    for kind in ("application", "fabric", "dispatch"):
        expected[kind] = (str(counts.get(f"kernel_{kind}", 0)), shown_as(kernels.get(kind, 0)))
    shares = {"core_share": fullest / CORE_BYTES, "planned_share": (truth["worst_planned"] + common) / CORE_BYTES}
    shares["dram_share"] = used["dram"] / truth["capacity"]["dram"]
    expected |= {name: {share_text(share)} for name, share in shares.items()}
    return expected | {"launches": {f"{truth['launches']:,}"}, "idle": ANY_TIME, "rate": ANY_COUNT}


def wrong_in(card: str, expected: dict[str, Any]) -> dict[str, object]:
    """Figures of a card that are not what they should be."""
    wrong: dict[str, object] = {}
    for name, found in figures_in(card).items():
        right = expected[name]
        if isinstance(right, tuple):
            is_right = found[0] == right[0] and found[1] in right[1]
        else:
            is_right = found[0] in right or any(one.startswith("^") and re.match(one, found[0]) for one in right)
        if not is_right:
            wrong[name] = (found, right)
    return wrong
