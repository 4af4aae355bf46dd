"""Writes the pages of the reference that the source itself says: `python -m tools.reference_pages`.

    docs/reference/commands.md          verbs and flags, from their help
    docs/reference/messages.md          incidents, findings, reasons and exit codes, from the texts that are shown
    docs/reference/c-interface.md       client.h: calls, structs and constants, with their comments
    docs/reference/python-interface.md  `import ttmem`: calls and classes, with their docstrings
    docs/reference/all-metrics.md       every family of the page of metrics, with its own help
    docs/reference/all-fields.md        every field of CSV, as `--help-query-mem` and `--help-query-apps` list them

`tests/contract/test_reference_pages.py` compares them with what this would write.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import ttmem
from ttmem.cli import VERBS
from ttmem.cli.manual import EXITS
from ttmem.cli.program import program
from ttmem.daemon.metrics.catalogue import ALIASES, OF_CHIPS, SERVICE, WORKLOADS
from ttmem.daemon.metrics.families import Family
from ttmem.view.incidents.words import TITLES
from ttmem.view.queries.apps import APP_FIELDS
from ttmem.view.queries.fields import Field
from ttmem.view.queries.memory import MEMORY_FIELDS
from ttmem.view.texts import FINDINGS, REASONS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "reference"
HEADER = ROOT / "native" / "include" / "ttmem" / "client.h"
_MADE = "<!-- made by python -m tools.reference_pages: change the source, not this page -->\n"
_COMMENT = re.compile(r"/\*(.*?)\*/", flags=re.DOTALL)
_BEFORE = r"(?:/\*(?P<comment>(?:(?!\*/).)*)\*/\n)?"
_CALL = re.compile(
    _BEFORE + r"(?:static inline|TTMEM_API) (?P<type>[\w ]+?\*?) ?(?P<name>ttmem_\w+)\((?P<arguments>[^)]*)\)",
    flags=re.DOTALL,
)
_STRUCT = re.compile(_BEFORE + r"typedef struct (?P<name>\w+) \{\n(?P<body>.*?)\n\}", flags=re.DOTALL)
_ENUM = re.compile(_BEFORE + r"(?:typedef )?enum (?P<name>\w+) \{(?P<body>.*?)\}", flags=re.DOTALL)
_HAPPENED = {
    "out_of_memory": "An allocation was refused: no free block was large enough.",
    "clash": "A launch was refused: its circular buffers would have reached into an L1 buffer.",
    "unsafe_replay": "A trace was replayed while a buffer lay where it writes. The runtime says nothing about it.",
}

# Calls that carry no words of their own in the source, in C and in Python.
_REPORTS = {
    "binary_status": "The binaries of a program changed their status; with their bytes in DRAM.",
    "buffer_alloc": "A buffer was allocated. The handle frees it.",
    "buffer_free": "A buffer was freed, by its id.",
    "cache": "A cache was asked, and what it holds now.",
    "cb_alloc": "A circular buffer was placed. The handle frees it.",
    "cb_free": "A circular buffer ended, by its id.",
    "clash": "A launch was refused because circular buffers would reach into an L1 buffer.",
    "core_buffer_alloc": "A buffer was allocated on single cores.",
    "device_close": "The chip was closed: what is alive on it ends.",
    "device_open": "Names a chip and returns the target to report on; 0 if it could not be named.",
    "disable": "Turns tracking off; what is still alive ends.",
    "free": "An allocation ended, by its handle. This is the fast way.",
    "incident": "Memory was refused, a launch clashed, or a replay was unsafe; what is alive is copied beside it.",
    "kernel_load": "A kernel was loaded. The handle frees it.",
    "kernel_unload": "A kernel was unloaded, by its id.",
    "label": "Names this process in every table.",
    "launch": "A program was launched. Counted, never charged.",
    "mesh_close": "The mesh was closed: what is alive on it ends.",
    "mesh_open": "Names several chips as one target; one report on it stands for all of them.",
    "out_of_memory": "The runtime refused an allocation.",
    "phase_begin": "A named stretch of the program begins: peaks are kept for it.",
    "phase_end": "It ends.",
    "program_end": "A program ended: its binaries are freed.",
    "ring": "What a launch left of the kernel ring.",
    "trace_begin": "The capture of a trace begins.",
    "trace_end": "The capture ends; with the bytes that the trace takes on the device.",
    "trace_program": "A launch of a program was recorded in the trace.",
    "trace_release": "The trace was released, or its capture came to nothing.",
    "trace_replay": "The trace is replayed. Report it before the replay begins.",
}


def commands_page() -> str:
    """Every verb with its help and its flags."""
    head = "`ttmem VERB --help` prints the same. Examples and details are on the page of each verb."
    return f"# All commands\n\n{_MADE}\n{head}\n" + "".join(_command(verb) for verb in VERBS)


def _command(verb: str) -> str:
    command = program.get_command(click.Context(program), verb)
    assert command is not None
    with click.Context(command, info_name=f"ttmem {verb}") as context:
        usage = " ".join(command.collect_usage_pieces(context))
    page = f" [The page of this verb]({verb}.md)." if (DOCS / f"{verb}.md").exists() else ""
    words = "\n\n".join(_one_line(part) for part in (command.help or "").replace("\b", "").split("\n\n"))
    options = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    flags = "| flag | does |\n|---|---|\n" + "".join(_flag_row(option) for option in options)
    return f"\n## ttmem {verb}\n\n`ttmem {verb} {usage}`\n\n{words}{page}\n\n{flags}"


def _flag_row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    metavar = option.make_metavar(click.Context(program)).replace("|", "\\|")
    value = "" if option.is_flag else f" `{metavar}`"
    return f"| {names}{value} | {_cell(option.help or '')} |\n"


def messages_page() -> str:
    """What is shown beside figures: incidents, findings, reasons; and exit codes."""
    incidents = "".join(f"| {title} | `{kind}` | {_HAPPENED[kind]} |\n" for kind, title in TITLES.items())
    return (
        f"# Messages\n\n{_MADE}\n"
        "What ttmem says beside its figures. The names in the middle column are those in JSON and metrics.\n\n"
        "## Incidents\n\nSomething was refused, or is unsafe. `ttmem explain` says why. "
        "[What helps](../troubleshooting/out-of-memory.md)\n\n"
        f"| shown | name | what happened |\n|---|---|---|\n{incidents}\n"
        "## Findings\n\nSomething does not add up. A finding stands beside a figure, and never changes another one. "
        "[More of each](json.md#findings)\n\n"
        f"| name | shown |\n|---|---|\n{_rows(FINDINGS.items())}\n"
        "## Why figures are not complete\n\n[What helps](../troubleshooting/incomplete.md)\n\n"
        f"| reason | shown |\n|---|---|\n{_rows(REASONS.items())}\n"
        "## Exit codes\n\nThe same for all commands.\n\n"
        f"| code | means |\n|---|---|\n{_rows(EXITS)}"
    )


def metrics_page() -> str:
    """Every family, as a scrape describes it."""
    head = (
        "Every metric of the daemon's page, with the words that a scrape has for it. What they count, where each comes "
        "from and what to ask of them: [metrics](metrics.md)."
    )
    parts = [f"# All metrics\n\n{_MADE}\n{head}\n"]
    for title, families in (
        ("The daemon, and what goes wrong", SERVICE),
        ("Chips", OF_CHIPS),
        ("Workloads, with `--metrics-processes`", WORKLOADS),
        ("By the names of other exporters", ALIASES),
    ):
        rows = "".join(_metric_row(family) for family in families)
        parts.append(f"\n## {title}\n\n| metric | type | labels | means |\n|---|---|---|---|\n{rows}")
    return "".join(parts)


def _metric_row(family: Family) -> str:
    labels = " ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.type} | {labels} | {_cell(family.help)} |\n"


def fields_page() -> str:
    """Every field of CSV."""
    chips = "".join(map(_field_row, MEMORY_FIELDS))
    processes = "".join(map(_field_row, APP_FIELDS))
    head = "| field | unit | means |\n|---|---|---|\n"
    return (
        f"# All fields of CSV\n\n{_MADE}\n"
        "The columns that can be asked for by name. How: [tables and CSV](tables.md).\n\n"
        f"## Chips: `--query-mem`, `--query-gpu`\n\n{head}{chips}\n"
        f"## Processes: `--query-apps`, `--query-compute-apps`\n\n{head}{processes}"
    )


def _field_row(field: Field[Any]) -> str:
    names = ", ".join(f"`{name}`" for name in (field.name, *field.aliases))
    return f"| {names} | {field.unit} | {_cell(field.purpose)} |\n"


def c_page() -> str:
    """client.h as tables."""
    text = HEADER.read_text(encoding="utf-8")
    calls = [call for call in _CALL.finditer(text) if not call["name"].endswith("_on")]
    call_rows = "".join(
        f"| `{call['type']} {call['name']}({_one_line(call['arguments'])})` "
        f"| {_cell(_comment(call) or _report(call['name']))} |\n"
        for call in calls
    )
    structs = "".join(_struct(struct) for struct in _STRUCT.finditer(text))
    enums = "".join(_enum(enum) for enum in _ENUM.finditer(text))
    return (
        f"# The C interface\n\n{_MADE}\n"
        "`#include <ttmem/client.h>`. Every call is safe from any thread and from signal handlers, never blocks and "
        "never fails the host. With tracking off a call is one load and one branch. How to build against it: "
        "[report from C and C++](../how-to/report-from-c.md).\n\n"
        f"## Calls\n\n| call | does |\n|---|---|\n{call_rows}\n## Structs\n\n{structs}## Constants\n\n{enums}"
    ).rstrip("\n") + "\n"


def _struct(found: re.Match[str]) -> str:
    rows = []
    for declaration, comment in re.findall(
        r"^ {4}(\S[^;\n]*);[ ]*(?:/\*(.*?)\*/)?", found["body"], re.DOTALL | re.MULTILINE
    ):
        rows.append(f"| `{_one_line(declaration)}` | {_cell(_one_line(comment))} |\n")
    return f"### {found['name']}\n\n{_sentence(_comment(found))}| field | |\n|---|---|\n{''.join(rows)}\n"


def _enum(found: re.Match[str]) -> str:
    rows = []
    for name, number, comment in re.findall(r"(TTMEM_\w+) = (\d+),?[ ]*(?:/\*(.*?)\*/)?", found["body"], re.DOTALL):
        rows.append(f"| `{name}` | {number} | {_cell(_one_line(comment))} |\n")
    return f"### {found['name']}\n\n{_sentence(_comment(found))}| name | value | |\n|---|---|---|\n{''.join(rows)}\n"


def _comment(found: re.Match[str]) -> str:
    return _one_line((found["comment"] or "").replace("\n *", "\n"))


def _sentence(text: str) -> str:
    return f"{text}\n\n" if text else ""


def python_page() -> str:
    """The public names of `import ttmem`."""
    head = (
        "All names of `import ttmem`. How to use them: [from within a Python program](python.md), "
        "[report from Python](../how-to/report-from-python.md)."
    )
    parts = [f"# The Python interface\n\n{_MADE}\n{head}\n"]
    for title, modules in (
        (
            "Questions about memory",
            ("ttmem.client.memory.figures", "ttmem.client.memory.summary", "ttmem.client.memory.listing"),
        ),
        ("Tracking, devices, phases, recordings", ("ttmem.client.reporter", "ttmem.client.recorded_stretch")),
        ("Reports", ("ttmem.client.reports",)),
        ("Runtimes and older programs", ("ttmem.client.tracked.tracker", "ttmem.client.allocation_client")),
        ("Errors", ("ttmem.errors",)),
    ):
        rows = [_python_row(module, name) for module in modules for name in ttmem.PUBLIC_NAMES[module]]
        parts.append(f"\n## {title}\n\n| name | does |\n|---|---|\n{''.join(rows)}")
    return "".join(parts)


def _python_row(module: str, name: str) -> str:
    thing = getattr(import_module(module), name)
    doc = inspect.getdoc(thing) or ""
    first, _, rest = doc.partition("\n\n")
    if first.startswith(f"{name}("):  # of the native module: its signature comes first
        signature, text = first, rest.partition("\n\n")[0]
    elif isinstance(thing, type):
        signature, text = name, first
    else:
        signature, text = f"{name}{_signature(thing)}", first
    return f"| `{_one_line(signature)}` | {_cell(_one_line(text) or _report(name))} |\n"


def _report(name: str) -> str:
    return _REPORTS[name.removeprefix("ttmem_").removeprefix("report_")]


def _signature(call: Callable[..., object]) -> str:
    text = str(inspect.signature(call))
    return re.sub(r"\b(?:ttmem|collections|typing)(?:\.\w+)*\.(\w+)", r"\1", text).replace(" | ", " or ")


def _rows(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"| `{name}` | {_cell(text)} |\n" for name, text in pairs)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _one_line(text).replace("|", "\\|").replace("<", "&lt;")


def pages() -> Iterator[tuple[Path, str]]:
    """Where each page lies, and what stands there."""
    yield DOCS / "commands.md", commands_page()
    yield DOCS / "messages.md", messages_page()
    yield DOCS / "c-interface.md", c_page()
    yield DOCS / "python-interface.md", python_page()
    yield DOCS / "all-metrics.md", metrics_page()
    yield DOCS / "all-fields.md", fields_page()


if __name__ == "__main__":
    for path, text in pages():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
