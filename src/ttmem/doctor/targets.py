"""Whether a preloaded library can go along into a program, found out before the program is started.

Followed the way the kernel does: the command by PATH, `#!` lines to their interpreter (`env NAME` to NAME), then the
ELF file at the end. What the program starts in turn cannot be known.
"""

import os
import re
import stat
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ttmem.doctor.elf import Elf, ElfError, read_elf

__all__ = ["Obstacle", "hook_trouble", "obstacle_of"]

_MOST_SCRIPTS = 5  # as many interpreters of interpreters as Linux follows
_FIRST_LINE_BYTES = 256
_LOADERS = re.compile(r"ld-linux.*\.so\.\d+|ld64\.so\.\d+|ld\.so\.1|ld-2\.\d+\.so")  # of the GNU C library
_ASAN_LIBRARIES = ("libasan.", "libclang_rt.asan")
_ASAN_ENTRY = "__asan_init"
_ASAN_TOLERANT = re.compile(r"verify_asan_link_order=(0|no|false)\b")


class Obstacle(NamedTuple):
    """Why the hook cannot go along. `is_inherited`: nor must what the program starts find it in its environment."""

    program: str
    reason: str
    is_inherited: bool = True


def obstacle_of(command: Sequence[str], environ: Mapping[str, str], hook: str) -> Obstacle | None:
    """What keeps the hook out of a command; None if nothing does, or the command cannot be started anyway."""
    trouble = hook_trouble(hook)
    if trouble:
        return Obstacle(hook, trouble)
    try:
        ours = read_elf(hook)
    except (OSError, ElfError):
        return Obstacle(hook, "is no library that could be preloaded")
    path = _program_of(command, environ)
    if path is None:
        return None
    try:
        facts = os.stat(path)
        program = read_elf(path)
    except (OSError, ElfError):  # starting it will say what is wrong with it
        return None
    reason = _privilege_of(path, facts) or _foreignness_of(program, ours) or _sanitizer_of(program, environ)
    if reason:
        return Obstacle(path, reason)
    if program.interpreter is None and not _LOADERS.fullmatch(program.soname):
        return Obstacle(path, "is statically linked, so nothing can be preloaded into it", is_inherited=False)
    return None


def hook_trouble(hook: str) -> str:
    """What keeps the hook out of every program; empty if nothing does."""
    if re.search(r"[\s:]", hook):
        return "has a blank or colon in its path, which LD_PRELOAD cannot name"
    try:
        is_noexec = bool(os.statvfs(hook).f_flag & os.ST_NOEXEC)
    except OSError:
        is_noexec = False
    return "lies on a file system from which nothing may be executed (noexec)" if is_noexec else ""


def _program_of(command: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The file that the kernel loads in the end."""
    words = list(command)
    for _ in range(_MOST_SCRIPTS):
        path = _found(words[0], environ)
        if path is None:
            return None
        interpreter = _interpreter_words(path)
        if interpreter is None:
            return path
        words = interpreter
    return None


def _found(name: str, environ: Mapping[str, str]) -> str | None:
    """Where a command is found, as a shell would."""
    if "/" in name:
        return name if os.path.isfile(name) else None
    for place in environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(place or os.curdir, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _interpreter_words(path: str) -> list[str] | None:
    """What a `#!` line names; None for a file without one."""
    try:
        with open(path, "rb") as file:
            line = file.read(_FIRST_LINE_BYTES).split(b"\n", 1)[0]
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = os.fsdecode(line[2:]).split()
    if words and os.path.basename(words[0]) == "env":
        named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        return named or words
    return words or None


def _privilege_of(path: str, facts: os.stat_result) -> str:
    if facts.st_mode & stat.S_ISUID:
        return "is setuid, and such a program preloads nothing"
    if facts.st_mode & stat.S_ISGID:
        return "is setgid, and such a program preloads nothing"
    try:
        os.getxattr(path, "security.capability")
    except OSError:  # no such attribute, or a file system without any
        return ""
    return "has file capabilities, and such a program preloads nothing"


def _foreignness_of(program: Elf, hook: Elf) -> str:
    if (program.bits, program.machine) != (hook.bits, hook.machine):
        return "is built for another kind of processor than the hook"
    loader = os.path.basename(program.interpreter or "")
    if loader and not _LOADERS.fullmatch(loader):
        return f"is loaded by {loader}, which is not the GNU C library's, and the hook needs that"
    return ""


def _sanitizer_of(program: Elf, environ: Mapping[str, str]) -> str:
    is_sanitized = any(name.startswith(_ASAN_LIBRARIES) for name in program.needed) or (
        _ASAN_ENTRY in program.exported or _ASAN_ENTRY in program.imported
    )
    if is_sanitized and not _ASAN_TOLERANT.search(environ.get("ASAN_OPTIONS", "")):
        return (
            "is built with AddressSanitizer, which refuses preloaded libraries "
            "(ASAN_OPTIONS=verify_asan_link_order=0 makes it accept them)"
        )
    return ""
