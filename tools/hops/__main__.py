"""Prints how far a figure travels. `--files` names what is counted, `--figure COMMIT` counts what a commit touched."""

import argparse
import subprocess
from pathlib import Path

from tools.hops.source import both_ways, caches, class_names_used_twice, private_names, sources
from tools.hops.walks import walks

ROOT = Path(__file__).parents[2]
PRODUCT = ("src/", "native/")


def main() -> None:
    parser = argparse.ArgumentParser(prog="./run hops", description=__doc__)
    parser.add_argument("--files", action="store_true", help="name what is counted")
    parser.add_argument("--figure", metavar="COMMIT", help="the product files that one commit touched")
    options = parser.parse_args()
    for walk in walks():
        _row(f"Python files entered by {walk.name}", walk.files, is_listed=options.files)
        print(f"      {walk.functions} functions, {walk.calls} calls")
    modules = sources(ROOT / "src" / "ttmem")
    pairs = [f"{one} <-> {other}" for one, other in both_ways(modules)]
    _row("folder pairs that import both ways", pairs, is_listed=options.files)
    _row("names of other packages that begin with _", private_names(modules), is_listed=options.files)
    twice = [f"{name} x{count}" for name, count in class_names_used_twice(modules).items()]
    _row("class names used more than once", twice, is_listed=options.files)
    _row("functions that remember", caches(modules), is_listed=options.files)
    if options.figure:
        _row(f"product files touched by {options.figure}", _touched(options.figure), is_listed=options.files)


def _row(name: str, what: "list[str] | tuple[str, ...]", *, is_listed: bool) -> None:
    print(f"{len(what):4}  {name}")
    for one in what if is_listed else ():
        print(f"      {one}")


def _touched(commit: str) -> list[str]:
    show = ["git", "-C", str(ROOT), "show", "--format=", "--name-only", commit]
    names = subprocess.run(show, check=True, capture_output=True, text=True).stdout.split()
    return [name for name in names if name.startswith(PRODUCT) and "/tests/" not in name]


if __name__ == "__main__":
    main()
