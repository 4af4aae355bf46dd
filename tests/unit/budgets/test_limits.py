"""Limits as people write them, and what a failure says."""

from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest

from ttmem.budgets.baseline import read_baseline, write_baseline
from ttmem.budgets.limits import Increase, MemoryLimit, parsed_limits
from ttmem.budgets.measuring import HoldingLine
from ttmem.budgets.texts import Excess, failure_text, increase_line, summary_lines

MIB = 1 << 20


def test_pytest_finds_the_plugin_by_the_package() -> None:
    found = [one.value for one in distribution("ttmem").entry_points if one.group == "pytest11"]

    assert found == ["ttmem.pytest_plugin"]


def test_limits_are_sizes_by_pool() -> None:
    assert parsed_limits(["dram=2GiB", "l1_per_core = 900KiB"], "x") == {
        "dram": MemoryLimit(2 << 30, "x"),
        "l1_per_core": MemoryLimit(900 << 10, "x"),
    }


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: parsed_limits(["dram"], "x"), "x: expected POOL=SIZE such as dram=2GiB, found 'dram'"),
        (lambda: parsed_limits(["sram=1KiB"], "x"), "x: expected one of dram, l1, .* found 'sram'"),
        (lambda: parsed_limits(["dram=2"], "x"), "x: expected a size with its unit .* found '2'"),
        (lambda: Increase.parsed("lots"), "--ttmem-fail-on-increase: expected a size .* found 'lots'"),
    ],
)
def test_what_is_no_limit_is_refused_in_one_sentence(call: Callable[[], object], said: str) -> None:
    with pytest.raises(pytest.UsageError, match=said):
        call()


def test_an_increase_is_a_share_or_a_size() -> None:
    assert Increase.parsed("1%").most(200) == 202
    assert Increase.parsed("64MiB").most(200) == 200 + 64 * MIB


def test_a_failure_has_25_lines_at_most_and_names_the_rest() -> None:
    holders = [HoldingLine(f"model.py:{number} f", MIB, 1) for number in range(40)]
    limit = MemoryLimit(MIB, "its marker")
    excesses = [Excess("highest", "0", pool, 40 * MIB, limit, holders) for pool in ("dram", "l1")]

    lines = failure_text(excesses, [increase_line("dram", MIB, 2 * MIB)]).splitlines()

    assert len(lines) == 25
    assert lines[0] == (
        "device memory over its limit: chip 0 dram highest 40.0 MiB, limit 1.00 MiB (its marker), 39.0 MiB too much"
    )
    assert lines[1] == "  1.00 MiB      1  model.py:0 f"
    assert lines[11].startswith("  and ")
    assert lines[-1] == "device memory grew: dram 1.00 MiB in the baseline, now 2.00 MiB, 1.00 MiB more (+100%)"


def test_a_summary_has_the_largest_first_and_what_changed() -> None:
    lines = summary_lines({"a": {"dram": MIB}, "b": {"dram": 3 * MIB}, "c": {}}, {"a": {"dram": MIB}, "b": {"l1": 5}})

    assert lines == ["dram 3.00 MiB  b", "dram 1.00 MiB  a", "changed: l1 5 B -> dram 3.00 MiB  b"]


def test_a_baseline_reads_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    assert read_baseline(path) is None

    write_baseline(path, {"test_a": {"dram": 5}, "test_b": {}})

    assert read_baseline(path) == {"test_a": {"dram": 5}, "test_b": {}}
    path.write_text("{}")
    with pytest.raises(pytest.UsageError, match="expected a baseline of ttmem"):
        read_baseline(path)
