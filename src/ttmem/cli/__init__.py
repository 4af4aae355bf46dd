"""The program `ttmem`: one verb, one file.

A verb is loaded when it is used, and the words of `ttmem --help` stand here: asking for them loads nothing at all.
"""

import gc
import os
import sys

import ttmem

TYPE_CHECKING = False  # see `ttmem`
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["HELP", "VERBS", "main", "monitor_as_tt_smi_umd", "serve_as_allocation_server"]

VERBS = {
    "top": "Watch which process holds what, live.",
    "ps": "Show which process holds what on which device.",
    "dump": "Show what is alive, allocation by allocation.",
    "explain": "Show why memory ran out, and who held it.",
    "fit": "Show which chips have room for a given size.",
    "check": "Fail if a chip is fuller than it may be.",
    "inspect": "Show what a journal, region or checkpoint file holds.",
    "run": "Run a program with tracking on.",
    "record": "Record what happens, for ttmem report.",
    "report": "Show what a recording says.",
    "diff": "Show what changed between two recordings.",
    "export": "Write a recording for other programs.",
    "doctor": "Show what can be seen here, and what is missing.",
    "serve": "Serve programs that report by socket, and viewers.",
    "demo": "Show a workload on simulated chips, live.",
}
HELP = """\
Usage: ttmem [VERB] [OPTIONS]

  See, live and exactly, which process holds which memory on every Tenstorrent
  device. Without a verb: on a terminal the live monitor (ttmem top), otherwise
  one table (ttmem ps). About a verb: ttmem help VERB.

Verbs:
{verbs}

Without a verb, for scripts (ttmem ps --help lists all flags):
  -s, --json                 JSON, the skeleton of tt-smi -s with memory added.
  -q [-d MEMORY,L1,PIDS]     Everything as text.
  --query-mem=FIELDS         CSV of chips, as nvidia-smi --query-gpu;
  --query-apps=FIELDS        of processes. --format=csv,noheader,nounits
  --help-query-mem           All fields; --help-query-apps those of processes.
  -f [FILE]                  Write it to a file.
  -l [SEC], -lms MS          Repeat.              -1, --once  The table once.
  -i LIST, -u [NAME], -p PID Only these chips, users, processes.
  -ls, -L, --list            The chips by all their names.
  -t, --sort COLUMN          Processes as a tree, or by a column.
  --demo, --mock N           All of it, and the monitor, on simulated chips.

Options:
  --completion SHELL         What makes bash, zsh or fish complete: eval it.
  --cmake-dir                Where the CMake package is, for C and C++ programs.
  -V, --version              Show the version.
  -h, --help                 Show this text.

Exit codes: 0 done, 1 nothing reports, 2 bad flag or file, 3 not running
(serve --status), 4 does not fit, 5 limit crossed, 130 interrupted.
""".format(verbs="\n".join(f"  {verb:8} {purpose}" for verb, purpose in VERBS.items()))


def main(arguments: list[str] | None = None) -> "NoReturn":
    """Runs a verb and exits, with the codes that `ttmem --help` names."""
    given = sys.argv[1:] if arguments is None else arguments
    if given in (["-h"], ["--help"], ["help"]):
        sys.exit(_write(HELP))
    if given in (["-V"], ["-v"], ["--version"]):
        sys.exit(_write(f"ttmem {ttmem.__version__}\n"))
    if given == ["--cmake-dir"]:
        sys.exit(_write_cmake_directory())
    gc.disable()  # loading leaves no garbage, and neither does one table; a verb that stays turns it on again
    try:
        from ttmem.cli.program import run_program

        code = run_program(given)
    except KeyboardInterrupt:
        sys.exit(130)  # ttmem.cli.common.INTERRUPTED; loading it could be interrupted again
    except ModuleNotFoundError as error:
        _refuse(error)
    _end(code)


def _refuse(error: ModuleNotFoundError) -> "NoReturn":
    """Installed without what it needs, `import ttmem` works and programs report; looking at them takes more."""
    package = (error.name or "ttmem").partition(".")[0]
    if package == "ttmem":
        raise error
    sys.exit(
        f"ttmem: {package} is not installed in this Python, and this command needs it; "
        "install ttmem with its dependencies (pip install without --no-deps), or use the ttmem of another Python"
    )


def _end(code: int) -> "NoReturn":
    gc.freeze()  # all of it goes now: Python need not look for garbage first
    sys.exit(code)


def _write_cmake_directory() -> int:
    """Prints what `cmake -Dttmem_DIR=` takes; the exit code."""
    places = [os.path.join(place, "lib", "cmake", "ttmem") for place in ttmem.__path__]
    found = [place for place in places if os.path.isfile(os.path.join(place, "ttmem-config.cmake"))]
    if not found:
        sys.stderr.write(f"ttmem: there is no ttmem-config.cmake in {places[0]}; install ttmem again\n")
        return 1
    return _write(found[0] + "\n")


def _write(text: str) -> int:
    """Writes a text that is known without loading anything; the exit code."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        from ttmem.cli.program import unwritten  # loads a lot, and matters no more

        return unwritten("ttmem", error)
    return 0


def monitor_as_tt_smi_umd(arguments: list[str] | None = None) -> "NoReturn":
    """The program `tt_smi_umd`: the same monitor under the older one's name."""
    gc.disable()  # as above
    from ttmem.cli.program import run_tt_smi_umd

    _end(run_tt_smi_umd(sys.argv[1:] if arguments is None else arguments))


def serve_as_allocation_server(arguments: list[str] | None = None) -> "NoReturn":
    """The program `allocation_server_poc`: `ttmem serve --log-events` under the older server's name."""
    from ttmem.cli.program import run_allocation_server

    sys.exit(run_allocation_server(sys.argv[1:] if arguments is None else arguments))
