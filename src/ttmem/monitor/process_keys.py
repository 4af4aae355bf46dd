"""Keys that are about processes: filter, search, users, sorting, signals. From another view they go to Processes;
only the list of kernels is sorted where it is.
"""

import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ttmem.monitor.panels.menu import Menu, SortLetter
from ttmem.monitor.panels.page import TextPage, environment_lines
from ttmem.monitor.panels.panel import Question
from ttmem.monitor.panels.prompt import Prompt
from ttmem.monitor.parts.filters import problem_of
from ttmem.monitor.signals import SIGNALS, Target, release, send, targets_of
from ttmem.snapshot.usage import ProcessUsage
from ttmem.view.table import Line, Role, Span, clean
from ttmem.view.texts import pid_text

if TYPE_CHECKING:
    from ttmem.monitor.state import MonitorState, Views

__all__ = ["ProcessKeys"]

VIEW = "processes"
_SORTING = ("sort", "sort_letter", "sort_next", "sort_previous", "sort_invert")
_LISTS = (VIEW, "kernels")  # views that are sorted where they are
_PLAIN = ("tag", "tag_none", "tree", "sort_next", "sort_previous", "sort_invert")  # the view's own business
_FILTER_HINT = "words, or user==ada & l1>1MiB"


class ProcessKeys:
    """What those keys do to the state."""

    def __init__(self, views: "Views", state: "MonitorState") -> None:
        self._views = views
        self._state = state

    def has_tags(self) -> bool:
        """Whether a process is tagged and to be seen."""
        return self._state.view == VIEW and bool(self._views.state(VIEW).tags)

    def settings(self) -> dict[str, Any]:
        """What of the process view is saved."""
        state = self._views.state(VIEW)
        return {"sort": state.sort, "tree": state.is_tree}

    def act(self, action: str) -> bool:
        """Whether it was one of those keys."""
        word, _, value = action.partition(":")
        if word in ("terminate", "interrupt") and not self.has_tags():
            word, value = ("sort", "age") if word == "terminate" else ("sort_invert", "")
        if word not in self._OWN and word not in _PLAIN:
            return False
        is_elsewhere = self._state.view != VIEW
        if word not in _SORTING or self._state.view not in _LISTS:
            self._state.go_to(VIEW)
        if is_elsewhere and word in _POINTED:
            self._state.note = "choose a process first"
        elif word in _PLAIN:
            self._act(word, self._state.view)
        else:
            self._OWN[word](self, value)
        return True

    def _act(self, action: str, view: str = VIEW) -> None:
        self._views.act(view, action, self._state.frame, self._state.area)

    def _row(self) -> ProcessUsage | None:
        row: ProcessUsage | None = self._views.screen(VIEW).selected(self._views.state(VIEW), self._state.frame)
        return row

    def _filter(self, _: str) -> None:
        self._state.open(
            Prompt(
                "Filter",
                lambda text: self._act(f"filter:{text}"),
                text=self._views.state(VIEW).query,
                hint=_FILTER_HINT,
                problem=problem_of,
            )
        )

    def _search(self, _: str) -> None:
        self._state.open(Prompt("Search", lambda text: self._act(f"search:{text}"), hint="a pid, or words of a name"))

    def _user(self, _: str) -> None:
        users = self._views.screen(VIEW).users_of(self._state.frame)
        choices = [("", "all users"), *((user, clean(user)) for user in users)]
        chosen = self._views.state(VIEW).user
        self._state.open(Menu("Processes of", choices, lambda user: self._act(f"user:{user}"), chosen=chosen))

    def _sort(self, column: str) -> None:
        view = self._state.view
        if column:
            self._act(f"sort:{column}", view)
            return
        words = self._views.screen(view).SORTS
        choices = [(word, word.replace("_", " ")) for word in words]
        chosen = self._views.state(view).sort
        self._state.open(Menu("Sort by", choices, lambda word: self._act(f"sort:{word}", view), chosen=chosen))

    def _sort_letter(self, _: str) -> None:
        view = self._state.view
        chosen = self._views.state(view).sort
        self._state.open(SortLetter(self._views.screen(view).SORTS, self._sort, chosen=chosen))

    def _environment(self, _: str) -> None:
        row = self._row()
        if row is not None:
            lines = environment_lines(row)
            self._state.open(TextPage(f"Environment of {pid_text(row.pid)} {clean(row.label)}", lambda area: lines))

    def _kill(self, number: str) -> None:
        if self._state.is_readonly:
            self._state.note = "--readonly: no signals are sent"
        elif number:
            self._ask(int(number))
        elif self._chosen():
            choices = [(str(int(one)), f"{int(one):2} {one.name}") for one in SIGNALS]
            self._state.open(Menu("Send", choices, lambda value: self._ask(int(value))))

    def _chosen(self) -> tuple[ProcessUsage, ...]:
        """The tagged ones, else the one under the cursor."""
        rows: tuple[ProcessUsage, ...] = self._views.screen(VIEW).tagged(self._views.state(VIEW), self._state.frame)
        if not rows:
            self._state.note = "no process is chosen"
        return rows

    def _ask(self, number: int) -> None:
        rows = self._chosen()
        if not rows:
            return
        targets = targets_of(rows)
        if all(target.refusal for target in targets):
            self._state.note = send(targets, number)
            return

        def go() -> None:
            self._state.note = send(targets, number)
            self._act("tag_none")

        name = signal.Signals(number).name
        self._state.open(Question(f"Send {name}?", list(map(_target_line, targets)), go, lambda: release(targets)))

    _OWN: Mapping[str, Callable[["ProcessKeys", str], None]] = {
        "filter": _filter,
        "search": _search,
        "user": _user,
        "sort": _sort,
        "sort_letter": _sort_letter,
        "environment": _environment,
        "kill": _kill,
        "terminate": lambda keys, _: keys._kill(str(int(signal.SIGTERM))),
        "interrupt": lambda keys, _: keys._kill(str(int(signal.SIGINT))),
    }


_POINTED = ("tag", "environment", "kill")


def _target_line(target: "Target") -> Line:
    refusal = (Span(f"  not: {target.refusal}", Role.HIGH),) if target.refusal else ()
    return (Span(clean(target.text)), *refusal)
