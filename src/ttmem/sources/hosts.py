"""The machine itself, and the names of its users."""

import os
import pwd
import sys
from collections.abc import Mapping
from functools import lru_cache

import ttmem
from ttmem.snapshot import Host
from ttmem.snapshot.values import clean

__all__ = ["chip_directory", "read_host", "user_name"]


_PAGE_BYTES, _PAGES = "SC_PAGE_SIZE", "SC_PHYS_PAGES"
_RELEASE, _DRIVER = "/etc/os-release", "/sys/module/tenstorrent/version"


def chip_directory(environ: Mapping[str, str]) -> str:
    """Where the kernel's driver lists its chips; it is there only with that driver."""
    return os.path.join(environ.get("TTMEM_SYSFS_ROOT") or "/", "sys/class/tenstorrent")


def read_host() -> Host:
    """What a snapshot says about the machine it was taken on."""
    system = os.uname()
    return Host(
        hostname=clean(system.nodename),
        os=system.sysname,
        distro=_distro(),
        kernel=system.release,
        platform=system.machine,
        python=".".join(map(str, sys.version_info[:3])),
        memory=f"{os.sysconf(_PAGE_BYTES) * os.sysconf(_PAGES) / (1 << 30):.2f} GB",  # tt-smi's word for GiB
        driver=_driver(),
        version=ttmem.__version__,
    )


@lru_cache(maxsize=1024)
def user_name(uid: int) -> str:
    """The user's name, or the number where it has none here."""
    try:
        return clean(pwd.getpwuid(uid).pw_name)
    except (KeyError, OverflowError):
        return str(uid)


def _distro() -> str:
    lines = _text_of(_RELEASE).splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("PRETTY_NAME", "").strip("\"'")


def _driver() -> str:
    version = _text_of(_DRIVER).strip()
    return f"TT-KMD {version}" if version else ""


def _text_of(path: str) -> str:
    """Empty if there is no such file here."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
