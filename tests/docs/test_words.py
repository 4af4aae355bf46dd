"""Pages are written in plain words, and name the allocation server protocol by its name."""

import re

import pytest

from tests.support.docs.pages import pages, text_of

REFUSED = re.compile(r"\b(seeds'?|made-up|whoever|anew|so much|so many|somebody|nobody|everybody|told|tells)\b", re.I)
MADE_ELSEWHERE = {"docs/reference/json.md"}  # described field by field together with its structs
GENERATED = re.compile(r"<!-- keys -->.*?<!-- end of keys -->", flags=re.DOTALL)


def visible_prose(page: str) -> str:
    """Without blocks, code spans, comments and what is made from the program's own texts."""
    text = re.sub(r"^```.*?^```$", "", GENERATED.sub("", text_of(page)), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"<!--.*?-->|`[^`]*`", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    "page", sorted({*pages(), "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md"} - MADE_ELSEWHERE)
)
def test_a_page_is_written_in_plain_words(page: str) -> None:
    assert REFUSED.findall(visible_prose(page)) == []


def test_one_page_says_what_the_allocation_server_protocol_is() -> None:
    text = text_of("docs/allocation-server.md")

    assert "proof of concept" in text
    assert "## How our figures differ from its rule" in text
