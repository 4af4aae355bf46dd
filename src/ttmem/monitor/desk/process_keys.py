"""Keys that are about processes: filter, search, users, sorting, signals. From another view they go to Processes;
only the list of kernels is sorted where it is.

Panels are loaded when they are opened: the first picture does not wait for them.
"""

import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ttmem.monitor.desk.views import Views
from ttmem.snapshot.usage import ProcessUsage
from ttmem.view.spans import Line, Role, Span, clean
from ttmem.view.words import pid_text

if TYPE_CHECKING:
    from ttmem.monitor.desk.desk import Desk
    from ttmem.monitor.desk.signals import Target

__all__ = ["ProcessKeys"]

VIEW = "processes"
_SORTING = ("sort", "sort_letter", "sort_next", "sort_previous", "sort_invert")
_LISTS = (VIEW, "kernels")  # views that are sorted where they are
_PLAIN = ("tag", "tag_none", "tree", "sort_next", "sort_previous", "sort_invert")  # the view's own business
_FILTER_HINT = "words, or user==ada & l1>1MiB"


class ProcessKeys:
    """What those keys do, on behalf of a desk."""

    def __init__(self, views: Views, desk: "Desk") -> None:
        self._views = views
        self._desk = desk

    def has_tags(self) -> bool:
        """Whether a process is tagged and to be seen."""
        return self._desk.view == VIEW and bool(self._views.state(VIEW).tags)

    def settings(self) -> dict[str, Any]:
        """What of the process view is kept."""
        state = self._views.state(VIEW)
        return {"sort": state.sort, "tree": state.is_tree}

    def act(self, action: str) -> bool:
        """Whether it was one of those keys."""
        word, _, value = action.partition(":")
        if word in ("terminate", "interrupt") and not self.has_tags():
            word, value = ("sort", "age") if word == "terminate" else ("sort_invert", "")
        if word not in self._OWN and word not in _PLAIN:
            return False
        is_elsewhere = self._desk.view != VIEW
        if word not in _SORTING or self._desk.view not in _LISTS:
            self._desk.go_to(VIEW)
        if is_elsewhere and word in _POINTED:
            self._desk.note = "choose a process first"
        elif word in _PLAIN:
            self._tell(word, self._desk.view)
        else:
            self._OWN[word](self, value)
        return True

    def _tell(self, action: str, view: str = VIEW) -> None:
        self._views.act(view, action, self._desk.frame, self._desk.look)

    def _row(self) -> ProcessUsage | None:
        row: ProcessUsage | None = self._views.screen(VIEW).selected(self._views.state(VIEW), self._desk.frame)
        return row

    def _filter(self, _: str) -> None:
        from ttmem.monitor.panels.prompt import Prompt
        from ttmem.monitor.screens.listing.filters import problem_of

        self._desk.open(
            Prompt(
                "Filter",
                lambda text: self._tell(f"filter:{text}"),
                text=self._views.state(VIEW).query,
                hint=_FILTER_HINT,
                problem=problem_of,
            )
        )

    def _search(self, _: str) -> None:
        from ttmem.monitor.panels.prompt import Prompt

        self._desk.open(Prompt("Search", lambda text: self._tell(f"search:{text}"), hint="a pid, or words of a name"))

    def _user(self, _: str) -> None:
        from ttmem.monitor.panels.menu import Menu

        users = self._views.screen(VIEW).users_of(self._desk.frame)
        choices = [("", "all users"), *((user, clean(user)) for user in users)]
        chosen = self._views.state(VIEW).user
        self._desk.open(Menu("Processes of", choices, lambda user: self._tell(f"user:{user}"), chosen=chosen))

    def _sort(self, column: str) -> None:
        view = self._desk.view
        if column:
            self._tell(f"sort:{column}", view)
            return
        from ttmem.monitor.panels.menu import Menu

        words = self._views.screen(view).SORTS
        choices = [(word, word.replace("_", " ")) for word in words]
        chosen = self._views.state(view).sort
        self._desk.open(Menu("Sort by", choices, lambda word: self._tell(f"sort:{word}", view), chosen=chosen))

    def _sort_letter(self, _: str) -> None:
        from ttmem.monitor.panels.menu import SortLetter

        view = self._desk.view
        chosen = self._views.state(view).sort
        self._desk.open(SortLetter(self._views.screen(view).SORTS, self._sort, chosen=chosen))

    def _environment(self, _: str) -> None:
        from ttmem.monitor.panels.page import Page
        from ttmem.monitor.panels.reading import environment_lines

        row = self._row()
        if row is not None:
            lines = environment_lines(row)
            self._desk.open(Page(f"Environment of {pid_text(row.pid)} {clean(row.label)}", lambda look: lines))

    def _kill(self, number: str) -> None:
        if self._desk.is_readonly:
            self._desk.note = "--readonly: no signals are sent"
        elif number:
            self._ask(int(number))
        elif self._chosen():
            from ttmem.monitor.desk.signals import SIGNALS
            from ttmem.monitor.panels.menu import Menu

            choices = [(str(int(one)), f"{int(one):2} {one.name}") for one in SIGNALS]
            self._desk.open(Menu("Send", choices, lambda value: self._ask(int(value))))

    def _chosen(self) -> tuple[ProcessUsage, ...]:
        """The tagged ones, else the one under the cursor."""
        rows: tuple[ProcessUsage, ...] = self._views.screen(VIEW).tagged(self._views.state(VIEW), self._desk.frame)
        if not rows:
            self._desk.note = "no process is chosen"
        return rows

    def _ask(self, number: int) -> None:
        from ttmem.monitor.desk.signals import release, send, targets_of
        from ttmem.monitor.panels.question import Question

        rows = self._chosen()
        if not rows:
            return
        targets = targets_of(rows)
        if all(target.refusal for target in targets):
            self._desk.note = send(targets, number)
            return

        def go() -> None:
            self._desk.note = send(targets, number)
            self._tell("tag_none")

        name = signal.Signals(number).name
        self._desk.open(Question(f"Send {name}?", list(map(_target_line, targets)), go, lambda: release(targets)))

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
