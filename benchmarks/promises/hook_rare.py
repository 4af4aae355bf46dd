"""Promise: with the hook a refusal of the stock runtime takes at most 20 us more if it was refused so before, 2 ms more
when it is new and 100,000 buffers live; a tensor that is made by a Python stack not seen before takes 20 us more.

Made-up chips; CPU time of the caller, by turns with the hook and without it in one process, as `hook` has it. The
difference is that of the medians. A new refusal is timed by itself: the slowest is shown beside the median. Of a
new stack the innermost function was never called before, and its 19 callers were.
"""

import statistics
from collections.abc import Iterator

from benchmarks.figures.rows import Row, row
from benchmarks.promises.hook import buffers_library, opened, runtime, turns_ns
from benchmarks.stage.setting import Setting
from tests.support.hooked.process import Hooked

LIVE, TURNS, TURN, ALONE = 100_000, 60, 20, 24


def measure(setting: Setting) -> Iterator[Row]:
    with opened(setting, runtime(), is_hooked=True) as process:
        yield from _longer_us(setting, process, "new", "tensor of a new stack")
        yield from _longer_us(setting, process, "refused", "refused again")
        library, live = str(buffers_library(setting)), setting.repeats(LIVE, 1_000)
        process.ask({"do": "time", "what": "crowd", "count": live, "library": library})
        yield from _longer_us(setting, process, "refused", f"refused again, {live:,} live")
        plain, hooked = turns_ns(setting, process, "unlike", turns=setting.repeats(ALONE, 3), turn=1)
        base = statistics.median(plain)
        words = f"new refusal, {live:,} live"
        yield row(words, statistics.median(hooked) / 1e6, "ms", baseline=base / 1e6)
        yield row(f"{words}, longer by", (statistics.median(hooked) - base) / 1e6, "ms", target="<= 2")
        yield row(f"{words}, the slowest longer by", (max(hooked) - base) / 1e6, "ms")


def _longer_us(setting: Setting, process: Hooked, what: str, words: str) -> Iterator[Row]:
    turn = setting.repeats(TURN, 5)
    turns = turns_ns(setting, process, what, turns=setting.repeats(TURNS, 3), turn=turn)
    plain, hooked = (statistics.median(each) / turn / 1e3 for each in turns)
    yield row(words, hooked, "us", baseline=plain)
    yield row(f"{words}, longer by", hooked - plain, "us", target="<= 20")
