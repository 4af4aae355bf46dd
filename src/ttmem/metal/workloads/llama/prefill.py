"""A prompt read by a Llama model: activations are too large for L1 and lie in DRAM, interleaved over its banks."""

from dataclasses import dataclass
from functools import cached_property

from ttmem.metal.workloads.building import operations as op
from ttmem.metal.workloads.building.arithmetic import TILE_SIDE
from ttmem.metal.workloads.building.steps import Operation, Step, Tensor, apply
from ttmem.metal.workloads.llama.model import F4, F8, F16, Llama

__all__ = ["Prefill"]

Piece = tuple[Step, ...]


@dataclass(frozen=True)
class Prefill:
    """The steps of one prompt; layers differ in their weights alone, so one list of steps stands for all of them."""

    llama: Llama
    grid: tuple[int, int]

    @property
    def core_count(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def rows(self) -> int:
        return self.llama.prompt_tokens

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def first(self) -> Piece:
        """Tokens become activations."""
        width = self.llama.width
        return apply(op.embedding(self.rows, width, core_count=self.core_count), self._wide("x", width))

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def layer(self) -> Piece:
        """Attention, then the feed-forward part."""
        return (*self._heads(), *self._attention(), *self._feed_forward())

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def last(self) -> Piece:
        """Only the last row is needed for the first token of the answer, and that token is decoded like the others."""
        last_rows = op.move("slice", ("reader_unary", "writer_unary"), 2, dtype=F16, core_count=self.core_count)
        taken = Tensor("last_rows", (1, 1, TILE_SIDE, self.llama.width), F16)
        return apply(last_rows, taken, frees=("x", "last_rows"))

    def _heads(self) -> Piece:
        """Queries, keys and values of every head, turned, and stored in the cache."""
        llama, row = self.llama, self.llama.head_width
        cut = self._move("create_heads_prefill", "heads_reader", "heads_writer")
        narrow = self._move("typecast", "reader_unary", "writer_unary", "tilize")
        fill = self._move("fill_cache", "reader_unary", "cache_writer")
        turn = op.rope("rope_prefill", row, core_count=self.core_count)
        q, k, v = self._heads_of("q"), self._heads_of("k"), self._heads_of("v")
        return (
            *self._norm("x", "normed"),
            *self._matmul("wqkv", llama.width, ("qkv", llama.qkv_width), (F16, F8, F16), frees=("normed",)),
            *self._sum("qkv", llama.qkv_width),
            *apply(cut, q, k, v, frees=("qkv",)),
            *apply(turn, self._heads_of("q", "q_turned"), frees=("q",)),
            *apply(turn, self._heads_of("k", "k_turned"), frees=("k",)),
            *apply(narrow, self._heads_of("k", "k_narrow", F8), frees=("k_turned",)),
            *apply(narrow, self._heads_of("v", "v_narrow", F8), frees=("v",)),
            *apply(fill),
            *apply(fill),
        )

    def _attention(self) -> Piece:
        llama, row = self.llama, self.llama.head_width
        narrow = self._move("typecast", "reader_unary", "writer_unary", "tilize")
        concat = self._move("concat_heads_prefill", "heads_reader", "writer_unary")
        attend = op.attention_prefill(self.rows, row, dtype=F8, core_count=self.core_count)
        spent = "q_narrow", "k_narrow", "v_narrow"
        return (
            *apply(narrow, self._heads_of("q", "q_narrow", F8), frees=("q_turned",)),
            *apply(attend, self._heads_of("q", "attended", F8), frees=spent),
            *apply(concat, self._wide("joined", llama.attention_width, F8), frees=("attended",)),
            *self._matmul("wo", llama.attention_width, ("projected", llama.width), (F8, F8, F16), frees=("joined",)),
            *self._sum("projected", llama.width),
            *self._add("add", ("x", "projected"), "middle", llama.width, (F16, F16, F16)),
        )

    def _feed_forward(self) -> Piece:
        width, hidden = self.llama.width, self.llama.hidden_width
        return (
            *self._norm("middle", "normed"),
            *self._matmul("w1", width, ("gate", hidden), (F16, F4, F8)),
            *self._matmul("w3", width, ("up", hidden), (F16, F4, F8), frees=("normed",)),
            *self._add("silu_mul", ("gate", "up"), "gated", hidden, (F8, F8, F8)),
            *self._matmul("w2", hidden, ("lowered", width), (F8, F8, F16), frees=("gated",)),
            *self._sum("lowered", width),
            *self._add("add", ("middle", "lowered"), "x", width, (F16, F16, F16)),
        )

    def _wide(self, name: str, width: int, dtype: str = F16) -> Tensor:
        return Tensor(name, (1, 1, self.rows, width), dtype)

    def _heads_of(self, which: str, name: str = "", dtype: str = F16) -> Tensor:
        count = self.llama.head_count if which == "q" else self.llama.kv_head_count
        return Tensor(name or which, (1, count, self.rows, self.llama.head_width), dtype)

    def _move(self, name: str, *kernels: str) -> Operation:
        return op.move(name, kernels, 8, dtype=F16, core_count=self.core_count)

    def _norm(self, taken: str, name: str) -> Piece:
        width = self.llama.width
        return apply(op.norm_prefill(self.rows, width, core_count=self.core_count), self._wide(name, width))

    def _matmul(
        self,
        name: str,
        inner: int,
        made: tuple[str, int],
        dtypes: tuple[str, str, str],
        *,
        frees: tuple[str, ...] = (),
    ) -> Piece:
        operation = op.matmul_prefill(f"{name}_prefill", self.rows, inner, made[1], dtypes=dtypes, grid=self.grid)
        return apply(operation, self._wide(*made, dtypes[2]), frees=frees)

    def _sum(self, name: str, width: int) -> Piece:
        """Partial results of a split model are gathered from a row or column of chips and added up; else nothing."""
        if not self.llama.is_split:
            return ()
        operation = self._move("all_reduce_prefill", "gather_reader", "gather_writer", "reduction")
        gathered = self._wide(f"{name}.gathered", width * self.llama.split_columns)
        return apply(operation, gathered, frees=(gathered.name,))

    def _add(self, name: str, taken: tuple[str, str], made: str, width: int, dtypes: tuple[str, str, str]) -> Piece:
        operation = op.add(f"{name}_prefill", self.rows, width, dtypes=dtypes, core_count=self.core_count)
        return apply(operation, self._wide(made, width, dtypes[2]), frees=taken)
