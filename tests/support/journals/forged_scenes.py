"""A stage for forged journals: somebody reports honestly, and somebody else has written a victim into a file."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.journals.bad_journals import a_sample
from tests.support.journals.forgeries import FORGER_UID, VICTIM_UID, Somebody, forge, somebody
from tests.support.journals.reporters import a_nursery
from tests.support.processes.inside import ttmem_inside
from tests.support.server.server_serving import short_directory

__all__ = ["Scene", "a_scene"]

HONEST_BYTES = 4 << 20


@dataclass(frozen=True)
class Scene:
    """Where the journals are, and who is who."""

    journals: Path
    forged: Path
    victim: Somebody
    honest_pid: int
    environ: dict[str, str]

    def ttmem(self, *arguments: str) -> str:
        done = ttmem_inside(*arguments, environ=self.environ)
        return done.stdout + done.stderr

    @property
    def victims_pid(self) -> "re.Pattern[str]":
        return re.compile(rf"(?<!\d){self.victim.pid}(?!\d)")


@contextmanager
def a_scene(temporary: pytest.TempPathFactory, *, is_mapped: bool) -> Iterator[Scene]:
    """The forged journal names nobody yet; `is_mapped`: the victim has it in its memory."""
    with short_directory() as directory, a_nursery() as nursery, ExitStack() as stack:
        journals = directory / "j"
        journals.mkdir(mode=0o700)
        sample = a_sample(nursery, temporary.mktemp("sample"))
        forged = forge(journals / "4000-77-0123abcd.journal", sample, owner_uid=FORGER_UID)
        victim = stack.enter_context(somebody(VICTIM_UID, *([f"map:{forged}"] if is_mapped else [])))
        honest = nursery.start(journals)
        honest.call("set_label", "honest")
        honest.call("report_buffer_alloc", honest.open_device(0xBEEF), 1, HONEST_BYTES)
        places = {"TTMEM_DIR": str(journals), "XDG_CONFIG_HOME": str(directory / "config")}
        yield Scene(journals, forged, victim, honest.pid, {**os.environ, **places, "TERM": "xterm-256color"})
        honest.kill()
