"""One examination from end to end: the hook, the runtime it would meet, what can be shown then, the machine."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ttmem.doctor.checks import Check, Status, worst
from ttmem.doctor.entries import HookEntry, hook_entries
from ttmem.doctor.hook import hook_path
from ttmem.doctor.installation import Installation, of_library, of_package
from ttmem.doctor.interpreter import likely_pythons, package_of, sites_trouble
from ttmem.doctor.machine import machine_checks
from ttmem.doctor.runtime import Presence, ShownRuntime, presences, shown
from ttmem.doctor.targets import hook_trouble
from ttmem.errors import TtmemError

__all__ = ["DoctorReport", "examine"]

SCHEMA = 1
TRIED = ((0, 70), (0, 81))  # the oldest and the newest release that was examined (docs/reference/doctor.md)


@dataclass
class DoctorReport:
    """Everything that was found."""

    checks: list[Check] = field(default_factory=list)
    installation: Installation | None = None
    python: str | None = None  # whose ttnn it is
    presences: list[Presence] = field(default_factory=list)
    shown: list[ShownRuntime] = field(default_factory=list)

    @property
    def status(self) -> Status:
        return worst(self.checks)

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        runtime = self.installation
        return {
            "schema": SCHEMA,
            "status": self.status.name,
            "checks": [
                {"status": check.status.name, "topic": check.topic, "text": check.text, "next": check.next_step or None}
                for check in self.checks
            ],
            "runtime": runtime
            and {
                "version": runtime.version or None,
                "library": runtime.library.path,
                "other_copies": list(runtime.other_copies),
            },
            "shows": {
                what.feature.name.replace(" ", "_"): {"level": what.level, "lost": list(what.losses)}
                for what in self.shown
            },
            "entries": [
                {"kind": entry.kind, "name": entry.name, "symbol": entry.symbol, "gives": entry.gives, "found": finding}
                for entry, finding in self.presences
            ],
        }


def examine(
    environ: Mapping[str, str], *, uid: int, python: str | None = None, library: str | None = None
) -> DoctorReport:
    """Looks at everything once; whatever is wrong is a check, never an error."""
    report = DoctorReport()
    entries = _hook(report, environ)
    report.installation = _runtime(report, environ, python, library)
    if report.installation is not None:
        report.checks += _about(report.installation)
        if entries:
            report.presences = presences(entries, report.installation)
            report.shown = shown(report.presences)
            report.checks += _called(report.presences)
            report.checks += map(_verdict, report.shown)
            report.checks += _sites(report.python, environ)
    report.checks += machine_checks(environ, uid=uid)
    return report


def _hook(report: DoctorReport, environ: Mapping[str, str]) -> list[HookEntry]:
    path = hook_path(environ)
    asked = environ.get("TTMEM_HOOK")
    remedy = "unset TTMEM_HOOK, or name the hook there" if asked else "install ttmem again"
    advice = f"{remedy}; until then `ttmem run` tracks only programs that use its client"
    if path is None:
        text = f"TTMEM_HOOK={asked} is not there" if asked else "libttmem_hook.so is not there"
        report.checks.append(Check(Status.FAIL, "hook", text, advice))
        return []
    try:
        entries = hook_entries(path)
    except TtmemError as error:
        report.checks.append(Check(Status.FAIL, "hook", str(error), advice))
        return []
    trouble = hook_trouble(path)
    counts = [sum(entry.kind == kind for entry in entries) for kind in ("hook", "getter", "offset")]
    text = "{}: hooks {} functions, calls {} getters, reads {} private offsets".format(path, *counts)
    if trouble:
        report.checks.append(Check(Status.FAIL, "hook", f"{path} {trouble}", "install ttmem elsewhere"))
    else:
        report.checks.append(Check(Status.PASS, "hook", text))
    return entries


def _runtime(
    report: DoctorReport, environ: Mapping[str, str], python: str | None, library: str | None
) -> Installation | None:
    advice = "name the runtime that your programs use: --python PATH, or --library PATH of libtt_metal.so"
    try:
        if library is not None:
            return of_library(library, environ)
        asked = [python] if python else likely_pythons(environ)
        for interpreter in asked:
            package = package_of(interpreter, environ)
            if package is not None:
                report.python = interpreter
                return of_package(package, environ)
        text = f"no ttnn in {' or '.join(asked)}: there is nothing to hook"
        advice = f"{asked[0]} -m pip install ttnn, or {advice}"
    except OSError as error:
        text = f"{error.filename or library}: {error.strerror}"
    except TtmemError as error:
        text = str(error)
    report.checks.append(Check(Status.FAIL, "runtime", text, advice))
    return None


def _sites(python: str | None, environ: Mapping[str, str]) -> Iterator[Check]:
    """Whether the hook can read the frames of the Python whose ttnn was found."""
    hook = hook_path(environ)
    if python is None or hook is None:
        return
    advice = "figures are not concerned; use CPython 3.10 to 3.13 for lines, or `ttmem run --no-sites`"
    try:
        version, trouble = sites_trouble(python, environ, hook)
    except TtmemError as error:
        yield Check(Status.WARN, "sites", str(error), advice)
        return
    if trouble:
        yield Check(Status.WARN, "sites", f"Python {version}: its lines are not recorded: {trouble}", advice)
    else:
        yield Check(Status.PASS, "sites", f"Python {version}: its frames are where they should be, lines are recorded")


def _about(runtime: Installation) -> Iterator[Check]:
    name = f"ttnn {runtime.version}" if runtime.version else "ttnn of unknown version"
    where = f"{name}, {runtime.library.path}"
    if not runtime.library.exported:
        text = f"{where} exports nothing: it was stripped, or linked with hidden symbols"
        yield Check(Status.FAIL, "runtime", text, "install the public wheel; the runtime's own counters are still read")
    elif _is_untried(runtime.version):
        oldest, newest = (".".join(map(str, release)) for release in TRIED)
        text = f"{where} is a release that was never tried ({oldest} to {newest} were): figures may be missing"
        yield Check(Status.WARN, "runtime", text, "compare with ttnn.get_memory_view; look for a newer ttmem")
    else:
        yield Check(Status.PASS, "runtime", where)
    for copy in runtime.other_copies:
        text = f"another copy lies at {copy}: a program may load that one"
        yield Check(Status.WARN, "runtime", text, f"examine it too: ttmem doctor --library {copy}")


def _is_untried(version: str) -> bool:
    match = re.match(r"(\d+)\.(\d+)", version)
    return match is not None and not TRIED[0] <= (int(match[1]), int(match[2])) <= TRIED[1]


def _called(found: list[Presence]) -> Iterator[Check]:
    """How many functions can be stood in for; what that costs is said of each feature."""
    hooks = [presence for presence in found if presence.entry.kind == "hook" and presence.finding != "not needed"]
    lacking = [f"{presence.entry.name} ({presence.finding})" for presence in hooks if presence.is_lacking]
    text = f"{len(hooks) - len(lacking)} of {len(hooks)} functions are found and called by name"
    if not lacking:
        yield Check(Status.PASS, "hooks", text)
    elif len(lacking) < len(hooks):
        yield Check(Status.WARN, "hooks", f"{text}, but not {', '.join(lacking)}")
    else:
        yield Check(Status.FAIL, "hooks", text, "use a public wheel: its library exports them and calls them by name")


def _verdict(what: ShownRuntime) -> Check:
    topic, lost = what.feature.name, "; ".join(what.losses)
    if what.level == "full":
        return Check(Status.PASS, topic, "full")
    if what.level == "reduced":
        return Check(
            Status.WARN, topic, f"reduced, this release does not report: {lost}", "use a newer ttnn if you can"
        )
    status = Status.FAIL if what.feature.is_vital else Status.WARN
    return Check(status, topic, f"none, this release lacks {lost}", "use a newer ttnn if you can")
