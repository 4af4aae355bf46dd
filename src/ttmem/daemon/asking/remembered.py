"""The last overview that a daemon sent: if nothing has changed since, it says only that, and when."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttmem.snapshot.sights.overview import Overview

__all__ = ["TIME_HEADER", "Remembered"]

TIME_HEADER = "x-ttmem-time-ns"  # the moment of an overview, also where nothing else has changed


class Remembered:
    """One overview, and the tag that names it. Replaced as one: any thread may ask."""

    def __init__(self) -> None:
        self._last: tuple[str, Overview] | None = None

    @property
    def headers(self) -> dict[str, str]:
        """What to say when asking for the next."""
        return {"If-None-Match": self._last[0]} if self._last else {}

    def keep(self, tag: str, overview: "Overview") -> None:
        self._last = (tag, overview) if tag else None

    def again(self, tag: str, time: str) -> "Overview | None":
        """The same at another moment; None if it is another one than this."""
        if self._last is None or self._last[0] != tag or not (time.isascii() and time.isdigit()):
            return None
        return self._last[1]._replace(time_ns=int(time))
