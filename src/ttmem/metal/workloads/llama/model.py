"""Llama models: what one chip holds of their weights and caches, and the operations of their layers.

A mesh splits a matrix in two directions: inputs over its columns, outputs over its rows; unsplit, every chip holds the
whole model. Formats are those used in practice: bfloat8_b for attention and the way down, bfloat4_b for the two
large matrices of the feed-forward part, bfloat16 for embeddings, norms and activations.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from ttmem.devices import BufferType
from ttmem.metal.workloads.building.arithmetic import TILE_SIDE
from ttmem.metal.workloads.building.operations import divisor, tiles
from ttmem.metal.workloads.building.steps import HEIGHT_SHARDED, WIDTH_SHARDED, Tensor, TensorPlace
from ttmem.metal.workloads.building.tables import dimensions

__all__ = ["F4", "F8", "F16", "LOGITS_COLUMNS", "ROW_MAJOR", "Llama", "heads", "shard_cores", "spread"]

F16, F8, F4 = "bfloat16", "bfloat8_b", "bfloat4_b"
ROW_MAJOR = TensorPlace(is_tiled=False)
SHARD_CORES = 32
LOGITS_COLUMNS = 512 * TILE_SIDE  # of one piece of the output matrix


def spread(name: str, width: int, dtype: str = F16, *, rows: int = TILE_SIDE) -> Tensor:
    """Activations of one tile row in L1, their columns spread over as many cores as divide them."""
    columns = tiles(width) // shard_cores(width) * TILE_SIDE
    return Tensor(name, (1, 1, rows, width), dtype, TensorPlace(BufferType.L1, WIDTH_SHARDED, (rows, columns)))


def shard_cores(width: int) -> int:
    """On how many cores activations so wide are spread."""
    return divisor(tiles(width), SHARD_CORES)


def heads(name: str, user_count: int, head_width: int) -> Tensor:
    """Heads of a decode step in L1: those of one user on each core, padded to a tile."""
    place = TensorPlace(BufferType.L1, HEIGHT_SHARDED, (TILE_SIDE, head_width))
    return Tensor(name, (1, user_count, TILE_SIDE, head_width), F16, place)


@dataclass(frozen=True)
class Llama:
    """A model cut for a mesh; widths are what one chip has of them."""

    model: str
    split_rows: int = 1
    split_columns: int = 1

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def sizes(self) -> dict[str, int]:
        """The model's own dimensions, before any cut."""
        sizes: dict[str, int] = dimensions(self.model)
        return sizes

    @property
    def is_split(self) -> bool:
        """Whether chips have to exchange partial results."""
        return self.split_rows * self.split_columns > 1

    @property
    def layer_count(self) -> int:
        return self.sizes["layer_count"]

    @property
    def head_width(self) -> int:
        return self.sizes["head_width"]

    @property
    def user_count(self) -> int:
        """Sequences that one chip decodes at once."""
        return ceil(self.sizes["user_count"] / self.split_columns)

    @property
    def prompt_tokens(self) -> int:
        return self.sizes["prompt_tokens"]

    @property
    def width(self) -> int:
        return self.sizes["width"] // self.split_columns

    @property
    def hidden_width(self) -> int:
        return self.sizes["hidden_width"] // self.split_rows

    @property
    def head_count(self) -> int:
        return self.sizes["head_count"] // self.split_rows

    @property
    def kv_head_count(self) -> int:
        return self.sizes["kv_head_count"] // self.split_rows

    @property
    def attention_width(self) -> int:
        return self.head_count * self.head_width

    @property
    def qkv_width(self) -> int:
        return self.attention_width + 2 * self.kv_head_count * self.head_width

    @property
    def logits_pieces(self) -> int:
        """Into how many matrices the output is cut: each fits the cores of one matmul."""
        return ceil(self.sizes["vocabulary"] / self.split_rows / LOGITS_COLUMNS)

    def shared_tensors(self) -> Iterator[Tensor]:
        """What the model has once: embeddings, rotations, the last norm, the output matrix, the table of pages."""
        sizes = self.sizes
        yield Tensor("tok_embeddings", (1, 1, sizes["vocabulary"], self.width), F16, ROW_MAJOR)
        for name in ("rope.cos", "rope.sin"):
            yield Tensor(name, (1, 1, sizes["context_tokens"], self.head_width), F16)
        yield self._norm("norm")
        for piece in range(self.logits_pieces):
            yield Tensor(f"output.{piece}", (1, 1, self.width, LOGITS_COLUMNS), F8)
        yield Tensor("page_table", (self.user_count, sizes["block_count"]), "int32", ROW_MAJOR)

    def layer_weights(self, layer: int) -> Iterator[Tensor]:
        """The matrices of one layer."""
        yield self._norm(f"layers.{layer}.attention_norm")
        yield self._weights(layer, "wqkv", self.width, self.qkv_width, F8)
        yield self._weights(layer, "wo", self.attention_width, self.width, F8)
        yield self._norm(f"layers.{layer}.ffn_norm")
        yield self._weights(layer, "w1", self.width, self.hidden_width, F4)
        yield self._weights(layer, "w3", self.width, self.hidden_width, F4)
        yield self._weights(layer, "w2", self.hidden_width, self.width, F8)

    def layer_cache(self, layer: int) -> Iterator[Tensor]:
        """Keys and values of one layer, in pages."""
        sizes = self.sizes
        shape = (sizes["block_count"], self.kv_head_count, sizes["block_tokens"], self.head_width)
        for name in ("k", "v"):
            yield Tensor(f"layers.{layer}.cache_{name}", shape, F8)

    def _weights(self, layer: int, name: str, rows: int, columns: int, dtype: str) -> Tensor:
        return Tensor(f"layers.{layer}.{name}", (1, 1, rows, columns), dtype)

    def _norm(self, name: str) -> Tensor:
        return Tensor(name, (1, 1, self.width // TILE_SIDE, TILE_SIDE), F16, ROW_MAJOR)
