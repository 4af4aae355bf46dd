"""`Client`: one program's side of reporting, and the same verbs as plain functions.

A process has one journal, whichever code reports in it. A `Client` is therefore no connection: it turns tracking on if
asked to, remembers which targets it opened, and closes those when it is left.
"""

import os
from collections.abc import Mapping, Sequence
from types import TracebackType

from ttmem import _native
from ttmem.client import claims
from ttmem.client.phases import Phase
from ttmem.client.reports import Reports
from ttmem.devices import Pool
from ttmem.switches import is_tracking_asked_for

__all__ = [
    "Client",
    "close",
    "disable",
    "enable",
    "is_asked_for",
    "is_enabled",
    "label",
    "open_device",
    "open_mesh",
    "phase",
]

Capacities = Mapping[Pool, int]


def enable(directory: str | None = None) -> bool:
    """Turns tracking on from code; True if it is on now. `directory`: where the journal goes, else $TTMEM_DIR."""
    return _native.client.enable(directory)


def disable() -> None:
    """Turns tracking off; what is still alive ends here."""
    _native.client.disable()
    claims.by_hand.clear()
    for holder in list(claims.holders):
        holder.forget()


def is_enabled() -> bool:
    """Whether reports go anywhere (TTMEM=1, TT_ALLOC_TRACKING_ENABLED=1, or `enable`)."""
    return _native.client.is_enabled()


def label(text: str) -> None:
    """Names this process for those who watch; otherwise it goes by TTMEM_LABEL or its command."""
    if not isinstance(text, str):
        raise TypeError(f"a label is a text, not {text!r}")
    _native.client.set_label(text)


def phase(name: str) -> Phase:
    """A named stretch of the run, as `with phase("decode"):` or `@phase("decode")`."""
    return Phase(name)


def open_device(
    unique_id: int,
    *,
    index: int = -1,
    arch: str = "",
    board: str = "",
    grid: tuple[int, int] = (0, 0),
    banks: tuple[int, int] = (0, 0),
    capacities: Capacities | None = None,
    kernel_ring_bytes: int = 0,
) -> int:
    """Names a chip and returns the target to report on; 0 when tracking is off.

    `grid` is in worker cores, `banks` are those of DRAM and L1, `capacities` the bytes of all banks of a pool. What
    is not given stays unknown.
    """
    given = capacities or {}
    sizes = tuple(int(given.get(pool, 0)) for pool in Pool)
    return _noted(_native.client.open_device(unique_id, index, arch, board, grid, banks, sizes, kernel_ring_bytes))


def open_mesh(
    chips: Sequence[int], rows: int | None = None, columns: int | None = None, *, mesh_id: int | None = None
) -> int:
    """Names several opened chips as one target: one report on it stands for all of them.

    Chips are listed row by row. Without a shape the mesh is one row; without an id the shape and chips are its id.
    """
    chips = tuple(chips)
    if rows is None:
        rows = len(chips) // columns if columns else 1
    if columns is None:
        columns = len(chips) // rows if rows else 0
    if mesh_id is None:
        mesh_id = hash((rows, columns, chips)) & (1 << 63) - 1
    return _noted(_native.client.open_mesh(mesh_id, rows, columns, chips))


def close(target: int) -> None:
    """Closes a chip or mesh: what is still alive on it ends here."""
    _native.client.close_target(target)
    claims.by_hand.discard(target)


def _noted(target: int) -> int:
    if target:
        claims.by_hand.add(target)
    return target


class Client(Reports):
    """Reports what this process holds on its devices.

        with Client(label="decode server") as client:
            chip = client.open_device(0x1A2B, index=0, arch="wormhole_b0")
            handle = client.report_buffer_alloc(chip, 7, 4096)
            client.report_free(handle)

    `enabled` None leaves the choice to the environment, True turns tracking on, False off. Leaving the `with` block
    closes the targets this client opened, and turns tracking off again if this client had turned it on.
    """

    def __init__(self, enabled: bool | None = None, label: str | None = None, directory: str | None = None) -> None:
        self._targets: list[int] = []
        was_on = is_asked_for(os.environ) or bool(_native.client.journal_path())
        self._has_turned_on = False
        if enabled is False:
            disable()
        elif enabled or (was_on and directory is not None):
            self._has_turned_on = enable(directory) and not was_on
        if label is not None:
            self.label(label)

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Keyword arguments and remembered targets: not the native functions of the same names.
    def open_device(  # type: ignore[override]
        self,
        unique_id: int,
        *,
        index: int = -1,
        arch: str = "",
        board: str = "",
        grid: tuple[int, int] = (0, 0),
        banks: tuple[int, int] = (0, 0),
        capacities: Capacities | None = None,
        kernel_ring_bytes: int = 0,
    ) -> int:
        """Names a chip and returns the target to report on; see `ttmem.open_device`."""
        target = open_device(
            unique_id,
            index=index,
            arch=arch,
            board=board,
            grid=grid,
            banks=banks,
            capacities=capacities,
            kernel_ring_bytes=kernel_ring_bytes,
        )
        return self._remember(target)

    def open_mesh(  # type: ignore[override]
        self, chips: Sequence[int], rows: int | None = None, columns: int | None = None, *, mesh_id: int | None = None
    ) -> int:
        """Names several opened chips as one target; see `ttmem.open_mesh`."""
        return self._remember(open_mesh(chips, rows, columns, mesh_id=mesh_id))

    def close(self, target: int | None = None) -> None:
        """Closes one target, or without one all that this client opened, and then the client itself."""
        if target is not None:
            close(target)
            self._targets = [other for other in self._targets if other != target]
            return
        for holder in [one for one in claims.holders if one.client is self]:
            holder.close_all()
        while self._targets:
            close(self._targets.pop())
        if self._has_turned_on:
            self._has_turned_on = False
            disable()

    def label(self, text: str) -> None:
        """Names this process for those who watch."""
        label(text)

    def phase(self, name: str) -> Phase:
        """A named stretch of the run; see `ttmem.phase`."""
        return Phase(name)

    def _remember(self, target: int) -> int:
        if target and target not in self._targets:
            self._targets.append(target)
        return target


def is_asked_for(environ: Mapping[str, str]) -> bool:
    """Whether the environment turns tracking on; never in a program that has more rights than its caller (setuid)."""
    return is_tracking_asked_for(environ) and not _native.client.ignores_environment()
