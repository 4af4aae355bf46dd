"""What `./run hops` counts is counted right, on sources that are known."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

from tools.hops.source import both_ways, caches, class_names_used_twice, private_names
from tools.hops.source import sources as sources_of

ROOT = Path(__file__).parents[2]


def sources(**modules: str) -> dict[str, ast.Module]:
    return {name.replace("__", ".").replace(".init", ".__init__"): ast.parse(text) for name, text in modules.items()}


def test_folders_that_import_each_other_are_a_pair_wherever_the_import_stands() -> None:
    modules = sources(
        p__a__x="from p.b.y import f",
        p__b__y="def late():\n    from p.a import x",
        p__b__z="from ..c import w",
        p__c__w="",
    )

    assert both_ways(modules) == [("p.a", "p.b")]


def test_a_private_name_of_another_package_is_found_and_ones_own_is_not() -> None:
    modules = sources(
        p__a__x="from other._inner import f\nimport third\nthird._secret()\nfrom p.b.y import _hidden",
        p__a__z="from p.a.x import _own\nfrom p import _native\nimport os\nos._exit(0)",
        p__c__v="from other import Base\nclass Own(Base):\n    def f(self): return self._theirs + self._mine()\n"
        "    def _mine(self): self._made = 1; return self._made",
    )

    assert private_names(modules) == [
        "p.a.x: other._inner.f",
        "p.a.x: p.b.y._hidden",
        "p.a.x: third._secret",
        "p.c.v: other.Base._theirs",
    ]


def test_a_private_attribute_that_nothing_of_the_product_makes_belongs_to_another_package() -> None:
    modules = sources(
        p__a="import toolkit\ndef f(console, row): return console._system, row._own, row._replace(a=1)",
        p__b="class Row:\n    def __init__(self): self._own = 1",
        p__c="def f(console): return console._system",
    )

    assert private_names(modules) == ["p.a: console._system"]


def test_names_that_recur_and_functions_that_remember_are_counted() -> None:
    modules = sources(
        p__x="class State: ...\n@lru_cache(None)\ndef f(): ...",
        p__y="class State: ...\nclass Other: ...\nclass C:\n    @functools.cache\n    def g(self): ...\n    @property\n"
        "    def h(self): ...",
    )

    assert class_names_used_twice(modules) == {"State": 2}
    assert caches(modules) == ["p.x.f", "p.y.g"]


def test_what_a_command_enters_is_written_down(tmp_path: Path) -> None:
    found = tmp_path / "found"
    command = [sys.executable, "-m", "tools.hops.recorder", str(found), "whole", "ps"]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False, capture_output=True)
    counts, *files = found.read_text().splitlines()

    assert {"cli/ps.py", "collector/collector.py"} <= set(files)
    assert "daemon/query_server.py" not in files
    assert all(int(count) >= len(files) for count in counts.split())


def test_folders_of_the_product_import_one_way_and_a_class_name_means_one_thing() -> None:
    product = sources_of(ROOT / "src" / "ttmem")

    assert both_ways(product) == []
    assert set(class_names_used_twice(product)) <= {"Host", "Layout", "Program"}  # the runtime's own words in the model


def test_a_figure_of_processes_and_pools_is_named_in_six_files_of_the_product_and_shown_by_all() -> None:
    """The sixth is `sizes.hpp`, where the version of the journal says that there is one more."""
    names = ("git", "-C", str(ROOT), "ls-files", "src", "native", ":!native/tests")
    files = subprocess.run(names, check=True, capture_output=True, text=True).stdout.split()
    named = [
        name
        for name in files
        if name.endswith((".py", ".pyi", ".cpp", ".hpp", ".h"))
        and re.search(r"kFreedBytes|\bfreed_bytes\b", (ROOT / name).read_text(encoding="utf-8"))
    ]

    assert named == [
        "native/src/journal/counters.hpp",
        "native/src/writer/operations.cpp",
        "src/ttmem/devices.py",
        "src/ttmem/snapshot/dump.py",
        "src/ttmem/snapshot/usage.py",
    ]
