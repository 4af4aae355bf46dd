"""The machine itself, and the names of its users."""

import os
import pwd
import sys
from functools import lru_cache
from pathlib import Path

import ttmem
from ttmem.snapshot import Host

__all__ = ["read_host", "user_name"]


_PAGE_BYTES, _PAGES = "SC_PAGE_SIZE", "SC_PHYS_PAGES"
_DRIVER = Path("/sys/module/tenstorrent/version")


def read_host(release_file: Path = Path("/etc/os-release"), driver_file: Path = _DRIVER) -> Host:
    """What a snapshot says about the machine it was taken on."""
    system = os.uname()
    return Host(
        hostname=system.nodename,
        os=system.sysname,
        distro=_distro(release_file),
        kernel=system.release,
        platform=system.machine,
        python=".".join(map(str, sys.version_info[:3])),
        memory=f"{os.sysconf(_PAGE_BYTES) * os.sysconf(_PAGES) / (1 << 30):.2f} GB",  # tt-smi's word for GiB
        driver=_driver(driver_file),
        version=ttmem.__version__,
    )


@lru_cache(maxsize=1024)
def user_name(uid: int) -> str:
    """The user's name, or the number where it has none here."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return str(uid)


def _distro(release_file: Path) -> str:
    try:
        lines = release_file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("PRETTY_NAME", "").strip("\"'")


def _driver(version_file: Path) -> str:
    try:
        return f"TT-KMD {version_file.read_text(encoding='utf-8', errors='replace').strip()}"
    except OSError:
        return ""
