"""By which rules the output of a documented command is compared with what the page shows.

Each rule takes out of a text what differs from run to run, on both sides. Those of `ALWAYS` hold for every output,
those of `ASKED` for blocks that name them (`<!-- rules: sizes -->`). Two more belong to the comparison itself: a line
`...` on a page stands for any number of lines, and a line that ends with ` ...` for all that begin so.
"""

import getpass
import re
import socket
from collections.abc import Callable, Iterable

_USER = rf"(?:ada|{re.escape(getpass.getuser())})\b"  # on the pages, and here
Rule = Callable[[str], str]


def times(text: str) -> str:
    """Dates and times of day: `10:20:40`, `2026-11-16T10:20:40.123456Z`, `2026/11/16 10:20:40.123`."""
    return re.sub(r"(\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?", "TIME", text)


def ages(text: str) -> str:
    """How long something took or lasted: `12 s old`, `5 min`, `0.00 s to 0.02 s`."""
    one = r"\b[\d.]+ (?:ns|us|ms|s|min|h|d|seconds)\b"
    return re.sub(rf"{one}(?: to {one})?", "AGE", text)


def pids(text: str) -> str:
    """Numbers of processes: behind `pid`, before a label in a table, in names of incidents and journals."""
    text = re.sub(r"\b\d+-\d+-[0-9a-f]+\.journal", "JOURNAL", text)
    text = re.sub(r"(?i)(\bpid |\bexplain +|\bdaemon |pid=)\d+", r"\1PID", text)
    text = re.sub(r'("pid": ?)\d+', r"\1PID", text)
    text = re.sub(r"\b\d{2,8}-(\d)\b", r"PID-\1", text)
    text = re.sub(rf"\b\d{{2,8}}(?= +{_USER})", "PID", text)
    return re.sub(r"(?m)^( *[!*]?) *\d{2,8}(?=  \S)", r"\1PID", text)


def paths(text: str) -> str:
    """Directories: of an absolute path only the last part counts."""
    return re.sub(r"(?<![\w.])(?:\.\.\.)?/(?:[\w.+-]+/)+([\w.+-]+)", r".../\1", text)


def versions(text: str) -> str:
    """Version numbers: `0.1.0`."""
    return re.sub(r"(?<![\w.:])v?\d+\.\d+\.\d+\b(?!\.)", "VERSION", text)


def names(text: str) -> str:
    """The user and the machine: the pages have `ada` on `vm`."""
    text = re.sub(rf"\b{_USER}", "USER", text)
    return re.sub(rf"\b(?:vm|{re.escape(socket.gethostname())})\b", "HOST", text)


def blanks(text: str) -> str:
    """Widths of columns, which follow from all of the above: blanks in a row are one, those at an end none."""
    return re.sub(r"(?m) +$", "", re.sub(r"(?<=\S) {2,}|(?m:^) +", " ", text))


def sizes(text: str) -> str:
    """Amounts that belong to the machine (free memory, sizes of files): `24,072 MiB`, `4711 bytes`."""
    return re.sub(r"\b[\d.,]+ ?(B|KiB|MiB|GiB|bytes)\b", "SIZE", text)


ALWAYS: dict[str, Rule] = {rule.__name__: rule for rule in (times, ages, pids, paths, versions, names, blanks)}
ASKED: dict[str, Rule] = {rule.__name__: rule for rule in (sizes,)}


def normal(text: str, asked: Iterable[str] = ()) -> str:
    """A text as it is compared."""
    for rule in (*(ASKED[name] for name in asked), *ALWAYS.values()):
        text = rule(text)
    return text.strip("\n") + "\n"


def difference(shown: str, actual: str, asked: Iterable[str] = ()) -> str:
    """What a page shows that a command did not print: empty if all is well, else both as they are compared."""
    rules = tuple(asked)
    expected, printed = normal(shown, rules), normal(actual, rules)
    pattern = "".join(_line_pattern(line) for line in expected.splitlines())
    if re.fullmatch(pattern, printed):
        return ""
    return f"the page shows\n{expected}\nand was printed\n{printed}"


def _line_pattern(line: str) -> str:
    if line.strip() == "...":
        return r"(?:.*\n)*?"
    if line.endswith(" ..."):
        return re.escape(line.removesuffix("...").rstrip()) + r".*\n"
    return re.escape(line) + r"\n"
