"""A batch of images through ResNet-50: all stays in L1; one trace of the whole network is captured and replayed."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from ttmem.devices import BufferType
from ttmem.metal.workloads.building import operations as op
from ttmem.metal.workloads.building.arithmetic import TILE_SIDE
from ttmem.metal.workloads.building.operations import buffers, divisor, tiles
from ttmem.metal.workloads.building.steps import (
    Beat,
    EndTrace,
    Operation,
    PhaseStep,
    Replay,
    Step,
    Tensor,
    TensorPlace,
    apply,
    begun,
    made,
)
from ttmem.metal.workloads.resnet.model import F8, F16, Activations, Layer, ResNet

__all__ = ["Network"]

LAYER_SECONDS, BATCH_SECONDS = 0.03, 0.08
BLOCK_HEIGHT_MAX, BLOCK_WIDTH_MAX = 4, 8  # in tiles: how much of an operand a core works on at once
Piece = tuple[Step, ...]


@dataclass(frozen=True)
class Network:
    """The steps of a network, batch after batch."""

    resnet: ResNet
    has_trace: bool = True

    def steps(self) -> Iterator[Step]:
        """Without end."""
        yield PhaseStep("load")
        yield from made(self.resnet.images())
        for tensors in self.resnet.constants():
            yield from made(*tensors)
            yield Beat(LAYER_SECONDS)
        yield PhaseStep("compile")
        yield from self._watched_batch()
        if self.has_trace:
            yield PhaseStep("capture")
            yield begun("network")
            yield from chain.from_iterable(self.batch())
            yield EndTrace("network")
        yield PhaseStep("inference")
        while True:
            yield from (Replay("network"),) if self.has_trace else self._watched_batch()
            yield Beat(BATCH_SECONDS, is_round=True)

    def _watched_batch(self) -> Iterator[Step]:
        for piece in self.batch():
            yield from piece
            yield Beat(LAYER_SECONDS)

    def batch(self) -> Iterator[Piece]:
        """One batch, layer by layer."""
        yield self._first()
        for layer in self.resnet.layers:
            yield self._layer(layer)
        yield self._last()

    def _layer(self, layer: Layer) -> Piece:
        match layer.kernel:
            case 0:
                return self._add(layer)
            case 1:
                return self._pointwise(layer)
            case _:
                return (*self._halo(layer.taken), *self._convolution(layer))

    def _first(self) -> Piece:
        resnet = self.resnet
        cores = resnet.cut(resnet.folded).core_count
        reshard = op.move("reshard", ("reshard",), 4, dtype=F16, core_count=cores)
        parts = buffers((F16, 4), (F16, 1), (F16, 2))
        pool = Operation("max_pool", ("pool_reader", "pool"), resnet.cut(resnet.pooled).core_count, parts)
        return (
            *apply(reshard, resnet.images("folded", is_sharded=True), views=("folded",)),
            *self._halo(resnet.folded),
            *self._convolution(Layer(resnet.folded, resnet.stem, kernel=4)),
            *self._halo(resnet.stem),
            *apply(pool, resnet.tensor(resnet.pooled), frees=("halo",), views=("halo", resnet.pooled.name)),
        )

    def _last(self) -> Piece:
        resnet, last, classes = self.resnet, self.resnet.last, self.resnet.sizes["class_count"]
        parts = buffers((F16, 8), (F16, 2))
        pool = Operation("average_pool", ("pool_reader", "pool"), resnet.cut(last).core_count, parts)
        pooled = Tensor("pooled", (1, 1, resnet.batch, last.channels), F8, TensorPlace(BufferType.L1))
        dense = op.matmul_decode("classes", last.channels, classes, weights=F8, core_count=TILE_SIDE)
        result = Tensor("result", (1, 1, resnet.batch, classes), F16)
        return (*apply(pool, pooled, frees=(last.name,)), *apply(dense, result, frees=("pooled", "result")))

    def _pointwise(self, layer: Layer) -> Piece:
        """A convolution of single pixels is a matmul; with a stride it leaves pixels out."""
        cut = self.resnet.cut(layer.made)
        inner = divisor(tiles(layer.taken.channels), BLOCK_WIDTH_MAX)
        height = divisor(cut.height, BLOCK_HEIGHT_MAX)
        operation = Operation(
            "conv_1x1",
            ("in1_sender_writer", "bmm_large_block"),
            cut.core_count,
            buffers((F8, 2 * height * inner), (F8, 2 * inner * cut.width), (F16, height * cut.width)),
            lead="in0_sender_padding",
            follow="in0_receiver",
            shape=self._shape(layer),
        )
        frees = () if layer.keeps_input else (layer.taken.name,)
        names = layer.taken.name, layer.made.name
        return apply(operation, self.resnet.tensor(layer.made), frees=frees, views=names)

    def _halo(self, taken: Activations) -> Piece:
        """The rows of others that the next layer needs are fetched; the tensor itself is spent then."""
        cut = self.resnet.cut(taken)
        operation = Operation(
            "halo",
            ("halo_reader", "halo_writer", "untilize"),
            cut.core_count,
            buffers((F16, 2 * cut.width), (F16, 2)),
            shape=(taken.side, taken.channels),
        )
        return apply(operation, self.resnet.halo(taken), frees=(taken.name,), views=(taken.name, "halo"))

    def _convolution(self, layer: Layer) -> Piece:
        """Pixels around each pixel become one row of a matmul, block by block."""
        cut = self.resnet.cut(layer.made)
        height = divisor(cut.height, BLOCK_HEIGHT_MAX)
        inner = tiles(layer.kernel * layer.taken.channels)  # one row of the kernel at a time
        if layer.made.is_block:
            inner = tiles(layer.kernel * layer.kernel * self.resnet.cut(layer.taken).width * TILE_SIDE)
        operation = Operation(
            f"conv_{layer.kernel}x{layer.kernel}",
            ("conv_reader", "conv"),
            cut.core_count,
            buffers((F16, height * inner), (F8, height * inner), (F8, inner * cut.width), (F16, height * cut.width)),
            lead="conv_weights_sender",
            follow="conv_weights_receiver",
            shape=self._shape(layer),
        )
        return apply(operation, self.resnet.tensor(layer.made), frees=("halo",), views=("halo", layer.made.name))

    def _add(self, layer: Layer) -> Piece:
        """In place: the shortcut is added to what the layers before made."""
        core_count = self.resnet.cut(layer.taken).core_count
        operation = op.add_sharded("add_relu", layer.taken.channels, core_count=core_count)
        return apply(operation, frees=(layer.made.name,), views=(layer.taken.name, layer.made.name))

    def _shape(self, layer: Layer) -> tuple[int, ...]:
        return layer.taken.side, layer.taken.channels, layer.made.side, layer.made.channels
