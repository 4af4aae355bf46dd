"""A Llama model at work: weights are loaded, prompts are read, tokens decoded, and a trace of one token replayed.

The first run of every operation loads its program, later runs find it in the program cache; so a prompt and a token are
run once before the first request, as every serving program does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from ttmem.metal.workloads.building.steps import Beat, EndTrace, PhaseStep, Replay, Step, begun, freed, made
from ttmem.metal.workloads.llama.decode import Decode
from ttmem.metal.workloads.llama.model import Llama
from ttmem.metal.workloads.llama.prefill import Prefill

__all__ = ["Transformer"]

TOKENS_PER_REQUEST = 16
EAGER_TOKENS = 4  # of the first request, before a trace of one token is captured
LAYER_SECONDS, TOKEN_SECONDS = 0.02, 0.1


@dataclass(frozen=True)
class Transformer:
    """The steps of a Llama model on chips with these columns and rows of cores."""

    llama: Llama
    grid: tuple[int, int]
    has_trace: bool = True

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def prefill(self) -> Prefill:
        return Prefill(self.llama, self.grid)

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def decode(self) -> Decode:
        return Decode(self.llama, self.grid[0] * self.grid[1])

    def steps(self) -> Iterator[Step]:
        """Without end: request after request."""
        yield from self.load()
        yield PhaseStep("compile")
        yield from self.read_prompt()
        yield from self._with_window(self.decode_token())
        for request in count():
            yield PhaseStep("prefill")
            yield from self.read_prompt()
            yield PhaseStep("decode")
            yield from self._with_window(self.answer(is_first=request == 0))

    def load(self) -> Iterator[Step]:
        """Weights and caches, layer by layer."""
        yield PhaseStep("load")
        yield from made(*self.llama.shared_tensors())
        for layer in range(self.llama.layer_count):
            yield Beat(LAYER_SECONDS)
            yield from made(*self.llama.layer_weights(layer), *self.llama.layer_cache(layer))

    def read_prompt(self) -> Iterator[Step]:
        """One prompt through all layers."""
        yield from self._through(self.prefill)

    def decode_token(self) -> Iterator[Step]:
        """One token through all layers."""
        yield from self._through(self.decode)

    def _with_window(self, steps: Iterator[Step]) -> Iterator[Step]:
        """A split model streams its weights through L1 while it decodes; prompts need that room for themselves."""
        if self.llama.is_split:
            yield from made(self.decode.window)
        yield from steps
        if self.llama.is_split:
            yield from freed(self.decode.window.name)

    def _through(self, part: Prefill | Decode) -> Iterator[Step]:
        yield from part.first
        for _ in range(self.llama.layer_count):
            yield Beat(LAYER_SECONDS)
            yield from part.layer
        yield from part.last

    def answer(self, *, is_first: bool) -> Iterator[Step]:
        """The tokens of one request: the first one's by single operations, later ones by replaying a trace."""
        eager_count = EAGER_TOKENS if is_first and self.has_trace else 0 if self.has_trace else TOKENS_PER_REQUEST
        for _ in range(eager_count):
            yield from self.decode_token()
            yield Beat(LAYER_SECONDS, is_round=True)
        if is_first and self.has_trace:
            yield PhaseStep("capture")
            yield begun("decode")
            yield from (step for step in self.decode_token() if not isinstance(step, Beat))
            yield EndTrace("decode")
            yield PhaseStep("decode")
        for _ in range(TOKENS_PER_REQUEST - eager_count):
            yield Replay("decode")
            yield Beat(TOKEN_SECONDS, is_round=True)
