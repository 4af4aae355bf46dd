"""A real Prometheus on loopback, for tests: Debian's package, unpacked below build/ without installing anything.

with a_prometheus(config) as prometheus:
    wait_until(lambda: prometheus.values('ttmem_up'))
"""

import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

PLACE = Path(__file__).parents[3] / "build" / "prometheus"
_FETCH_SECONDS = 60
_TRIES = 3


def prometheus_programs() -> Path:
    """The directory of `prometheus` and `promtool`; fetched once, and shared by tests that run beside each other.

    Skips the test, in one loud line, where the package cannot be had."""
    directory = PLACE / "usr" / "bin"
    PLACE.mkdir(parents=True, exist_ok=True)
    with open(PLACE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / "promtool").exists():
            try:
                _fetch()
            except (OSError, subprocess.SubprocessError) as error:
                said = getattr(error, "stderr", None) or str(error)
                pytest.skip(f"NOT TESTED: no Prometheus could be had ({said.strip().splitlines()[-1]})")
    return directory


def _fetch() -> None:
    with tempfile.TemporaryDirectory(dir=PLACE) as own:
        _run(["apt-get", "download", "prometheus"], cwd=own)
        [package] = Path(own).glob("prometheus_*.deb")
        _run(["dpkg", "-x", str(package), f"{own}/unpacked"], cwd=own)
        shutil.rmtree(PLACE / "usr", ignore_errors=True)
        os.replace(f"{own}/unpacked/usr", PLACE / "usr")


def _run(command: list[str], cwd: str) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, timeout=_FETCH_SECONDS)


def promtool(*arguments: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """`promtool ARGUMENTS...`; what it says is in stdout and stderr."""
    command = [str(prometheus_programs() / "promtool"), *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False, timeout=PATIENCE_SECONDS)


class Prometheus:
    """One that runs."""

    def __init__(self, url: str) -> None:
        self.url = url

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result of an expression, now: every series with its labels and value."""
        answer = self._asked("query", query=expression)
        if answer["resultType"] == "scalar":
            return [{"metric": {}, "value": answer["result"]}]
        return list(answer["result"])

    def values(self, expression: str) -> list[float]:
        return [float(series["value"][1]) for series in self.query(expression)]

    def firing(self) -> set[str]:
        """The names of alerts that fire."""
        return {alert["labels"]["alertname"] for alert in self._asked("alerts")["alerts"] if alert["state"] == "firing"}

    def label_values(self, series: str, label: str) -> set[str]:
        """What a board's variable offers."""
        return {one.get(label, "") for one in self._asked("series", **{"match[]": series})} - {""}

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self._asked("rules")["groups"] for rule in group["rules"]]

    def target(self) -> dict[str, Any]:
        """The only one that is scraped."""
        [target] = self._asked("targets")["activeTargets"]
        return dict(target)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=PATIENCE_SECONDS) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _asked(self, what: str, **parameters: str) -> Any:
        url = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters or what}: {json.load(error)['error']}") from None


@contextmanager
def a_prometheus(config: Path) -> Iterator[Prometheus]:
    """One that scrapes and evaluates as a file says; it and its data are gone at the end, also of a test that fails."""
    program = prometheus_programs() / "prometheus"
    with tempfile.TemporaryDirectory(prefix="tt-prometheus-") as directory:
        process, url = _started(program, config, directory)
        try:
            yield Prometheus(url)
        finally:
            process.kill()
            process.wait()


def _started(program: Path, config: Path, directory: str) -> tuple["subprocess.Popen[bytes]", str]:
    """Ready to be asked. A port that somebody else takes meanwhile is no reason to fail: another one is tried."""
    log = Path(directory, "log")
    for _ in range(_TRIES):
        port = _free_port()
        with open(log, "wb") as output:
            process = subprocess.Popen(_command(program, config, directory, port), stdout=output, stderr=output)
        url = f"http://127.0.0.1:{port}"
        try:
            if wait_until(partial(_outcome, process, url)) == "ready":
                return process, url
        except BaseException:
            process.kill()
            process.wait()
            raise
    raise AssertionError(f"Prometheus does not start: {log.read_text()}")


def _outcome(process: "subprocess.Popen[bytes]", url: str) -> str:
    if process.poll() is not None:
        return "ended"
    return "ready" if Prometheus(url).is_ready() else ""


def _command(program: Path, config: Path, directory: str, port: int) -> list[str]:
    return [
        str(program),
        f"--config.file={config}",
        f"--storage.tsdb.path={directory}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
