"""The site that `./run docs` makes: opened from the disk it shows every section, finds pages, and fetches nothing."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.docs.chromium import Chromium, a_browser, installed
from tests.support.docs.pages import DOCS
from tools.site.build import build, dead_links, foreign, mend
from tools.site.pages import SECTIONS, mended, navigation, pages_under

SOURCE = "https://example.org/ttmem"


def test_every_page_of_the_map_is_in_the_navigation() -> None:
    listed = json.dumps(navigation())
    headings = ("Start", "Tutorials", "How to", "Reference", "Understanding", "Troubleshooting", "More", "Glossary")

    pages = [page for heading in headings for page in pages_under(heading)]

    assert len(pages) > 50
    assert [page for page in pages if f'"{page}"' not in listed] == []


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("../start/install.md#with-pip", "../start/install.md#with-pip"),
        ("../../CONTRIBUTING.md#tests", f"{SOURCE}/blob/main/CONTRIBUTING.md#tests"),
        ("../../dashboards", f"{SOURCE}/tree/main/dashboards"),
        ("../decisions", f"{SOURCE}/tree/main/docs/decisions"),
        ("#here", "#here"),
        ("https://example.com/a", "https://example.com/a"),
    ],
)
def test_links_out_of_the_documentation_lead_to_the_repository(link: str, becomes: str) -> None:
    page = DOCS / "reference" / "ps.md"

    assert mended(f"<!-- slow -->\nSee [it]({link}).", page, SOURCE) == f"See [it]({becomes})."


def a_site(place: Path, **pages: str) -> Path:
    (place / "assets" / "javascripts").mkdir(parents=True)
    for name, text in pages.items():
        (place / f"{name}.html").write_text(text)
    return place


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ('<script src="https://cdn.example.org/a.js"></script>', ["a.html fetches https://cdn.example.org/a.js"]),
        ('<link rel="stylesheet" href="//example.org/a.css">', ["a.html fetches //example.org/a.css"]),
        ('<link rel="canonical" href="https://example.org/a"><a href="https://example.org/b">b</a>', []),
        ('<script src="https://unpkg.com/iframe-worker/shim"></script>', []),
    ],
)
def test_what_would_be_fetched_from_elsewhere_is_found(text: str, faults: list[str], tmp_path: Path) -> None:
    site = a_site(tmp_path, a=text)
    mend(site)

    assert foreign(site) == faults


@pytest.mark.parametrize(("link", "is_dead"), [("b.html#there", False), ("b.html#gone", True), ("c.html", True)])
def test_a_link_that_leads_nowhere_is_found(link: str, is_dead: bool, tmp_path: Path) -> None:
    site = a_site(tmp_path, a=f'<a href="{link}">b</a>', b='<h1 id="there">b</h1>')

    assert bool(dead_links(site)) is is_dead


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("NOT TESTED: zensical is not installed, so there is no site; ./run docs installs it")
    place = tmp_path_factory.mktemp("docs") / "site"
    build(place)
    return place


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = installed()
    if program is None:
        pytest.skip("NOT TESTED: the site in a browser; install Chromium (Debian, Ubuntu: apt-get install chromium)")
    with a_browser(program, tmp_path_factory.mktemp("chromium")) as found:
        yield found


def fetched(browser: Chromium) -> list[str]:
    """What was asked for outside the site; pictures inside a style sheet are no requests."""
    return [address for address in browser.requests if not address.startswith(("file:", "data:", "about:"))]


@pytest.mark.slow
def test_pages_open_from_the_disk_and_fetch_nothing(site: Path, browser: Chromium) -> None:
    tabs = "[...document.querySelectorAll('.md-tabs a')].map(link => link.textContent.trim())"
    for folder in ("start", "tutorials", "understanding", "troubleshooting", "reference"):
        page = sorted((site / folder).glob("*.html"))[0]
        browser.open(page.as_uri())
        assert browser.evaluate(tabs) == ["Home", *SECTIONS]
        assert browser.evaluate("document.querySelector('h1').textContent").strip()
    browser.open((site / "index.html").as_uri())
    assert browser.evaluate("[...document.images].filter(image => !image.complete || !image.naturalWidth).length") == 0

    assert len(browser.requests) > 20
    assert fetched(browser) == []


# The search is in a shadow tree of the page; a promise waits until what it looks for is drawn.
WHEN_DRAWN = """
new Promise(found => {
  const all = name => [...document.querySelectorAll("*")].flatMap(
      one => one.shadowRoot ? [...one.shadowRoot.querySelectorAll(name)] : []);
  let looks = 0;
  const look = () => {
    const seen = LOOK;
    if (seen) found(seen); else setTimeout(look, 20);
  };
  look();
})"""
OPENED = """(() => {
  const field = all("input")[0];
  field?.focus();
  const isOpen = Boolean(field) && field.getRootNode().activeElement === field;
  if (!isOpen && looks++ % 50 === 0) document.querySelector(".md-search__button").click(); // it may have been too early
  return isOpen;
})()"""
RESULTS = """(() => {
  const links = all("a").map(link => link.href).filter(link => link.includes("h=fragmented"));
  return links.length && links;
})()"""


@pytest.mark.slow
def test_the_search_works_from_the_disk_and_fetches_nothing(site: Path, browser: Chromium) -> None:
    browser.open((site / "index.html").as_uri())

    browser.evaluate(WHEN_DRAWN.replace("LOOK", OPENED))
    browser.write("fragmented")
    links = browser.evaluate(WHEN_DRAWN.replace("LOOK", RESULTS))

    assert any("tutorials/dram-ran-out.html" in link for link in links)
    browser.open(next(link for link in links if "dram-ran-out" in link))
    assert "Memory ran out" in browser.evaluate("document.querySelector('h1').textContent")
    assert fetched(browser) == []


@pytest.mark.slow
def test_a_request_to_another_place_would_be_seen(browser: Chromium, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text('<img src="http://example.org/a.png">')

    browser.open(page.as_uri())

    assert "http://example.org/a.png" in fetched(browser)
    browser.requests.clear()
