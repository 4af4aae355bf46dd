"""The machine a result was measured on, in the words a reader needs to compare it with his own."""

import os
import platform
import subprocess
from pathlib import Path


def facts() -> dict[str, str]:
    return {
        "processor": f"{_first_value('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores",
        "memory": f"{_memory_gib():.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "clock source": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "compiler": _first_line(["c++", "--version"]),
        "Python": platform.python_version(),
        "load average at start": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return "unknown"


def _first_value(path: str, name: str) -> str:
    values = (line.split(":", 1)[1].strip() for line in _text(path).splitlines() if line.startswith(name))
    return next(values, "unknown")


def _first_line(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
