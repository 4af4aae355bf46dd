"""How hard a text is to read: its Flesch-Kincaid grade, the years of school that a reader needs for it.

    grade = 0.39 * words / sentences + 11.8 * syllables / words - 15.59

Only running text is judged: blocks, tables, headings, pictures and comments are left out, and so are paragraphs of
fewer than five words. A sentence ends at a period, question mark or exclamation mark, and at the end of a paragraph or
of an item of a list. A code span is a name: one word of one syllable, as a number is. Of a link the text counts.

Syllables are groups of vowels (y is one), without a silent e, es or ed at the end, and at least one: right for about
nine English words in ten, and wrong in both directions for the others.
"""

import re
from collections.abc import Iterable, Iterator

_FENCE = re.compile(r"^( *)```.*?^\1```$", flags=re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", flags=re.DOTALL)
_LEFT_OUT = re.compile(r"^\s*(\||#|!\[|>)")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) +")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’]*|\d[\d.,]*")
_SENTENCE_END = re.compile(r"[.!?]+(?=[\s)\"*_]|$)")
_SILENT_END = re.compile(r"(?<![aeiouyl])(?:es|e)$|(?<=[aeiouy]l)e(?:s)?$|(?<![aeiouytd])ed$")


def syllables(word: str) -> int:
    """How many syllables a word has, by its vowels."""
    plain = re.sub(r"[^a-z]", "", word.lower())
    return max(1, len(re.findall(r"[aeiouy]+", _SILENT_END.sub("", plain))))


def paragraphs(page: str) -> Iterator[str]:
    """The running text of a Markdown page, without its marks."""
    lines: list[str] = []
    for line in [*_COMMENT.sub("", _FENCE.sub("\n", page)).splitlines(), ""]:
        if not line.strip() or _LEFT_OUT.match(line) or _ITEM.match(line):
            yield _plain(" ".join(lines))
            lines = []
        if not _LEFT_OUT.match(line):
            lines.append(_ITEM.sub("", line).strip())


def _plain(paragraph: str) -> str:
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", paragraph)
    text = re.sub(r"`[^`]*`", "it", text)
    return re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}", "", text)


def grade(texts: Iterable[str]) -> float:
    """The grade of all these paragraphs together; 0 if there are none."""
    sentence_count = word_count = syllable_count = 0
    for text in texts:
        words = _WORD.findall(text)
        if len(words) < 5:
            continue
        sentence_count += max(1, sum(1 for part in _SENTENCE_END.split(text) if _WORD.search(part)))
        word_count += len(words)
        syllable_count += sum(map(syllables, words))
    if not word_count:
        return 0.0
    return 0.39 * word_count / sentence_count + 11.8 * syllable_count / word_count - 15.59
