"""The manual page, made from verbs and flags themselves: `python -m ttmem.cli.manual > docs/man/ttmem.1`."""

from collections.abc import Iterable, Iterator
from importlib import import_module

import click

import ttmem
from ttmem.cli import VERBS

__all__ = ["EXITS", "manual"]

_DESCRIPTION = """\
See, live and exactly, which process holds which memory on every Tenstorrent device.

Without a verb: on a terminal the live monitor (ttmem top), otherwise one table (ttmem ps). Flags without a verb are
those of ttmem ps, or of ttmem top where it knows all of them and there is a terminal. No device is ever opened.
"""
EXITS = (
    ("0", "Done; also if a part could not be read, which JSON lists as errors."),
    ("1", "Nothing reports: no process does, or none of those that were named; or nothing of a file can be read."),
    ("2", "A bad flag, name or size; or a file that is not there, or not what is read."),
    ("3", "Not running (ttmem serve --status)."),
    ("4", "Does not fit (ttmem fit)."),
    ("5", "A limit was crossed (ttmem check)."),
    ("130", "Interrupted."),
)
_ENVIRONMENT = (
    ("TTMEM_DIR", "Where journals and the daemon's socket are, instead of /dev/shm/ttmem-<uid>."),
    ("TTMEM_SYSTEM_DIR", "Where the socket of the system's daemon is, instead of /run/ttmem."),
    ("TTMEM_STOCK_SHM_DIR", "Where the stock runtime's counters are, instead of /dev/shm."),
    ("TTMEM_SYSFS_ROOT", "The root below which the driver's sys and proc are looked for."),
    (
        "TTMEM",
        "1 switches tracking on in a program that reports; 0, off, false or no switch it off, under ttmem run too.",
    ),
    ("TTMEM_LABEL", "What a reporting program is called."),
    ("TTMEM_WORKLOAD", "The workload that a process belongs to, before any job, pod or unit."),
    ("NO_COLOR", "No colours, if it is set to anything."),
)
_EXAMPLES = (
    "ttmem -s | jq '.device_info[].memory.dram.used'",
    "ttmem -i 0,2 --query-mem=index,dram.used,l1.used,core.used --format=csv,noheader",
    'ttmem ps --sort l1 -u "$USER"',
    "ttmem fit --dram 4GiB --l1-per-core 200KiB --devices 4",
    "ttmem check --max-l1 90% --max-growth 1MiB/s",
    'eval "$(ttmem --completion bash)"',
)


def manual() -> str:
    """The whole page, as man reads it."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f'.TH TTMEM 1 "" "ttmem {ttmem.__version__}" "User Commands"'
    yield ".SH NAME"
    yield r"ttmem, tt_smi_umd, allocation_server_poc \- device memory of Tenstorrent accelerators, live and exactly"
    yield ".SH SYNOPSIS"
    yield r".B ttmem"
    yield r"[\fIVERB\fR] [\fIOPTIONS\fR]"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(_DESCRIPTION)
    yield ".SH VERBS"
    yield from _pairs(VERBS.items())
    yield ".SH OPTIONS"
    for verb in VERBS:
        yield from _command(f"ttmem {verb}", getattr(import_module(f"ttmem.cli.{verb}"), verb))
    yield from _command("tt_smi_umd", import_module("ttmem.cli.tt_smi_umd").tt_smi_umd)
    yield from _command("allocation_server_poc", import_module("ttmem.cli.serve").allocation_server_poc)
    yield ".SH EXIT STATUS"
    yield from _pairs(EXITS)
    yield ".SH ENVIRONMENT"
    yield from _pairs(_ENVIRONMENT)
    yield ".SH EXAMPLES"
    for example in _EXAMPLES:
        yield from (".PP", ".nf", ".RS", _escaped(example), ".RE", ".fi")
    yield ".SH SEE ALSO"
    yield r"\fBhtop\fR(1), \fBjq\fR(1), \fBsystemctl\fR(1)"


def _command(name: str, command: click.Command) -> Iterator[str]:
    arguments = " ".join(_argument(param) for param in command.params if isinstance(param, click.Argument))
    yield f'.SS "{_escaped(" ".join(filter(None, [name, "[OPTIONS]", arguments])))}"'
    yield from _paragraphs(command.help or "")
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    yield from _pairs((_spelling(option), option.help or "") for option in options)


def _argument(param: click.Parameter) -> str:
    return param.metavar or (param.name or "").upper()


def _spelling(option: click.Option) -> str:
    flags = ", ".join(flag.strip() for flag in (*option.opts, *option.secondary_opts))
    if option.is_flag or option.count:
        return flags
    kind = "|".join(option.type.choices) if isinstance(option.type, click.Choice) else option.type.name.upper()
    return f"{flags} {option.metavar or kind}"


def _pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, meaning in pairs:
        yield from (".TP", rf"\fB{_escaped(name)}\fR", *_paragraphs(meaning))


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP"
        yield _escaped(" ".join(paragraph.split()))


def _escaped(text: str) -> str:
    """Nothing in it is taken for a request, a hyphen or an escape."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "").replace('"', r"\(dq")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    click.echo(manual(), nl=False)
