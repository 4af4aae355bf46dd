"""ResNet-50 on one chip: its layers, its weights, and how activations are cut over the cores.

The first two stages cut activations by rows (height sharded), the deeper ones by rows and channels (block sharded).
A convolution wider than a pixel first gathers the rows its neighbours hold (halo); small tables in L1_SMALL say how.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

from ttmem.devices import BufferType
from ttmem.metal.workloads.building.arithmetic import TILE_SIDE
from ttmem.metal.workloads.building.operations import tiles
from ttmem.metal.workloads.building.steps import BLOCK_SHARDED, HEIGHT_SHARDED, Tensor, TensorPlace
from ttmem.metal.workloads.building.tables import dimensions

__all__ = ["F8", "F16", "Activations", "Layer", "ResNet"]

F16, F8 = "bfloat16", "bfloat8_b"
STEM_SIDE, STEM_CHANNELS, STEM_KERNEL = 115, 16, 4  # 7x7 stride 2 on 3 channels, folded into 4x4 stride 1 on 12
BLOCK_STAGES = 2  # stages from the end that are block sharded
BLOCK_COLUMNS = 8


@dataclass(frozen=True)
class Activations:
    """What lies between two layers: a picture of some channels for every image of the batch."""

    name: str
    side: int
    channels: int
    is_block: bool = False


@dataclass(frozen=True)
class Layer:
    """A convolution of a number of pixels in both directions; of 0 pixels: `made` is added to `taken`, in place."""

    taken: Activations
    made: Activations
    kernel: int
    keeps_input: bool = False


@dataclass(frozen=True)
class Cut:
    """The share of one core, in tiles, and how many cores have one."""

    height: int
    width: int
    core_count: int


@dataclass(frozen=True)
class ResNet:
    """The network for a batch on a chip with these columns and rows of cores."""

    grid: tuple[int, int]
    batch: int = 16

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def sizes(self) -> dict[str, Any]:
        """Its dimensions."""
        sizes: dict[str, Any] = dimensions("resnet-50")
        return sizes

    @property
    def folded(self) -> Activations:
        """Images as the first convolution wants them."""
        return Activations("folded", STEM_SIDE, STEM_CHANNELS)

    @property
    def stem(self) -> Activations:
        """What the first convolution makes of them."""
        return Activations("stem", self.sizes["image_side"] // 2, self.sizes["stem_channels"])

    @property
    def pooled(self) -> Activations:
        """What the first stage gets."""
        return Activations("pool", self.stem.side // 2, self.stem.channels)

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def layers(self) -> tuple[Layer, ...]:
        """Every convolution and addition of the stages, in order."""
        return tuple(self._layers())

    @property
    def last(self) -> Activations:
        """What the last stage makes."""
        return self.layers[-1].taken

    def _layers(self) -> Iterator[Layer]:
        taken = self.pooled
        stages = self.sizes["stages"]
        for number, stage in enumerate(stages, start=1):
            is_block = number > len(stages) - BLOCK_STAGES
            for block in range(stage["block_count"]):
                side = taken.side // (stage["stride"] if block == 0 else 1)
                middle, name = stage["middle_channels"], f"stage{number}.{block}"
                first = Activations(f"{name}.1", taken.side, middle, is_block)
                second = Activations(f"{name}.2", side, middle, is_block)
                third = Activations(f"{name}.3", side, middle * self.sizes["expansion"], is_block)
                yield Layer(taken, first, kernel=1, keeps_input=True)
                yield Layer(first, second, kernel=3)
                yield Layer(second, third, kernel=1)
                if block == 0:
                    shortcut = Activations(f"{name}.shortcut", side, third.channels, is_block)
                    yield Layer(taken, shortcut, kernel=1)
                yield Layer(third, shortcut if block == 0 else taken, kernel=0)
                taken = third

    def cut(self, one: Activations) -> Cut:
        """How activations are shared out: rows over all cores, or rows over rows and channels over columns."""
        rows, columns = tiles(self.rows(one)), tiles(one.channels)
        cores = self.grid[1] if one.is_block else self.grid[0] * self.grid[1]
        height = ceil(rows / cores)
        width = ceil(columns / BLOCK_COLUMNS) if one.is_block else columns
        return Cut(height, width, ceil(rows / height) * ceil(columns / width))

    def rows(self, one: Activations) -> int:
        """One row for every pixel of every image."""
        return self.batch * one.side**2

    def tensor(self, one: Activations) -> Tensor:
        """Activations in L1."""
        cut = self.cut(one)
        layout = BLOCK_SHARDED if one.is_block else HEIGHT_SHARDED
        place = TensorPlace(BufferType.L1, layout, (cut.height * TILE_SIDE, cut.width * TILE_SIDE))
        return Tensor(one.name, (1, 1, self.rows(one), one.channels), F8, place)

    def images(self, name: str = "images", *, is_sharded: bool = False) -> Tensor:
        """The batch as it comes in: pixel by pixel, in DRAM, then in L1."""
        shard = self.cut(self.folded).height * TILE_SIDE, STEM_CHANNELS
        sharded = TensorPlace(BufferType.L1, HEIGHT_SHARDED, shard, is_tiled=False)
        place = sharded if is_sharded else TensorPlace(is_tiled=False)
        return Tensor(name, (1, 1, self.rows(self.folded), STEM_CHANNELS), F16, place)

    def halo(self, taken: Activations) -> Tensor:
        """Every core's rows and those around them, pixel by pixel."""
        cut = self.cut(taken)
        columns = min(cut.width * TILE_SIDE, taken.channels)
        height = cut.height * TILE_SIDE + 2 * (taken.side + 3)
        across = taken.channels // columns
        layout = BLOCK_SHARDED if taken.is_block else HEIGHT_SHARDED
        place = TensorPlace(BufferType.L1, layout, (height, columns), is_tiled=False)
        return Tensor("halo", (1, 1, height * (cut.core_count // across), taken.channels), F16, place)

    def constants(self) -> Iterator[tuple[Tensor, ...]]:
        """Layer by layer: weights and biases in DRAM, the tables of halos in L1_SMALL."""
        yield self._weights("stem", STEM_KERNEL**2 * STEM_CHANNELS, self.stem.channels)
        yield self._tables(self.stem)
        yield self._tables(self.pooled)
        for layer in self.layers:
            if layer.kernel:
                yield self._weights(layer.made.name, layer.kernel**2 * layer.taken.channels, layer.made.channels)
            if layer.kernel > 1:
                yield self._tables(layer.made)
        yield self._weights("classes", self.last.channels, self.sizes["class_count"])

    def _weights(self, name: str, rows: int, columns: int) -> tuple[Tensor, ...]:
        weights = Tensor(f"{name}.weights", (1, 1, rows, columns), F8)
        return weights, Tensor(f"{name}.bias", (1, 1, 1, columns), F8)

    def _tables(self, made: Activations) -> tuple[Tensor, ...]:
        """Which row a core reads for each of its outputs, and which rows it fetches from whom."""
        cut = self.cut(made)
        lengths = {"indices": cut.height * TILE_SIDE, "fetches": 4 * made.side}
        place = {
            name: TensorPlace(BufferType.L1_SMALL, HEIGHT_SHARDED, (1, length), is_tiled=False)
            for name, length in lengths.items()
        }
        return tuple(
            Tensor(f"{made.name}.{name}", (cut.core_count, length), "uint16", place[name])
            for name, length in lengths.items()
        )
