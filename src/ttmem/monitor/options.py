"""What a monitor is started with: what the command line says; None is what it leaves to settings."""

from typing import Any, NamedTuple

from ttmem.figures.replay_clock import ReplayClock
from ttmem.monitor.feed import WordsOf
from ttmem.monitor.settings import Settings
from ttmem.snapshot import Selection

__all__ = ["Options"]

ALL = Selection()


class Options(NamedTuple):
    """Flags of `ttmem top`."""

    interval: float | None = None
    layout: str | None = None
    theme: str | None = None
    is_ascii: bool = False
    colours: str = "auto"  # always, never, or as the terminal and NO_COLOR say
    is_readonly: bool = False
    is_tree: bool = False
    sort: str | None = None
    limit: int | None = None
    selection: Selection = ALL
    words_of: "WordsOf | None" = None  # how chips that were asked for are called
    has_daemon: bool = True
    seconds: float | None = None  # then it closes by itself
    banner: str = ""  # always on screen: that the figures are simulated
    replay: ReplayClock | None = None  # where a recording stands, if it is one

    def over(self, settings: Settings) -> Settings:
        """The settings, with what was said on the command line."""
        said: dict[str, Any] = {
            "interval": self.interval,
            "layout": self.layout,
            "theme": self.theme,
            "sort": self.sort,
            "limit": self.limit,
        }
        said |= {"ascii": self.is_ascii or None, "tree": self.is_tree or None}
        return settings._replace(**{name: value for name, value in said.items() if value is not None})
