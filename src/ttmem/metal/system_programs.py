"""The programs a device runs for itself from the moment it is open: fabric routers and command queues.

    fabric     one kernel per router and processor, each on one ethernet core; none without links
    dispatch   per command queue, on cores that run nothing else:

      alone or with its own link     prefetch | dispatch + dispatch_s (and its compute helper)
      and, if it serves a chip       prefetch_h | dispatch_h | mux
      the chip behind it             prefetch_d | dispatch_d + dispatch_s | return mux

On ethernet cores every kernel has a core of its own, and dispatch_s exists with one queue only. The sum of the binaries
is what such a program takes: no two of its cores hold the same (`FabricBuilder::create_kernels`).
"""

from ttmem.metal.chips import Chip, DispatchCores, UnknownHardware, board
from ttmem.metal.dispatch import slow
from ttmem.metal.programs import CoreRanges, Kernel, Processor, Program
from ttmem.metal.programs.binaries import data, stock_kernel
from ttmem.metal.state.host import Host
from ttmem.tracking import CoreType, KernelType

__all__ = ["load_system_programs"]

ALONE = (("cq_prefetch",), ("cq_dispatch", "cq_dispatch_subordinate", "cq_dispatch_subordinate_compute"))
REMOTE = (("cq_prefetch_split",), ("cq_dispatch_split", "cq_dispatch_subordinate", "cq_dispatch_subordinate_compute"))
SERVING = (("cq_prefetch_split",), ("cq_dispatch_split",))
MUX = (("tt_fabric_mux",),)
ROUTER_PROCESSORS = (Processor.ERISC, Processor.ERISC_1)

Stations = tuple[tuple[str, ...], ...]  # kernels by the core they share


def load_system_programs(host: Host, *, has_fabric: bool, command_queue_count: int) -> list[Program]:
    """Loads them on every chip, fabric first, through the slow path."""
    programs = []
    for index, chip in enumerate(host.chips):
        made = [_fabric_program(chip)] if has_fabric and chip.router_count else []
        if host.dispatch is not DispatchCores.SLOW:
            made.append(_dispatch_program(host, chip, command_queue_count))
        for program in made:
            slow.configure(host, program, host.chip_place(index))
            programs.append(program)
    return programs


def _fabric_program(chip: Chip) -> Program:
    program = Program(KernelType.FABRIC, name="fabric")
    router = data()["fabric_router"]
    sizes = router["n300" if chip.board == "n300" else "1d"]
    for channel in range(chip.router_count):
        for half in range(chip.architecture.ethernet_kernels_per_router):
            # Which of the compiled variants a router runs depends on its neighbours, and was not recorded chip by chip:
            # here they take turns along a chip's channels.
            variant = (channel + half) % len(sizes)
            program.add_kernel(
                Kernel(
                    name="fabric_erisc_router",
                    cores=CoreRanges.at((0, channel)),
                    binaries=(sizes[variant],),
                    processor=ROUTER_PROCESSORS[half],
                    core_type=CoreType.ACTIVE_ETH,
                    source_path=router["path"],
                    runtime_arg_count=router["argument_count"],
                    variant=f"{variant}.{half}",
                )
            )
    return program


def _dispatch_program(host: Host, chip: Chip, command_queue_count: int) -> Program:
    program = Program(KernelType.DISPATCH, name="dispatch")
    is_ethernet = host.dispatch is DispatchCores.ETHERNET
    core_type = CoreType.IDLE_ETH if is_ethernet else CoreType.TENSIX
    stations = _stations(host, chip, command_queue_count)
    if is_ethernet:
        stations = _on_ethernet(stations, has_subordinate=command_queue_count == 1)
    for core, names in zip(_dispatch_cores(chip, len(stations)), stations, strict=True):
        for name in names:
            program.add_kernel(stock_kernel(name, CoreRanges.at(core), core_type=core_type))
    for _ in range(data()["dispatch"]["semaphore_count"]):
        program.add_semaphore(core_type)
    return program


def _stations(host: Host, chip: Chip, command_queue_count: int) -> Stations:
    """The kernels of a chip by core, before anything is said about what cores those are."""
    opened = {other.index for other in host.chips}
    partner = _partner(chip)
    if partner is not None and partner < chip.index:
        return REMOTE * command_queue_count + MUX
    if partner not in opened:
        return ALONE * command_queue_count
    if command_queue_count == 1:
        return ALONE + SERVING + MUX
    # Two queues need nine cores of a strip of eight: the mux shares one. Which one is not documented.
    *others, last = (ALONE + SERVING) * command_queue_count
    return (*others, last + MUX[0])


def _partner(chip: Chip) -> int | None:
    """On boards where half of the chips are reached through the other half: the other one of a pair."""
    if chip.board not in data()["dispatch"]["boards_with_remote_chips"]:
        return None
    chip_count = board(chip.board).chip_count
    half = chip_count // 2
    return chip.index + half if chip.index % chip_count < half else chip.index - half


def _on_ethernet(stations: Stations, *, has_subordinate: bool) -> Stations:
    """Every kernel on a core of its own; there are no compute threads."""
    names = [name for station in stations for name in station if name != "cq_dispatch_subordinate_compute"]
    return tuple((name,) for name in names if has_subordinate or name != "cq_dispatch_subordinate")


def _dispatch_cores(chip: Chip, count: int) -> list[tuple[int, int]]:
    """Cores outside the compute grid: the strip that is reserved for dispatch, or ethernet cores behind the routers."""
    if chip.dispatch is DispatchCores.ETHERNET:
        cores = [(0, channel) for channel in range(chip.router_count, chip.ethernet_core_count)]
    else:
        (columns, rows), workers = chip.grid, CoreRanges.grid(*chip.worker_grid)
        cores = [(x, y) for x, y in workers if x >= columns or y >= rows]
    if len(cores) < count:
        raise UnknownHardware(
            f"{chip.board}: {len(cores)} {chip.dispatch.value} cores to dispatch with, and {count} are needed; "
            "use other cores or fewer command queues"
        )
    return cores[:count]
