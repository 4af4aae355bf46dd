"""The operation of every program that the stock runtime launches, by name, read from the journal."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.support.hooked.operations import operations
from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.runtime import has_compiler
from tests.support.ttnn.stock import Stock

pytestmark = pytest.mark.skipif(not has_compiler(), reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc")

ROW_MAJOR = "layout=ttnn.ROW_MAJOR_LAYOUT"
SHARDED = "ttnn.create_sharded_memory_config((1, 1, 64, 64), ttnn.CoreGrid(x=1, y=2), ttnn.ShardStrategy.HEIGHT)"
HEADS = "tensor(1, 4, 64, 64)"
CALLS = {  # each makes programs that none before it made
    "ttnn.add(x, y)": {"BinaryNgDeviceOperation"},
    "ttnn.exp(x)": {"UnaryDeviceOperation"},
    "ttnn.matmul(x, y)": {"MatmulDeviceOperation"},
    "ttnn.softmax(x, dim=-1)": {"SoftmaxDeviceOperation"},
    "ttnn.layer_norm(x)": {"LayerNormDeviceOperation"},
    "ttnn.sum(x, dim=-1)": {"ReduceDeviceOperation", "ReshapeViewDeviceOperation"},
    "ttnn.max(x, dim=-1)": {"ReduceDeviceOperation"},
    "ttnn.transpose(x, 2, 3)": {"TransposeDeviceOperation"},
    "ttnn.concat([x, y], dim=3)": {"ConcatDeviceOperation"},
    "ttnn.slice(x, [0, 0, 0, 0], [1, 1, 32, 32])": {"SliceDeviceOperation"},
    "ttnn.pad(x, [(0, 0), (0, 0), (0, 32), (0, 0)], 0.0)": {"PadDeviceOperation"},
    "ttnn.repeat(x, (1, 2, 1, 1))": {"RepeatCodegenDeviceOperation"},
    "ttnn.typecast(x, ttnn.float32)": {"TypecastDeviceOperation"},
    "ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT)": {"UntilizeCodegenDeviceOperation"},
    "ttnn.to_memory_config(x, ttnn.L1_MEMORY_CONFIG)": {"CopyDeviceOperation"},
    f"ttnn.tilize(tensor(1, 1, 64, 64, {ROW_MAJOR}))": {"TilizeDeviceOperation"},
    f"ttnn.embedding(tensor(1, 32, dtype=ttnn.uint32, {ROW_MAJOR}), tensor(64, 64, {ROW_MAJOR}))": {
        "EmbeddingsDeviceOperation"
    },
    f"ttnn.argmax(tensor(1, 1, 64, 64, {ROW_MAJOR}), dim=-1)": {"ArgMaxDeviceOperation"},
    "ttnn.topk(x, 32)": {"TopKDeviceOperation"},
    "ttnn.where(x, x, y)": {"TernaryDeviceOperation"},
    "ttnn.clone(x)": {"CloneOperation"},
    "ttnn.reshape(x, (1, 1, 32, 128))": {"ReshapeViewDeviceOperation"},
    "ttnn.sort(x)": {"SortDeviceOperation"},
    "ttnn.cumsum(x, dim=3)": {"AccumulationDeviceOperation"},
    f"ttnn.fold(tensor(1, 4, 4, 16, {ROW_MAJOR}), 2, 2)": {"Fold"},
    f"ttnn.upsample(tensor(1, 4, 4, 32, {ROW_MAJOR}), 2)": {"UpsampleOperation"},
    f"ttnn.transformer.scaled_dot_product_attention({HEADS}, {HEADS}, {HEADS}, is_causal=True)": {"SDPAOperation"},
    "ttnn.transformer.concatenate_heads(tensor(1, 4, 64, 32))": {"NLPConcatHeadsDeviceOperation"},
    "ttnn.experimental.nlp_create_qkv_heads(tensor(1, 1, 64, 192), num_heads=4, num_kv_heads=1)": {
        "NlpCreateHeadsDeviceOperation"
    },
    f"ttnn.nonzero(tensor(1, 1, 1, 64, {ROW_MAJOR}))": {"NonZeroIndicesDeviceOperation"},
    "ttnn.moreh_sum(x, dim=3)": {"MorehSumOperation"},
    "ttnn.rand((1, 1, 64, 64), device=x.device())": {"RandDeviceOperation"},
    "ttnn.uniform(x, 0.0, 1.0)": {"UniformDeviceOperation"},
    "ttnn.gather(x, 3, tensor(1, 1, 64, 64, dtype=ttnn.uint32))": {"GatherCodegenDeviceOperation"},
    f"ttnn.interleaved_to_sharded(x, {SHARDED})": {"InterleavedToShardedDeviceOperation"},
    "ttnn.bernoulli(x)": {"BernoulliDeviceOperation"},
}
OLDER = {
    "ttnn.add(x, y)": {"BinaryNgDeviceOperation"},
    "ttnn.exp(x)": {"UnaryDeviceOperation"},
    "ttnn.matmul(x, y)": {"MatmulDeviceOperation"},
    "ttnn.softmax(x, dim=-1)": {"SoftmaxDeviceOperation"},
}


def told_by(hooked: Hooked, calls: dict[str, set[str]]) -> dict[str, set[str]]:
    """Of each call the names of the programs that came with it."""
    told, known = {}, set(operations(hooked.journals, hooked.pid))
    for call in calls:
        assert hooked.ask({"do": "calls", "calls": [call]})["failed"] == {}
        named = operations(hooked.journals, hooked.pid)
        told[call] = {name for program, name in named.items() if program not in known}
        known |= set(named)
    return told


def test_thirty_operations_are_known_by_name(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    with hooked.opened():
        told = told_by(hooked, CALLS)

    assert told == CALLS
    assert len(set().union(*CALLS.values())) >= 30


@pytest.mark.parametrize("release", ["0.80.0", "0.78.0"])
def test_operations_of_older_releases_are_known_by_name(release: str, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", release=release)
    with hooked.opened():
        assert told_by(hooked, OLDER) == OLDER


def test_a_program_on_a_mesh_and_one_of_slow_dispatch_have_names(hooked_of: StartedHooked) -> None:
    for hooked, mesh in ((hooked_of("n300"), (1, 2)), (hooked_of("n150", is_slow=True), (1, 1))):
        with hooked.opened(mesh):
            assert told_by(hooked, {"ttnn.add(x, y)": set()}) == {"ttnn.add(x, y)": {"BinaryNgDeviceOperation"}}


# On made-up chips the Inspector is off. With this it believes to be on, and is told of launches as on a card.
INSPECTOR_ON = """
_Bool _ZN2tt8tt_metal12experimental9inspector9IsEnabledEv(void) { return 1; }
_Bool _ZN2tt8tt_metal12experimental9inspector24ShouldCaptureTensorSpecsEv(void) { return 1; }
"""


@pytest.fixture
def inspected(stock: Stock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hooked]:
    place = tmp_path_factory.mktemp("inspected")
    (place / "inspector.c").write_text(INSPECTOR_ON)
    library = str(place / "inspector.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(place / "inspector.c")], check=True)
    hooked = Hooked.started(stock, place, "n150", beside=library)
    yield hooked
    hooked.stop()


def test_the_runtimes_own_words_to_its_inspector_confirm_the_operation(inspected: Hooked) -> None:
    """They come with each launch, with specifications of tensors, and are handed on; a mark would show a difference."""
    calls = {call: CALLS[call] for call in list(CALLS)[:14]}
    with inspected.opened():
        assert told_by(inspected, calls) == calls
        again = told_by(inspected, calls)

    assert not any(again.values())
