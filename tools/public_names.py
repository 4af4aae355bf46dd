"""Writes the stub by which type checkers and editors know the public names: `python -m tools.public_names`.

The names stand in one table, `ttmem.PUBLIC_NAMES`; a contract test compares the stub with it.
"""

from pathlib import Path

import ttmem

STUB = Path(ttmem.__file__).with_name("__init__.pyi")
HEAD = '''"""The public names with their types: `python -m tools.public_names` made it of a table in `__init__.py`."""

'''
TAIL = """
__version__: str
PUBLIC_NAMES: dict[str, tuple[str, ...]]
__all__: list[str]
"""


def stub() -> str:
    """What the stub has to say."""
    imports = [
        f"from {module} import {name} as {name}\n"
        for module, names in sorted(ttmem.PUBLIC_NAMES.items())
        for name in sorted(names)
    ]
    return HEAD + "".join(imports) + TAIL


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    print(STUB)
