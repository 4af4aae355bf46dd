"""The machine around it: room and rights for journals, the runtime's own counters, Inspector, cards, kernel, daemon.

Everything is looked at from outside: no device is opened, nothing is created, no process is asked to do anything.
"""

import mmap
import os
import socket
import stat
from collections.abc import Iterator, Mapping

import ttmem
from ttmem.doctor.checks import Check, Status
from ttmem.errors import RegionDamaged, TtmemError
from ttmem.figures.daemon_client import SOCKET_NAME, DaemonClient
from ttmem.snapshot.values import clean
from ttmem.sources import Places
from ttmem.sources.directories import RUNTIME_DIRECTORY, region_number
from ttmem.sources.journal_versions import JOURNAL_VERSION, other_versions
from ttmem.sources.stock_shm.region import decode_region
from ttmem.sources.stock_shm.regions import read_region_file

__all__ = ["machine_checks"]

JOURNAL_BYTES = 16 << 20  # of one process, as long as TTMEM_TABLE and TTMEM_RING are left alone
_COMFORTABLE_JOURNALS = 16
_PIDS_MOST = 5
_INSPECTOR = "TT_METAL_INSPECTOR_RPC_SERVER_ADDRESS"
_INSPECTOR_ADDRESS = "localhost:50051"
_CONNECT_SECONDS = 0.2
_ROOT = 0
_CARDS = "/dev/tenstorrent"
_MADV_WIPEONFORK = getattr(mmap, "MADV_WIPEONFORK", 18)
_OFF = ("0", "", "false", "off", "no")


def machine_checks(environ: Mapping[str, str], *, uid: int, cards: str = _CARDS) -> Iterator[Check]:
    """All of them, in the order in which they matter."""
    places = Places.from_environment(environ, uid=uid)
    yield _journals(places.main, uid, is_named=bool(environ.get("TTMEM_DIR")))
    yield from _other_versions(places.main)
    yield _room(places.main)
    yield from _stock_counters(environ)
    yield _inspector(environ)
    yield _cards(cards)
    yield from _daemons([places.main, environ.get("TTMEM_SYSTEM_DIR") or "/run/ttmem"])
    yield _kernel()


def _journals(directory: str, uid: int, *, is_named: bool) -> Check:
    """As strict as a program that makes a journal. Without a named directory it takes the next place."""
    try:
        facts = os.lstat(directory)
    except FileNotFoundError:
        return _journals_to_be(directory)
    except OSError as error:
        return Check(Status.FAIL, "journals", f"{directory}: {error.strerror}", "set TTMEM_DIR to another directory")
    advice = "set TTMEM_DIR to a directory of your own (mkdir -m 700), for the program and for ttmem"
    if stat.S_ISLNK(facts.st_mode):
        advice = f"name the directory itself: TTMEM_DIR={os.path.realpath(directory)}"
        return Check(Status.FAIL, "journals", f"{directory} is a link, and those are not followed", advice)
    if not stat.S_ISDIR(facts.st_mode):
        return Check(Status.FAIL, "journals", f"{directory} is no directory", advice)
    if facts.st_uid not in (uid, _ROOT) and not is_named:
        text = f"{directory} belongs to uid {facts.st_uid}, not to you; programs report in the next place"
        return Check(Status.WARN, "journals", text, "have it removed, by its owner or root")
    if facts.st_uid not in (uid, _ROOT):
        return Check(Status.FAIL, "journals", f"{directory} belongs to uid {facts.st_uid}, not to you", advice)
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        return Check(Status.FAIL, "journals", f"{directory} may not be read and written", advice)
    return Check(Status.PASS, "journals", f"{directory} is yours; no other rights (ptrace, root) are needed")


def _journals_to_be(directory: str) -> Check:
    """A directory that is not there is made, but none above it."""
    above = os.path.dirname(directory.rstrip("/")) or "/"
    if os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK):
        return Check(Status.PASS, "journals", f"{directory} will be made by the first program that reports")
    trouble = "may not be written to" if os.path.isdir(above) else "is not there either"
    advice = "make it, or set TTMEM_DIR to a directory of your own, for programs and viewers alike"
    return Check(Status.FAIL, "journals", f"{directory} is not there, and {above} {trouble}", advice)


def _other_versions(directory: str) -> Iterator[Check]:
    """Journals that are not read here: whose they are, and which of the two is the older one."""
    for version, pids in other_versions(directory).items():
        named = ", ".join(map(str, pids[:_PIDS_MOST])) + (" and others" if len(pids) > _PIDS_MOST else "")
        text = f"{len(pids)} in {directory} of version {version}, which this ttmem cannot read (pid {named})"
        older = "this ttmem" if version > JOURNAL_VERSION else "the ttmem of those programs"
        yield Check(Status.WARN, "journals", text, f"upgrade {older}; of programs that have ended, remove the files")


def _standing_above(directory: str) -> str:
    while directory and not os.path.isdir(directory):
        directory = os.path.dirname(directory.rstrip("/"))
    return directory or "/"


def _room(directory: str) -> Check:
    above = _standing_above(directory)
    try:
        facts = os.statvfs(above)
    except OSError as error:
        return Check(Status.WARN, "room", f"{above}: {error.strerror}")
    free = facts.f_bavail * facts.f_frsize
    text = f"{free >> 20:,} MiB free for journals of {JOURNAL_BYTES >> 20} MiB, one per process, in {above}"
    shared = " (of a container: --shm-size)" if above.startswith("/dev/shm") else ""
    advice = f"make room there{shared}, set TTMEM_DIR to another place, or TTMEM_TABLE=65536 for smaller journals"
    if free < JOURNAL_BYTES:
        return Check(Status.FAIL, "room", text, advice)
    if free < JOURNAL_BYTES * _COMFORTABLE_JOURNALS:
        return Check(Status.WARN, "room", text, advice)
    return Check(Status.PASS, "room", text)


