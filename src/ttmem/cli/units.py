"""How to run the daemon under systemd: the commands that put its units in place."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import ttmem

__all__ = ["UNITS", "installation"]

UNITS = ("ttmem.service", "ttmem.socket", "ttmem-query.socket")
_PLACE = "/etc/systemd/system"


def installation(program: str) -> str:
    """Text to read, and to hand to a root shell as it is."""
    units = units_directory()
    lines = [
        "# The daemon for a whole machine, started by systemd: run these as root, or",
        "#   ttmem serve --install-unit | sudo sh -ex",
        f"# Units go to {_PLACE}; to undo it, disable and remove them there.",
    ]
    for unit in UNITS:
        source, target = shlex.quote(str(units / unit)), f"{_PLACE}/{unit}"
        if unit.endswith(".service"):
            command = shlex.quote(f"s|^ExecStart=[^ ]*|ExecStart={_escaped(_command(program))}|")
            lines += [f"sed {command} {source} > {target}", f"chmod 644 {target}"]
        else:
            lines.append(f"install -m 644 {source} {target}")
    lines += ["systemctl daemon-reload", f"systemctl enable --now {' '.join(reversed(UNITS))}"]
    return "\n".join(lines) + "\n"


def _command(program: str) -> str:
    """The program that is running now, as a unit names it."""
    beside = os.path.join(os.path.dirname(sys.executable), "ttmem")
    for candidate in (shutil.which(program), beside):
        if candidate and os.path.basename(candidate) == "ttmem" and os.access(candidate, os.X_OK):
            return _quoted(os.path.abspath(candidate))
    return f"{_quoted(sys.executable)} -m ttmem"


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path


def _escaped(text: str) -> str:
    """For the right side of sed's s|||."""
    return re.sub(r"([\\&|])", r"\\\1", text)


def units_directory() -> Path:
    """Where the package brought them, or where the source tree has them."""
    package = Path(ttmem.__file__).resolve().parent
    installed = package / "daemon" / "units"
    return installed if installed.is_dir() else package.parents[1] / "packaging"
