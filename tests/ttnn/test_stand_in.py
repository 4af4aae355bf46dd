"""The stand-in of the runtime is held to the runtime: every name it exports is one of the wheel's."""

import subprocess

from tests.support.stand_in.build import CURRENT, exports
from tests.support.ttnn.stock import Stock


def test_the_stand_in_exports_only_names_that_the_stock_runtime_has(stock: Stock) -> None:
    libraries = {export.library for export in exports()}
    names = {library: exported(stock, library) for library in libraries}

    unknown = [one.name for one in exports() if one.last == CURRENT and one.name not in names[one.library]]
    assert unknown == []


def exported(stock: Stock, library: str) -> set[str]:
    path = stock.metal_library.with_name(library)
    listed = subprocess.run(["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in listed.stdout.splitlines()}
