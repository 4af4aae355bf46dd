"""What the monitor remembers: a flag goes before the environment, that before the file, that before the default.

The file is monitor.json in $XDG_CONFIG_HOME/ttmem (~/.config/ttmem). One that is broken is worth a notice, never a
crash, and is not written over until the settings are saved.
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["INTERVALS", "LAYOUTS", "THEMES", "VIEWS", "Settings", "load", "save", "settings_path"]

VIEWS = ("overview", "processes", "l1_map", "kernels", "charts", "telemetry", "incidents")
LAYOUTS = ("auto", "full", "compact")
THEMES = ("dark", "light")
INTERVALS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # what + and - step through, in seconds
PREFIX = "TTMEM_MONITOR_"
_SCHEMA = 1
_PERCENT_MOST = 100


class Settings(NamedTuple):
    """What the monitor opens with."""

    view: str = "overview"
    layout: str = "auto"
    theme: str = "dark"
    ascii: bool = False
    interval: float = 1.0  # seconds
    sort: str = "memory"
    tree: bool = False
    limit: int = 0  # percent of a memory from which on it is marked; 0: never


def settings_path(environ: Mapping[str, str]) -> Path:
    """Where the file is, or would be."""
    base = environ.get("XDG_CONFIG_HOME", "")
    home = environ.get("HOME") or os.path.expanduser("~")
    return (Path(base) if os.path.isabs(base) else Path(home) / ".config") / "ttmem" / "monitor.json"


def load(environ: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """What file and environment say, and a notice for each thing that could not be understood."""
    path = settings_path(environ)
    settings, notices = _from_file(path)
    for field in Settings._fields:
        name = PREFIX + field.upper()
        if environ.get(name):
            settings, notice = _changed(settings, field, environ[name])
            notices += [f"{name}: {notice}"] if notice else []
    return settings, notices


def save(settings: Settings, environ: Mapping[str, str]) -> Path:
    """Writes them for the next time; OSError if that cannot be done."""
    path = settings_path(environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"schema": _SCHEMA, **settings._asdict()}, indent=2) + "\n"
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError:
        with suppress(OSError):
            unfinished.unlink()
        raise
    return path


def _from_file(path: Path) -> tuple[Settings, list[str]]:
    try:
        document = _parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings(), []
    except OSError as error:
        return Settings(), [f"{path} cannot be read: {error.strerror}"]
    except (ValueError, RecursionError):
        return Settings(), [f"{path} is no JSON, and was not used"]
    if not isinstance(document, dict):
        return Settings(), [f"{path} holds no settings, and was not used"]
    settings, notices = Settings(), []
    for field in Settings._fields:
        if field in document:
            settings, notice = _changed(settings, field, document[field])
            notices += [f"{path}: {field}: {notice}"] if notice else []
    return settings, notices[:1]  # one line is enough


def _parsed(text: str) -> Any:
    return json.loads(text)


def _changed(settings: Settings, name: str, value: Any) -> tuple[Settings, str]:
    """The settings with one of them changed; or as they were, and why."""
    try:
        return settings._replace(**{name: _READERS[name](value)}), ""
    except (TypeError, ValueError) as error:
        return settings, str(error)


def _one_of(words: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in words:
            raise ValueError(f"expected {', '.join(words)}; found {value!r}")
        return str(value)

    return read


def _seconds(value: Any) -> float:
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        seconds = math.nan
    if not INTERVALS[0] <= seconds <= INTERVALS[-1]:
        raise ValueError(f"expected {INTERVALS[0]:g} to {INTERVALS[-1]:g} seconds; found {value!r}")
    return seconds


def _percent(value: Any) -> int:
    if isinstance(value, bool) or not str(value).isdecimal() or int(value) > _PERCENT_MOST:
        raise ValueError(f"expected a percentage from 1 to {_PERCENT_MOST}, or 0 for none; found {value!r}")
    return int(value)


def _truth(value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    found = words.get(str(value).lower())
    if found is None:
        raise ValueError(f"expected true or false; found {value!r}")
    return found


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value.isidentifier():
        raise ValueError(f"expected a column; found {value!r}")
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "view": _one_of(VIEWS),
    "layout": _one_of(LAYOUTS),
    "theme": _one_of(THEMES),
    "ascii": _truth,
    "interval": _seconds,
    "sort": _word,
    "tree": _truth,
    "limit": _percent,
}
