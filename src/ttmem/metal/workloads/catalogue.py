"""The workloads there are: what each one shows, on which board it is at home, and how its devices are opened."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ttmem.metal.chips import Chip, DispatchCores
from ttmem.metal.mesh import MeshDevice, open_mesh
from ttmem.metal.workloads import faults
from ttmem.metal.workloads.building.steps import Step
from ttmem.metal.workloads.llama import Llama, Transformer
from ttmem.metal.workloads.resnet import Network, ResNet
from ttmem.tracking import Tracker

__all__ = ["DEFAULT_WORKLOAD", "WORKLOADS", "Workload"]

TRACE_REGION_BYTES = 50_000_000
RESNET_TRACE_BYTES, RESNET_L1_SMALL_BYTES, RESNET_BATCH = 5_000_000, 32_768, 16
GALAXY_SHAPE = (8, 4)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A workload: an endless list of steps for chips like the given one, unless the runtime refuses one of them."""

    name: str
    line: str  # what it shows
    board: str
    shape: tuple[int, int]  # rows and columns of chips
    steps: Callable[[Chip], Iterator[Step]]
    round_words: tuple[str, str]  # what it does repeatedly: of one, of several
    round_count: int  # enough to show all it has to show
    l1_small_bytes: int = 0
    trace_region_bytes: int = 0
    command_queue_count: int = 1

    def played(self, round_count: int) -> str:
        """How much of it that is: 20 tokens."""
        return f"{round_count} {self.round_words[round_count != 1]}"

    @property
    def chip_count(self) -> int:
        rows, columns = self.shape
        return rows * columns

    def open(
        self,
        board: str | None = None,
        *,
        tracker: Tracker | None = None,
        chip_offset: int = 0,
        is_slow: bool = False,
    ) -> MeshDevice:
        """Its devices; on another board than its own, as many chips of that."""
        return open_mesh(
            board or self.board,
            self.shape,
            chip_offset=chip_offset,
            tracker=tracker,
            dispatch=DispatchCores.SLOW if is_slow else None,
            l1_small_bytes=self.l1_small_bytes,
            trace_region_bytes=self.trace_region_bytes,
            command_queue_count=self.command_queue_count,
        )


def _llama(chip: Chip) -> Iterator[Step]:
    return Transformer(Llama("llama-3.1-8b"), chip.grid, has_trace=_has_trace(chip)).steps()


def _galaxy(chip: Chip) -> Iterator[Step]:
    return Transformer(Llama("llama-3.3-70b", *GALAXY_SHAPE), chip.grid, has_trace=_has_trace(chip)).steps()


def _resnet(chip: Chip) -> Iterator[Step]:
    return Network(ResNet(chip.grid, RESNET_BATCH), has_trace=_has_trace(chip)).steps()


def _has_trace(chip: Chip) -> bool:
    """Slow dispatch has no traces."""
    return chip.dispatch is not DispatchCores.SLOW


DEFAULT_WORKLOAD = "llama-8b"
WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            name=DEFAULT_WORKLOAD,
            line="Llama 3.1 8B, batch 1, whole on each of 4 chips (DP-4): load, prefill, decode, trace",
            board="n300",
            shape=(2, 2),
            steps=_llama,
            round_words=("token", "tokens"),
            round_count=20,
            trace_region_bytes=TRACE_REGION_BYTES,
        ),
        Workload(
            name="galaxy-70b",
            line="Llama 3.3 70B, batch 32, split over 32 chips, weights streamed through L1",
            board="galaxy",
            shape=GALAXY_SHAPE,
            steps=_galaxy,
            round_words=("token", "tokens"),
            round_count=20,
            trace_region_bytes=TRACE_REGION_BYTES,
        ),
        Workload(
            name="resnet-trace",
            line="ResNet-50, batch 16, all activations in L1, one trace captured and replayed",
            board="p150",
            shape=(1, 1),
            steps=_resnet,
            round_words=("batch", "batches"),
            round_count=20,
            l1_small_bytes=RESNET_L1_SMALL_BYTES,
            trace_region_bytes=RESNET_TRACE_BYTES,
            command_queue_count=2,
        ),
        Workload(
            name="leaky",
            line="a decoder that never frees two tensors of each token, until circular buffers clash",
            board="n150",
            shape=(1, 1),
            steps=faults.leaky,
            round_words=("token", "tokens"),
            round_count=200,
        ),
        Workload(
            name="oom-fragmented",
            line="plenty of DRAM is free, but in fragments: a request is refused",
            board="n150",
            shape=(1, 1),
            steps=faults.oom_fragmented,
            round_words=("request", "requests"),
            round_count=200,
        ),
        Workload(
            name="cb-clash",
            line="L1 buffers pile up until they meet the circular buffers of a cached program",
            board="n150",
            shape=(1, 1),
            steps=faults.cb_clash,
            round_words=("tensor", "tensors"),
            round_count=200,
        ),
        Workload(
            name="cache-growth",
            line="a new shape every time: programs and their binaries pile up",
            board="n150",
            shape=(1, 1),
            steps=faults.cache_growth,
            round_words=("shape", "shapes"),
            round_count=60,
        ),
        Workload(
            name="unsafe-trace",
            line="tensors made after a trace was captured lie where it writes: its replays destroy them",
            board="n150",
            shape=(1, 1),
            steps=faults.unsafe_trace,
            round_words=("request", "requests"),
            round_count=60,
            trace_region_bytes=TRACE_REGION_BYTES,
        ),
        Workload(
            name="killed-midway",
            line="llama-8b, killed (kill -9) in the middle of a token: everything is given back",
            board="n300",
            shape=(2, 2),
            steps=faults.killed_midway,
            round_words=("token", "tokens"),
            round_count=20,
            trace_region_bytes=TRACE_REGION_BYTES,
        ),
    )
}
