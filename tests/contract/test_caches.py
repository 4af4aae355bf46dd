"""Every cache says what it is for, and nothing that is shown depends on one."""

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "ttmem"
CACHES = ("@lru_cache", "@cache", "@cached_property", "@functools.")
# A row of the table of costs, a benchmark, or a file that belongs to the package.
REASONS = ("DESIGN 12", "benchmarks/", "a file of the package")


def cached_lines() -> list[str]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            for decorator in getattr(node, "decorator_list", ()):
                line = lines[decorator.lineno - 1]
                if line.strip().startswith(CACHES):
                    found.append(f"{path.relative_to(ROOT)}:{decorator.lineno} {line.strip()}")
    return found


def test_every_cache_names_what_needs_it() -> None:
    found = cached_lines()

    assert found, "none is found any more: is this test of any use?"
    assert [line for line in found if not any(reason in line for reason in REASONS)] == []


def test_without_any_cache_every_face_says_the_same(tmp_path: Path) -> None:
    def said(how: str) -> str:
        place = tmp_path / how
        place.mkdir(mode=0o700)
        environ = {name: value for name, value in os.environ.items() if not name.startswith("TTMEM")}
        environ |= dict.fromkeys(("TTMEM_DIR", "TTMEM_STOCK_SHM_DIR", "TTMEM_SYSTEM_DIR"), str(place))
        environ |= {"PYTHONPATH": str(ROOT), "COLUMNS": "160", "TTMEM": "1"}
        program = ROOT / "tests" / "programs" / "caches" / "everything_shown.py"
        run = subprocess.run([sys.executable, program, how], env=environ, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return run.stdout

    figures = said("with")
    assert figures.count("\n") > 100
    assert figures == said("without")
