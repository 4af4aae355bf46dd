"""The libraries of one stock runtime: libtt_metal.so and what is loaded with it, found as the loader finds them.

Names that a library needs are looked for along the search paths that stand in the files, then in $LD_LIBRARY_PATH. Only
the runtime's own libraries are followed; where the system's lie does not matter here.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import escape, glob

from ttmem.doctor.elf import Elf, ElfError, read_elf
from ttmem.doctor.interpreter import Package
from ttmem.errors import TtmemError

__all__ = ["LIBRARY", "Installation", "of_library", "of_package"]

LIBRARY = "libtt_metal.so"
_RUNTIMES = re.compile(r"libtt|_ttnn|libdevice\.so")
_MOST_LIBRARIES = 32
_BUILD_PLACES = ("build/lib", "build_Release/lib", "ttnn/build/lib", "lib")
_HOMES = ("TT_METAL_HOME", "TT_METAL_RUNTIME_ROOT")
_PARENTS = 5  # from a library up to where packages are installed


@dataclass(frozen=True)
class Installation:
    """One runtime. `others` are loaded with the library, and call into it or are called from it."""

    version: str
    library: Elf
    others: tuple[Elf, ...] = ()
    other_copies: tuple[str, ...] = ()

    def exports(self, symbol: str) -> bool:
        """Whether it can be found in a process that runs on it; what the library itself wants is always there."""
        return symbol in self.library.imported or any(symbol in elf.exported for elf in (self.library, *self.others))

    def calls(self, symbol: str) -> bool:
        """Whether any caller reaches it by name, so that another definition can stand in for it."""
        return any(symbol in elf.called for elf in (self.library, *self.others))


def of_package(package: Package, environ: Mapping[str, str]) -> Installation:
    """The runtime of an installed package; TtmemError if it has none, or one that cannot be read."""
    beginnings = [
        path
        for place in package.places
        for path in (*sorted(glob(os.path.join(escape(place), "_ttnn*.so"))), os.path.join(place, "build/lib", LIBRARY))
    ]
    found = _followed(beginnings, environ)
    library = next((elf for elf in found.values() if os.path.basename(elf.path) == LIBRARY), None)
    if library is None:
        raise TtmemError(f"{', '.join(package.places)}: expected {LIBRARY} with the package, found none")
    return _installation(package.version, library, found, environ)


def of_library(path: str, environ: Mapping[str, str]) -> Installation:
    """A library given by name. OSError or ElfError if it is none."""
    library = read_elf(path)
    beside = glob(os.path.join(escape(os.path.dirname(os.path.abspath(path))), "_ttnn*.so"))
    found = _followed([path, *sorted(beside)], environ)
    return _installation(_version_around(path), library, found, environ)


def _installation(version: str, library: Elf, found: Mapping[str, Elf], environ: Mapping[str, str]) -> Installation:
    own = os.path.realpath(library.path)
    others = tuple(elf for path, elf in found.items() if path != own)
    copies = {os.path.realpath(path) for path in _known_places(environ) if os.path.isfile(path)} - {own}
    copies |= {path for path in found if os.path.basename(path) == LIBRARY and path != own}
    return Installation(version, library, others, tuple(sorted(copies)))


def _followed(beginnings: Sequence[str], environ: Mapping[str, str]) -> dict[str, Elf]:
    """The files, and what they need in turn, by their real paths."""
    found: dict[str, Elf] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [(path, ()) for path in beginnings]
    while waiting and len(found) < _MOST_LIBRARIES:
        path, inherited = waiting.pop(0)
        real = os.path.realpath(path)
        if real in found or not os.path.isfile(real):
            continue
        try:
            elf = read_elf(path)
        except (OSError, ElfError):
            if os.path.basename(path) == LIBRARY:
                raise
            continue
        found[real] = elf
        places = (*_search_path(elf), *inherited)
        for name in filter(_RUNTIMES.match, elf.needed):
            waiting += [(candidate, places) for candidate in _first(name, places, elf.path, environ)]
    return found


def _first(name: str, places: Sequence[str], needed_by: str, environ: Mapping[str, str]) -> list[str]:
    """Where the loader finds a library; beside the one that needs it if it would not find it at all."""
    listed = [*places, *environ.get("LD_LIBRARY_PATH", "").split(":"), os.path.dirname(needed_by)]
    candidates = (os.path.join(place, name) for place in listed if place)
    return [path for path in candidates if os.path.isfile(path)][:1]


def _search_path(elf: Elf) -> tuple[str, ...]:
    origin = os.path.dirname(os.path.realpath(elf.path))
    return tuple(re.sub(r"\$\{?ORIGIN\}?", lambda _: origin, place) for place in elf.search_path)


def _known_places(environ: Mapping[str, str]) -> Iterator[str]:
    """Where another copy may lie that a program could come to load."""
    for place in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if place:
            yield os.path.join(place, LIBRARY)
    for home in filter(None, map(environ.get, _HOMES)):
        for place in _BUILD_PLACES:
            yield os.path.join(home, place, LIBRARY)


def _version_around(path: str) -> str:
    """As the installer wrote it beside the package that the library is in."""
    place = os.path.dirname(os.path.realpath(path))
    for _ in range(_PARENTS):
        for found in glob(os.path.join(escape(place), "ttnn-*.dist-info")):
            return os.path.basename(found).removeprefix("ttnn-").removesuffix(".dist-info")
        place = os.path.dirname(place)
    return ""
