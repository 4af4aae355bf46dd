"""Builds the site with zensical, strictly, then takes out what would be fetched from elsewhere, and checks that nothing
is left of it and that every link and anchor leads somewhere."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.site.pages import ROOT, Entry, copy_pages, navigation

WORKER = Path(__file__).with_name("worker.js")
THEIR_WORKER = re.compile(r'"https://unpkg\.com/iframe-worker/shim"')
FETCHING = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("link", "href"),
    ("source", "src"),
    ("object", "data"),
}
NOT_FETCHED = {"canonical", "next", "prev", "alternate", "license"}  # kinds of <link> that only name something
_FETCHED_BY_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?(https?:[^'\")\s]+)")


class Refused(Exception):
    """Why there is no site."""


def build(place: Path) -> int:
    """Makes the site in `place`, a directory of its own; how many pages it has."""
    with tempfile.TemporaryDirectory(prefix="ttmem-site-") as scratch:
        source = Path(scratch)
        count = copy_pages(source / "docs", repository())
        (source / "zensical.toml").write_text(settings(), encoding="utf-8")
        run_zensical(source)
        mend(source / "site")
        faults = [*foreign(source / "site"), *dead_links(source / "site")]
        if faults:
            raise Refused("\n".join(faults))
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source / "site", place)
    return count


def repository() -> str:
    """Where the source is, as the package says it."""
    [found] = re.findall(
        r'^Source = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return str(found)


def settings() -> str:
    return f"""\
[project]
site_name = "ttmem"
site_description = "Live, exact device-memory tracking for Tenstorrent accelerators"
docs_dir = "docs"
site_dir = "site"
nav = {_toml(navigation())}

[project.theme]
font = false
language = "en"
features = ["navigation.tabs", "navigation.indexes", "navigation.top", "search.highlight", "content.code.copy"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light"

[project.plugins.search]
[project.plugins.offline]

[project.markdown_extensions.tables]
[project.markdown_extensions.toc]
permalink = true
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.pymdownx.superfences]
"""


def _toml(entry: Entry | list[Entry]) -> str:
    if isinstance(entry, str):
        return f'"{entry}"'
    if isinstance(entry, list):
        return f"[{', '.join(_toml(inner) for inner in entry)}]"
    return f"{{ {', '.join(f'{_toml(title)} = {_toml(inner)}' for title, inner in entry.items())} }}"


def run_zensical(source: Path) -> None:
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", "zensical.toml"]
    ended = subprocess.run(
        command, cwd=source, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        said = re.sub(r"\x1b\[[\d;]*m", "", ended.stdout + ended.stderr)
        raise Refused(f"zensical refuses the pages:\n{said.strip()}")


def mend(site: Path) -> None:
    """The one script that the theme would fetch is replaced by ours."""
    own = site / "assets" / "javascripts" / "worker.js"
    shutil.copy(WORKER, own)
    for page in site.rglob("*.html"):
        relative = Path(os.path.relpath(own, page.parent)).as_posix()
        page.write_text(THEIR_WORKER.sub(f'"{relative}"', page.read_text(encoding="utf-8")), encoding="utf-8")


class Page(HTMLParser):
    """What a page fetches, where its links lead, and what can be linked on it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.update(value for name, value in attrs if name in ("id", "name") and value)
        if tag == "link" and NOT_FETCHED & set((found.get("rel") or "").split()):
            return
        for name, value in attrs:
            if (tag, name) in FETCHING:
                self.fetched.append(value or "")
            elif (tag, name) == ("a", "href"):
                self.links.append(value or "")


def is_elsewhere(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def foreign(site: Path) -> list[str]:
    """What a browser would fetch from another place than the site."""
    pages = ((path, Page(path).fetched) for path in sorted(site.rglob("*.html")))
    styles = (
        (path, _FETCHED_BY_STYLE.findall(path.read_text(encoding="utf-8"))) for path in sorted(site.rglob("*.css"))
    )
    return [
        f"{path.relative_to(site)} fetches {address}"
        for path, addresses in (*pages, *styles)
        for address in addresses
        if is_elsewhere(address) and not address.startswith("data:")
    ]


def dead_links(site: Path) -> list[str]:
    """Links and pictures of the site itself that lead nowhere, or to no such place on a page."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link in dict.fromkeys([*page.links, *page.fetched]):
            if is_elsewhere(link) or path.name == "404.html":
                continue
            parts = urlsplit(link)
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].anchors):
                found.append(f"{path.relative_to(site)} links {link}, which is not there")
    return found
