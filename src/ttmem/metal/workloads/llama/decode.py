"""One token of a Llama model: activations stay in L1, sharded over the cores that need them."""

from dataclasses import dataclass
from functools import cached_property

from ttmem.devices import BufferType
from ttmem.metal.workloads.building import operations as op
from ttmem.metal.workloads.building.arithmetic import TILE_SIDE
from ttmem.metal.workloads.building.steps import HEIGHT_SHARDED, Step, Tensor, TensorPlace, apply
from ttmem.metal.workloads.llama.model import F4, F8, F16, LOGITS_COLUMNS, ROW_MAJOR, Llama, heads, shard_cores, spread

__all__ = ["Decode"]

PREFETCHER_TILES = 728  # of one core: the window through which weights stream into L1 ahead of their use
PREFETCHER_CORES = 24  # two for every DRAM bank of a Wormhole
Piece = tuple[Step, ...]


@dataclass(frozen=True)
class Decode:
    """The steps of one token; layers differ in their weights alone, so one list of steps stands for all of them."""

    llama: Llama
    core_count: int

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def window(self) -> Tensor:
        """The L1 buffer behind the prefetcher's global circular buffer; it lives while tokens are decoded."""
        place = TensorPlace(BufferType.L1, HEIGHT_SHARDED, (PREFETCHER_TILES * TILE_SIDE, TILE_SIDE))
        return Tensor("prefetcher", (1, 1, PREFETCHER_TILES * TILE_SIDE * PREFETCHER_CORES, TILE_SIDE), F8, place)

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def first(self) -> Piece:
        """The token becomes activations."""
        lookup = apply(op.embedding(TILE_SIDE, self.llama.width, core_count=1), spread("x", self.llama.width))
        if not self.llama.is_split:
            return lookup
        kernels = "prefetcher_reader", "prefetcher_writer"
        stream = op.move("prefetcher", kernels, 16, dtype=F8, core_count=PREFETCHER_CORES // 2)
        return (*apply(stream, views=(self.window.name,)), *lookup)

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def layer(self) -> Piece:
        """Attention, then the feed-forward part."""
        return (*self._attention(), *self._feed_forward())

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def last(self) -> Piece:
        """Activations become the next token."""
        llama = self.llama
        pieces = tuple(f"logits.{piece}" for piece in range(llama.logits_pieces))
        steps = list(self._norm("x", "normed", frees=("x",)))
        for name in pieces:
            steps += self._matmul("output", ("normed", llama.width), (name, LOGITS_COLUMNS), F8, out=F8)
        width = len(pieces) * LOGITS_COLUMNS
        joined = op.move("concat", ("reader_unary", "writer_unary"), 8, dtype=F8, core_count=self.core_count)
        steps += apply(joined, Tensor("logits", (1, 1, TILE_SIDE, width), F8), frees=("normed", *pieces))
        kernels = "reader_unary", "writer_unary", "untilize"
        rows = op.move("untilize", kernels, 16, dtype=F16, core_count=self.core_count)
        steps += apply(rows, Tensor("rows", (1, 1, TILE_SIDE, width), F16, ROW_MAJOR), frees=("logits",))
        token = Tensor("token", (1, 1, 1, TILE_SIDE), "uint32", ROW_MAJOR)
        steps += apply(op.argmax(width, core_count=self.core_count), token, frees=("rows", "token"))
        return tuple(steps)

    def _attention(self) -> Piece:
        llama, row = self.llama, self.llama.head_width
        users, joined = llama.user_count, llama.attention_width
        cut = op.move("create_heads", ("heads_reader", "heads_writer"), 8, dtype=F16, core_count=users)
        concat = op.move("concat_heads", ("heads_reader",), 8, dtype=F16, core_count=users)
        q, k, v, attended = (heads(name, users, row) for name in ("q", "k", "v", "attended"))
        turned = [heads(name, users, row) for name in ("q_turned", "k_turned")]
        attend = op.attention_decode(row, dtype=F8, core_count=self.core_count)
        update = op.update_cache("update_cache", row, dtype=F8, core_count=2 * users)
        return (
            *self._norm("x", "normed"),
            *self._matmul("wqkv", ("normed", llama.width), ("qkv", llama.qkv_width), F8, frees=("normed",)),
            *self._sum("qkv", llama.qkv_width),
            *apply(cut, q, k, v, frees=("qkv",), views=("q", "k", "v")),
            *apply(op.rope("rope_q", row, core_count=users), turned[0], frees=("q",), views=("q", "q_turned")),
            *apply(op.rope("rope_k", row, core_count=users), turned[1], frees=("k",), views=("k", "k_turned")),
            *apply(update, frees=("k_turned", "v"), views=("k_turned", "v")),
            *apply(attend, attended, frees=("q_turned",), views=("q_turned", "attended")),
            *apply(concat, spread("joined", joined), frees=("attended",), views=("attended", "joined")),
            *self._matmul("wo", ("joined", joined), ("projected", llama.width), F8, frees=("joined",)),
            *self._sum("projected", llama.width),
            *self._add("add", ("x", "projected"), "middle", llama.width),
        )

    def _feed_forward(self) -> Piece:
        llama, width, hidden = self.llama, self.llama.width, self.llama.hidden_width
        return (
            *self._norm("middle", "normed"),
            *self._matmul("w1", ("normed", width), ("gate", hidden), F4, out=F8),
            *self._matmul("w3", ("normed", width), ("up", hidden), F4, out=F8, frees=("normed",)),
            *self._sum("gate", hidden, F8),
            *self._sum("up", hidden, F8),
            *self._add("silu_mul", ("gate", "up"), "gated", hidden, F8),
            *self._matmul("w2", ("gated", hidden), ("lowered", width), F8, frees=("gated",)),
            *self._sum("lowered", width),
            *self._add("add", ("middle", "lowered"), "x", llama.width),
        )

    def _norm(self, taken: str, name: str, *, frees: tuple[str, ...] = ()) -> Piece:
        width = self.llama.width
        operation = op.norm_decode(width, core_count=shard_cores(width))
        return apply(operation, spread(name, width), frees=frees, views=(taken, name))

    def _matmul(
        self,
        name: str,
        taken: tuple[str, int],
        made: tuple[str, int],
        weights: str,
        *,
        out: str = F16,
        frees: tuple[str, ...] = (),
    ) -> Piece:
        """`taken` and `made` are the names and widths of what goes in and what comes out."""
        core_count = shard_cores(made[1])
        operation = op.matmul_decode(name, taken[1], made[1], weights=weights, core_count=core_count, out=out)
        return apply(operation, spread(*made, out), frees=frees, views=(taken[0], made[0]))

    def _sum(self, name: str, width: int, dtype: str = F16) -> Piece:
        """Partial results of a split model are added up over the chips of a row or column; else nothing."""
        if not self.llama.is_split:
            return ()
        kernels = "gather_reader", "gather_writer", "reduction"
        operation = op.move("all_reduce", kernels, 8, dtype=dtype, core_count=shard_cores(width))
        gathered = spread("gathered", width * self.llama.split_columns, dtype)
        return apply(operation, gathered, frees=("gathered",), views=(name, "gathered"))

    def _add(self, name: str, taken: tuple[str, str], made: str, width: int, dtype: str = F16) -> Piece:
        core_count = shard_cores(width)
        operation = op.add_sharded(name, width, core_count=core_count)
        return apply(operation, spread(made, width, dtype), frees=taken, views=(*taken, made))
