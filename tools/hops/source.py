"""What the source says of itself: which folders import each other, whose private names are used, which names recur."""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Sources", "both_ways", "caches", "class_names_used_twice", "private_names", "sources"]

_NAMEDTUPLE = {"_replace", "_asdict", "_fields", "_make"}  # documented
_CACHES = {"lru_cache", "cache", "cached_property"}

Sources = dict[str, ast.Module]  # by dotted name; a package is its `__init__`


def sources(package: Path) -> Sources:
    """Every module of a package."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts)] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def both_ways(modules: Sources) -> list[tuple[str, str]]:
    """Pairs of folders that import each other, wherever the import stands. `__main__` is run, and imported by none."""
    edges = {
        (_folder(name), _folder(target))
        for name, tree in modules.items()
        for target, _ in _imports(tree, name, modules)
        if _folder(name) != _folder(target) and not name.endswith(".__main__")
    }
    return sorted((one, other) for one, other in edges if one < other and (other, one) in edges)


def private_names(modules: Sources) -> list[str]:
    """Names with a leading underscore that a module takes from another package of ours or of others. The native core
    is called `_native`, and what the standard library documents is public. Where a third-party package is imported, a
    private attribute of whatever object counts, too, unless some module of the product makes one of that name."""
    found = set()
    made = {name for tree in modules.values() for name in _made(tree)}
    for name, tree in modules.items():
        foreign = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                foreign.update({(alias.asname or alias.name).split(".")[0]: alias.name for alias in node.names})
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                foreign.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        for used in [*foreign.values(), *_attributes(tree, foreign)]:
            if _is_anothers(used, name) and any(_is_private(part) for part in used.split(".")):
                found.add(f"{name}: {used}")
        for base, member in _overridden(tree, foreign):
            if _is_anothers(base, name):
                found.add(f"{name}: {base}.{member}")
        if any(used.split(".")[0] not in {*sys.stdlib_module_names, name.split(".")[0]} for used in foreign.values()):
            found |= {f"{name}: {used}" for used in _strange_attributes(tree, foreign, made | _NAMEDTUPLE)}
    return sorted(found)


def class_names_used_twice(modules: Sources) -> dict[str, int]:
    """Classes that share their name with another of the product."""
    names = Counter(node.name for tree in modules.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {name: count for name, count in names.most_common() if count > 1}


def caches(modules: Sources) -> list[str]:
    """What remembers what it made before, by a decorator that says so."""
    found = []
    for name, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and any(_decorator(part) in _CACHES for part in node.decorator_list):
                found.append(f"{name}.{node.name}")
    return found


def _folder(module: str) -> str:
    return module.rpartition(".")[0]


def _imports(tree: ast.Module, name: str, modules: Sources) -> Iterator[tuple[str, str]]:
    """Modules of the product that are imported, each with the name that is taken from it."""
    package = name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((_module(alias.name, modules), "") for alias in node.names if _module(alias.name, modules))
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                target = _module(f"{base}.{alias.name}", modules) or _module(base, modules)
                if target:
                    yield target, alias.name


def _module(dotted: str, modules: Sources) -> str:
    if dotted in modules:
        return dotted
    return f"{dotted}.__init__" if f"{dotted}.__init__" in modules else ""


def _attributes(tree: ast.Module, foreign: dict[str, str]) -> Iterator[str]:
    """Dotted uses of what was imported, from the import on."""
    for node in ast.walk(tree):
        parts: list[str] = []
        inner: ast.expr | ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name) and inner.id in foreign:
            yield ".".join([foreign[inner.id], *reversed(parts)])


def _overridden(tree: ast.Module, foreign: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Private members that a class with a foreign base uses of itself and nowhere makes."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        bases = [foreign[name] for name in map(_base_name, node.bases) if name in foreign]
        if not bases:
            continue
        used: dict[str, set[type]] = defaultdict(set)
        made = {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == "self":
                used[inner.attr].add(type(inner.ctx))
        for member, ways in used.items():
            if _is_private(member) and member not in made and ast.Store not in ways:
                yield bases[0], member


def _made(tree: ast.Module) -> Iterator[str]:
    """Names that a module defines or assigns, of its own or as attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            yield node.attr


def _strange_attributes(tree: ast.Module, foreign: dict[str, str], made: set[str]) -> Iterator[str]:
    """Private attributes of other objects than `self` and imported modules that nothing of the product makes."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not _is_private(node.attr) or node.attr in made:
            continue
        if not _is_self(node.value) and not (isinstance(node.value, ast.Name) and node.value.id in foreign):
            yield ast.unparse(node)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_anothers(used: str, module: str) -> bool:
    """Whether a dotted name belongs to another package: for the product, to another of its folders below the first."""
    top, *below = used.split(".")
    own_top, *own_below = module.split(".")
    return below[:1] != own_below[:1] if top == own_top else top not in sys.stdlib_module_names


def _base_name(base: ast.expr) -> str:
    while isinstance(base, ast.Subscript):
        base = base.value
    return base.id if isinstance(base, ast.Name) else ""


def _decorator(node: ast.expr) -> str:
    inner = node.func if isinstance(node, ast.Call) else node
    return inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""


def _is_private(name: str) -> bool:
    return name.startswith("_") and name != "_native" and not (name.startswith("__") and name.endswith("__"))