def _stock_counters(environ: Mapping[str, str]) -> Iterator[Check]:
    """The runtime's own counters: the figures there are of programs that were started without us."""
    directory = environ.get("TTMEM_STOCK_SHM_DIR") or RUNTIME_DIRECTORY
    if environ.get("TT_METAL_SHM_TRACKING_DISABLED", "") not in _OFF:
        text = "TT_METAL_SHM_TRACKING_DISABLED is set: programs started plainly from here keep no counters to read"
        yield Check(Status.WARN, "counters", text, "unset it, or start them by `ttmem run`")
    try:
        names = sorted(name for name in os.listdir(directory) if region_number(name) is not None)
    except OSError as error:
        yield Check(Status.WARN, "counters", f"{directory}: {error.strerror}", "set TTMEM_STOCK_SHM_DIR")
        return
    sound, foreign, damaged = [], [], []
    for name in names:
        try:
            sound.append(decode_region(read_region_file(os.path.join(directory, name)).data).layout.version)
        except RegionDamaged as error:
            damaged.append(f"{name}: {error}".rpartition("; "))
        except OSError:
            foreign.append(name)
    layouts = f" (layout {', '.join(map(str, sorted(set(sound))))})" if sound else ""
    yield Check(Status.PASS, "counters", f"{_regions(len(sound))} of the runtime's own in {directory}{layouts}")
    if foreign:
        text = f"{_regions(len(foreign))} in {directory} belong to others and may not be read"
        yield Check(Status.WARN, "counters", text, "look as their owner, or as root")
    for trouble, _, advice in damaged:
        step = "remove it when no program uses the chip" if advice == "ignored" else advice
        yield Check(Status.WARN, "counters", f"{directory}/{trouble}", step)


def _regions(count: int) -> str:
    return f"{count or 'no'} region{'' if count == 1 else 's'}"


def _inspector(environ: Mapping[str, str]) -> Check:
    """Nothing here needs it; it is shown since users ask for it."""
    if environ.get("TT_METAL_INSPECTOR", "1") in _OFF:
        return Check(Status.PASS, "inspector", "turned off by TT_METAL_INSPECTOR; the hook does not need it")
    address = environ.get(_INSPECTOR) or _INSPECTOR_ADDRESS
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host or "localhost", int(port)), timeout=_CONNECT_SECONDS):
            return Check(Status.PASS, "inspector", f"a server listens at {address}")
    except (OSError, ValueError, OverflowError):
        return Check(Status.PASS, "inspector", f"nothing listens at {address}; the hook does not need it")


def _cards(directory: str) -> Check:
    try:
        names = sorted(name for name in os.listdir(directory) if name.isdecimal())
    except OSError:
        return Check(Status.PASS, "cards", f"none here ({directory} is not there): simulated and mock chips only")
    closed = [name for name in names if not os.access(os.path.join(directory, name), os.R_OK | os.W_OK)]
    if closed:
        text = f"{len(closed)} of {len(names)} in {directory} may not be opened by you"
        advice = (
            f"ttnn must open them (ttmem never does): ls -l {directory} shows who may; join that group (usermod -aG)"
        )
        return Check(Status.WARN, "cards", text, advice)
    return Check(Status.PASS, "cards", f"{len(names)} in {directory}, never opened by ttmem")


def _daemons(directories: list[str]) -> Iterator[Check]:
    """Each that answers or should: viewers ask the first that they understand, else they look themselves."""
    sockets = [os.path.join(directory, SOCKET_NAME) for directory in dict.fromkeys(directories)]
    sockets = [path for path in sockets if os.path.lexists(path)]
    yield from map(_daemon, sockets)
    if not sockets:
        yield Check(Status.PASS, "daemon", "none runs, and none is needed; `ttmem serve` starts one")


def _daemon(path: str) -> Check:
    try:
        health = DaemonClient(path).health()
    except TtmemError as error:
        advice = f"start it again (systemctl restart ttmem, or ttmem serve); without one, remove {path}"
        return Check(Status.WARN, "daemon", f"{path}: {error}; viewers look without it", advice)
    version, reasons = clean(str(health.get("version"))), health.get("reasons")
    if version != ttmem.__version__:
        text = f"{path} is of ttmem {version}, this is {ttmem.__version__}: they may not understand each other"
        return Check(Status.WARN, "daemon", text, "install one version, then restart it: systemctl restart ttmem")
    if isinstance(reasons, list) and reasons:
        text = f"{path} answers, but not all is well: {clean(str(reasons[0]))}"
        return Check(Status.WARN, "daemon", text, "ttmem serve --status lists what has failed")
    return Check(Status.PASS, "daemon", f"answers at {path}")


def _kernel() -> Check:
    release, advice = os.uname().release, "use Linux 5.3 or newer"
    try:
        with mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as page:
            page.madvise(_MADV_WIPEONFORK)
    except (OSError, ValueError):
        return Check(Status.FAIL, "kernel", f"{release} lacks MADV_WIPEONFORK: no program can report", advice)
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (OSError, AttributeError):
        return Check(Status.WARN, "kernel", f"{release} lacks pidfd_open: deaths are noticed later", advice)
    return Check(Status.PASS, "kernel", f"{release} has pidfd_open and MADV_WIPEONFORK")
