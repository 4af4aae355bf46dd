"""Workloads that go wrong the way users report it: leaks, fragments, clashes, caches that only grow, unsafe traces, a
sudden end."""

from collections.abc import Iterator
from itertools import count

from ttmem.devices import BufferType
from ttmem.metal.chips import Chip, DispatchCores
from ttmem.metal.workloads.building import operations as op
from ttmem.metal.workloads.building.arithmetic import TILE_SIDE
from ttmem.metal.workloads.building.steps import (
    Beat,
    EndTrace,
    Kill,
    PhaseStep,
    Replay,
    Run,
    Step,
    Tensor,
    TensorPlace,
    apply,
    begun,
    freed,
    made,
)
from ttmem.metal.workloads.llama import Llama, Transformer
from ttmem.metal.workloads.llama.model import F4, F8, F16, ROW_MAJOR, spread

__all__ = ["cache_growth", "cb_clash", "killed_midway", "leaky", "oom_fragmented", "unsafe_trace"]

STEP_SECONDS = 0.1
MODEL = "llama-3.1-8b"

# The refusal of tt-xla #4130, per bank: much is free, but no block is large enough. On chips that hand DRAM out in
# larger blocks, both are cut to whole ones.
FRAGMENT_BYTES, FREE_BYTES = 3_382_944, 183_397_344
REFUSED_SHAPE = (1, 1, 2048, 14336)  # 58 720 256 bytes in bfloat16: 4 894 720 per bank


def leaky(chip: Chip) -> Iterator[Step]:
    """Decodes tokens and forgets to free what each one leaves: a hidden state in L1 and a row of logits in DRAM."""
    llama = Llama(MODEL)
    transformer = Transformer(llama, chip.grid, has_trace=False)
    yield from transformer.load()
    yield PhaseStep("decode")
    for token in count():
        yield from (step for step in transformer.decode_token() if not isinstance(step, Beat))
        logits = llama.logits_pieces * TILE_SIDE * 512
        yield from made(
            spread(f"hidden.{token}", llama.hidden_width),
            Tensor(f"logits.{token}", (1, 1, TILE_SIDE, logits), F16, ROW_MAJOR),
        )
        yield Beat(2 * STEP_SECONDS, is_round=True)


def oom_fragmented(chip: Chip) -> Iterator[Step]:
    """Fills DRAM with requests that stay between requests that go: plenty is free, in fragments."""
    step = chip.architecture.dram_alignment
    bank_bytes, free_bytes, fragment_bytes = (
        size_bytes // step * step for size_bytes in (chip.dram_bank_bytes, FREE_BYTES, FRAGMENT_BYTES)
    )
    fragment_count, rest = divmod(free_bytes, fragment_bytes)
    long_count = fragment_count + 1
    long_bytes = (bank_bytes - free_bytes) // long_count // step * step
    last_bytes = bank_bytes - free_bytes - long_bytes * (long_count - 1)
    yield PhaseStep("serve")
    for number in range(long_count):
        yield from made(
            _rows(chip, f"short.{number}", fragment_bytes if number < fragment_count else rest),
            _rows(chip, f"long.{number}", long_bytes if number < fragment_count else last_bytes),
        )
        yield Beat(STEP_SECONDS / 2, is_round=True)
    for number in range(long_count):
        yield from freed(f"short.{number}")
        yield Beat(STEP_SECONDS / 2, is_round=True)
    yield PhaseStep("large request")
    yield from made(Tensor("gate", REFUSED_SHAPE, F16))


def cb_clash(chip: Chip) -> Iterator[Step]:
    """Runs a cached program repeatedly while L1 buffers pile up from above, down into its circular buffers."""
    matmul = op.matmul_prefill("w1", 1024, 4096, 14336, dtypes=(F16, F4, F8), grid=chip.grid)
    yield PhaseStep("run")
    for number in count():
        yield from apply(matmul, Tensor("gate", (1, 1, 1024, 14336), F8), frees=("gate",))
        yield Beat(STEP_SECONDS)
        yield from made(Tensor(f"held.{number}", (1, 1, 1024, 1024), F16, TensorPlace(BufferType.L1)))
        yield Beat(STEP_SECONDS, is_round=True)


def cache_growth(chip: Chip) -> Iterator[Step]:
    """Meets a new length of prompt every time: programs for it are built, and the program cache forgets none."""
    width = 4096
    yield PhaseStep("serve")
    yield from made(Tensor("weights", (1, 1, width, width), F8))
    for number in count(1):
        yield from _layer(TILE_SIDE * number, width, chip)
        yield Beat(STEP_SECONDS, is_round=True)


def unsafe_trace(chip: Chip) -> Iterator[Step]:
    """Captures a layer as a trace; later each request gets a cache where intermediates of the layer were."""
    rows, width = 1024, 4096
    yield PhaseStep("load")
    yield from made(Tensor("weights", (1, 1, width, width), F8), Tensor("out", (1, 1, rows, width), F16))
    yield PhaseStep("compile")
    yield from _layer(rows, width, chip)
    has_trace = chip.dispatch is not DispatchCores.SLOW
    if has_trace:
        yield PhaseStep("capture")
        yield begun("layer")
        yield from _layer(rows, width, chip)
        yield EndTrace("layer")
    yield PhaseStep("serve")
    for number in count():
        if number >= 2:  # the first requests need none
            yield from made(Tensor(f"cache.{number}", (1, 1, TILE_SIDE, width), F16))
        yield from (Replay("layer"),) if has_trace else _layer(rows, width, chip)
        yield Beat(STEP_SECONDS, is_round=True)


def _layer(rows: int, width: int, chip: Chip) -> Iterator[Step]:
    """One layer: what it makes on the way is freed, its answer goes to a tensor that stays."""
    core_count = chip.l1_bank_count
    x, normed, y = (Tensor(name, (1, 1, rows, width), F16) for name in ("x", "normed", "y"))
    matmul = op.matmul_prefill("wo", rows, width, width, dtypes=(F16, F8, F16), grid=chip.grid)
    yield from apply(op.embedding(rows, width, core_count=core_count), x)
    yield from apply(op.norm_prefill(rows, width, core_count=core_count), normed)
    yield from apply(matmul, y, frees=("normed",))
    yield from apply(op.add("add", rows, width, dtypes=(F16, F16, F16), core_count=core_count), frees=("x", "y"))


def killed_midway(chip: Chip) -> Iterator[Step]:
    """Serves a model and is killed in the middle of a layer of its second token, with everything still allocated."""
    transformer = Transformer(Llama(MODEL), chip.grid, has_trace=chip.dispatch is not DispatchCores.SLOW)
    token_beats = 0
    is_decoding = False
    for step in transformer.steps():
        yield step
        is_decoding = is_decoding or step == PhaseStep("decode")
        if is_decoding and isinstance(step, Beat):
            token_beats += 1
        if token_beats > transformer.llama.layer_count * 3 // 2 and isinstance(step, Run):
            yield Kill()


def _rows(chip: Chip, name: str, per_bank_bytes: int) -> Tensor:
    """A tensor that takes exactly this size of every bank: as many rows as there are banks."""
    return Tensor(name, (chip.dram_bank_count, per_bank_bytes // 4), "uint32", ROW_MAJOR)
