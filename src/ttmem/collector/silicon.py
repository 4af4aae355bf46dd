"""How large the banks of an architecture are: from the tables of the runtime model, without waking the model itself."""

import os
from functools import cache

from ttmem.snapshot.sights.regions import BankSizes

__all__ = ["bank_sizes"]

_TABLE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "metal", "chips", "architectures.json")


def bank_sizes(arch: str) -> BankSizes | None:
    """The banks of an architecture by the name tt-metal gives it; None for one that nobody here knows."""
    return _known().get(arch)


@cache
def _known() -> dict[str, BankSizes]:
    import json  # here, since a table may show nothing that follows from it

    with open(_TABLE, encoding="utf-8") as table:
        return {arch: BankSizes(row["dram_bank_bytes"], row["l1_bytes"]) for arch, row in json.load(table).items()}
