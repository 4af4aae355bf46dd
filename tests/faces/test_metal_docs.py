"""The examples of the runtime model run as they stand: those of docs/metal.md print what stands below them."""

import io
import re
import textwrap
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from ttmem import metal
from ttmem.metal import mesh

PAGE = (Path(__file__).parents[2] / "docs" / "metal.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
SHOWN = (
    "open_device open_mesh create_buffer deallocate add_circular_buffer add_kernel enqueue launch "
    "begin_trace end_trace replay_trace release_trace"
)


def printed_by(source: str) -> str:
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, "example", "exec"), {})
    return printed.getvalue()


@pytest.mark.parametrize(("source", "output"), EXAMPLES)
def test_an_example_prints_what_stands_below_it(source: str, output: str) -> None:
    assert printed_by(source) == output


def test_every_example_has_its_output_and_every_call_an_example() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") > 0
    sources = "".join(source for source, _ in EXAMPLES)
    assert [call for call in SHOWN.split() if f".{call}(" not in sources] == []


@pytest.mark.parametrize("module", [metal, mesh])
def test_the_example_of_a_module_runs(module: object) -> None:
    assert module.__doc__ is not None
    example = module.__doc__.split("\n\n", 1)[1]

    assert "with metal.open_" in example
    assert printed_by(textwrap.dedent(example)) == ""
