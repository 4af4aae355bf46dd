"""The tables beside this module: dimensions of models, and sizes of kernels as far as they were measured."""

import json
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["KERNELS", "MODELS", "table"]

KERNELS, MODELS = "kernels", "models"


@cache
def table(name: str) -> dict[str, Any]:
    """One of them by its name."""
    rows: dict[str, Any] = json.loads((resources.files(__package__) / f"{name}.json").read_text(encoding="utf-8"))
    return rows
