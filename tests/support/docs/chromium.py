"""Chromium without a screen and without a network, asked over a pipe in its own protocol.

Every name leads nowhere (`--host-resolver-rules`), and what the page asks for is written down: `requests` has all
addresses. Replies and events are waited for on the pipe; nothing sleeps.
"""

import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-default-apps"),
)
PATIENCE_SECONDS = 60  # until it counts as hanging
COMMANDS, ANSWERS = 3, 4  # the descriptors on which it listens and speaks


def installed() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One page of a running browser."""

    def __init__(self, to_it: int, from_it: int) -> None:
        self.requests: list[str] = []
        self._to_it, self._from_it = to_it, from_it
        self._rest = b""
        self._count = 0
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Network", "Page", "Runtime"):
            self.ask(f"{part}.enable")

    def open(self, address: str) -> None:
        """Goes there, and comes back when the page has loaded."""
        failed = self.ask("Page.navigate", url=address).get("errorText")
        assert not failed, f"{address}: {failed}"
        while self._hear().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, code: str) -> Any:
        """What the code comes to in the page; a promise is waited for."""
        answer = self.ask("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def write(self, text: str) -> None:
        """As if typed, wherever the page has its focus."""
        self.ask("Input.insertText", text=text)

    def ask(self, method: str, **params: object) -> Any:
        self._count += 1
        message: dict[str, object] = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to_it, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._hear()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _hear(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from_it], [], [], PATIENCE_SECONDS)
            assert ready, "Chromium does not answer"
            more = os.read(self._from_it, 65536)
            assert more, "Chromium ended"
            self._rest += more
        said, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(said)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message


@contextmanager
def a_browser(program: str, profile: Path) -> Iterator[Chromium]:
    """A browser of its own, that keeps its files in `profile`."""
    its_commands, to_it = os.pipe()
    from_it, its_answers = os.pipe()
    options = [*OPTIONS, "--host-resolver-rules=MAP * 0.0.0.0", f"--user-data-dir={profile}"]
    # Its numbers are fixed, so a shell puts the pipes there.
    start = f'exec "$0" "$@" {COMMANDS}<&{its_commands} {ANSWERS}>&{its_answers}'
    process = subprocess.Popen(
        ["bash", "-c", start, program, *options],
        pass_fds=(its_commands, its_answers),
        stderr=subprocess.DEVNULL,
    )
    os.close(its_commands)
    os.close(its_answers)
    try:
        yield Chromium(to_it, from_it)
    finally:
        process.kill()  # its profile is thrown away as well
        os.close(to_it)
        process.wait()
        os.close(from_it)
