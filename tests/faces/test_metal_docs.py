"""The examples of the runtime model: docs/reference/metal.md has one for every call, those of modules run."""

import io
import re
import textwrap
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from ttmem import metal
from ttmem.metal import mesh

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "metal.md").read_text(encoding="utf-8")
EXAMPLES = "".join(re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE))
SHOWN = (
    "open_device open_mesh create_buffer deallocate add_circular_buffer add_kernel enqueue launch "
    "begin_trace end_trace replay_trace release_trace"
)


def printed_by(source: str) -> str:
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, "example", "exec"), {})
    return printed.getvalue()


def test_every_call_has_an_example() -> None:
    assert [call for call in SHOWN.split() if f".{call}(" not in EXAMPLES] == []


@pytest.mark.parametrize("module", [metal, mesh])
def test_the_example_of_a_module_runs(module: object) -> None:
    assert module.__doc__ is not None
    example = module.__doc__.split("\n\n", 1)[1]

    assert "with metal.open_" in example
    assert printed_by(textwrap.dedent(example)) == ""
