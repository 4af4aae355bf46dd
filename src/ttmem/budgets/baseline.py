"""What tests held at an earlier time: a file of JSON beside the tests, for people to read and to keep under version
control."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

__all__ = ["Figures", "read_baseline", "write_baseline"]

_FORMAT = 1
Figures = dict[str, int]  # bytes by pool


def read_baseline(path: Path) -> dict[str, Figures] | None:
    """By the name of the test; None if there is no such file. One that is none is a UsageError."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise pytest.UsageError(f"--ttmem-baseline: {path}: {error.strerror}") from None
    try:
        found = json.loads(text)
        tests = {
            str(name): {str(pool): int(size) for pool, size in row.items()} for name, row in found["tests"].items()
        }
        if found["format"] == _FORMAT:
            return tests
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    raise pytest.UsageError(
        f"--ttmem-baseline: {path}: expected a baseline of ttmem (format {_FORMAT}), found something else; "
        "--ttmem-update-baseline writes it again"
    )


def write_baseline(path: Path, tests: Mapping[str, Figures]) -> None:
    """Whole or not at all."""
    rows = {name: dict(sorted(tests[name].items())) for name in sorted(tests)}
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps({"format": _FORMAT, "tests": rows}, indent=1) + "\n", encoding="utf-8")
    fresh.replace(path)
