"""What verbs share: exit codes, which a script learns without reading; flags, requests, the screen."""

from collections.abc import Iterable

DONE = 0
NOTHING_READ = 1  # nothing reports: no process, or none of those that were named, and no chip to show instead
NOT_EQUAL = 1  # a demo measured something else than it expected
BAD_FLAG = 2
NOT_RUNNING = 3  # `serve --status`, as systemctl has it
NOT_ANSWERING = 4  # `serve --status`: one runs, but gives no answer
NOT_MET = 4  # `fit`: too few chips would take it
CROSSED = 5  # `check`: a limit was crossed
NOT_EXECUTABLE = 126
NOT_FOUND = 127
KILLED_BY = 128  # plus the signal's number
INTERRUPTED = 130

NEXT_STEP = "start one with `ttmem run -- COMMAND`; `ttmem doctor` finds out why one is not shown"  # nothing reports


def nearest(word: str, known: Iterable[str], otherwise: str) -> str:
    """What may have been meant by a word that is none of those known: `nearest: llama-8b`, or other words."""
    from difflib import get_close_matches  # only mistakes pay for it

    found = get_close_matches(word, [*known], n=2, cutoff=0.65)
    return f"nearest: {', '.join(found)}" if found else otherwise
