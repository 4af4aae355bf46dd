"""Pages, help, messages and docstrings are in plain words, and name the allocation server protocol by its name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.docs.pages import pages, text_of

REFUSED = re.compile(r"\b(seeds'?|made-up|whoever|anew|so much|so many|somebody|nobody|everybody|told|tells)\b", re.I)
REFUSED_IN_CODE = re.compile(
    REFUSED.pattern
    + r"|\b(tell|telling|kept|anybody|again and again|complain\w*|strange\w*|passed over|looked into)\b",
    re.I,
)
MADE_ELSEWHERE = {"docs/reference/json.md"}  # described field by field together with its structs
GENERATED = re.compile(r"<!-- keys -->.*?<!-- end of keys -->", flags=re.DOTALL)

SOURCE = Path(__file__).parents[2] / "src" / "ttmem"
FOLDERS = (
    *("analysis", "budgets", "cli", "client", "collector", "daemon", "doctor", "events", "export", "figures", "metal"),
    *("recording", "snapshot", "sources", "wire"),
)
SHOWN = ("monitor", "view", "pytest_plugin.py", "errors.py", "tracking.py")
ALLOWED = {
    "kept up to date": "an idiom that every reader knows",
}


def visible_prose(page: str) -> str:
    """Without blocks, code spans, comments and what is made from the program's own texts."""
    text = re.sub(r"^```.*?^```$", "", GENERATED.sub("", text_of(page)), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"<!--.*?-->|`[^`]*`", "", text, flags=re.DOTALL)


def test_a_page_is_written_in_plain_words() -> None:
    checked = sorted({*pages(), "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md"} - MADE_ELSEWHERE)

    found = {page: REFUSED.findall(visible_prose(page)) for page in checked}
    assert {page: words for page, words in found.items() if words} == {}


def texts_of(module: Path) -> Iterator[tuple[int, str]]:
    """Every text of more than one word, with its line: help, messages and docstrings; not keys, names and flags."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def refused_words(text: str) -> list[str]:
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    return [found[0] for found in REFUSED_IN_CODE.finditer(text)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_help_messages_and_docstrings_are_written_in_plain_words(folder: str) -> None:
    modules = [*(SOURCE / folder).rglob("*.py")]

    assert modules
    found = {
        f"{module.relative_to(SOURCE)}:{line}": words
        for module in modules
        for line, text in texts_of(module)
        if (words := refused_words(text))
    }
    assert found == {}


def shown_texts(module: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that are no docstrings: what may reach a screen."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    bare = {
        node.value.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    yield from ((line, text) for line, text in texts_of(module) if line not in bare)


@pytest.mark.parametrize("place", SHOWN)
def test_what_is_shown_is_written_in_plain_words(place: str) -> None:
    modules = [SOURCE / place] if place.endswith(".py") else [*(SOURCE / place).rglob("*.py")]

    found = {
        f"{module.relative_to(SOURCE)}:{line}": words
        for module in modules
        for line, text in shown_texts(module)
        if (words := REFUSED.findall(text))
    }
    assert found == {}


def test_every_exception_is_needed() -> None:
    texts = [text for folder in FOLDERS for path in (SOURCE / folder).rglob("*.py") for _, text in texts_of(path)]

    assert [allowed for allowed in ALLOWED if not any(allowed in text for text in texts)] == []


def test_one_page_says_what_the_allocation_server_protocol_is() -> None:
    text = text_of("docs/allocation-server.md")

    assert "proof of concept" in text
    assert "## How our figures differ from its rule" in text
