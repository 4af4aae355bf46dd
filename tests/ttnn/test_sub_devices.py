"""Sub-devices with L1 of their own: the model against the stock runtime, every address, view and refusal."""

from collections import Counter
from random import Random

import pytest

from tests.support.ttnn.model_memory import Answer, Model, Step, differences
from tests.support.ttnn.runtime import StartedRuntime
from tests.support.ttnn.sub_devices import KIB, compiled, loaded, on
from ttmem.metal import CoreRanges
from ttmem.metal.chips import board
from ttmem.metal.memory import MetalError

STEP_COUNT = 500
OPENINGS = [
    ("n150", (1, 1), 32768, ("0,0-3,3", "4,0-7,3"), 262144),
    ("n300", (1, 2), 0, ("0,0-0,6", "1,0-7,2", "1,3-5,6"), 100_001),
    ("p150", (1, 1), 0, ("0,0-4,4", "5,0-9,9"), 700_000),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("sub-devices"))


def steps_on(cores: tuple[str, ...], whole: str, seed: int) -> list[Step]:
    """Each sub-device and the mesh are asked for more than they have."""
    random = Random(seed)
    steps: list[Step] = []
    alive: list[int] = []
    for number in range(STEP_COUNT):
        if alive and random.random() < 0.4:
            steps.append({"op": "free", "type": "L1", "id": alive.pop(random.randrange(len(alive)))})
            continue
        which = random.randrange(len(cores) + 1)
        size = random.choice([32, 1000, 4 * KIB, 30 * KIB, 90 * KIB, 300 * KIB])
        steps.append(on(whole, number, size) if which == len(cores) else on(cores[which], number, size, which))
        alive.append(number)
    return steps


def without_reserved(answer: Answer) -> Answer:
    return {word: value for word, value in answer.items() if word != "reserved"}


@pytest.mark.parametrize(("name", "mesh", "l1_small", "cores", "local_bytes"), OPENINGS, ids=lambda one: str(one))
def test_every_answer_on_sub_devices_is_the_runtimes(
    name: str,
    mesh: tuple[int, int],
    l1_small: int,
    cores: tuple[str, ...],
    local_bytes: int,
    runtime_of: StartedRuntime,
    library: str,
) -> None:
    chip = board(name).chip(l1_small_bytes=l1_small)
    whole = f"0,0-{chip.grid[0] - 1},{chip.grid[1] - 1}"
    model = Model(chip, chip_count=mesh[0] * mesh[1])
    runtime = runtime_of(name, beside=library)
    with runtime.opened(mesh, l1_small=l1_small):
        for seed in (1, 2):
            steps = steps_on(cores, whole, seed)
            assert runtime.ask(loaded(*cores, local_bytes=local_bytes)) == {}
            model.allocator.load_sub_devices([CoreRanges.parse(one) for one in cores], local_bytes)
            last = [{"op": "free", "type": "L1", "id": number} for number in range(STEP_COUNT)]
            answers = runtime.steps([*steps, *last])
            different = differences(
                [*steps, *last], answers, map(without_reserved, model.steps([*steps, *last], answers))
            )
            assert not different, "\n".join(different[:5])
            said = Counter(
                (step.get("sub_device"), "refused" in answer)
                for step, answer in zip(steps, answers, strict=False)
                if step["op"] == "alloc"
            )
            assert all(
                said[which, was_refused] for which in (None, *range(len(cores))) for was_refused in (False, True)
            )
            assert runtime.ask(loaded()) == {}
            model.allocator.clear_sub_devices()
        [answer] = runtime.steps([on(whole, 1, 32)])
        assert answer == without_reserved(model.steps([on(whole, 1, 32)], [answer])[0])


def refused(model: Model, cores: list[str], local_bytes: int) -> str:
    try:
        model.allocator.load_sub_devices([CoreRanges.parse(one) for one in cores], local_bytes)
    except MetalError as refusal:
        return str(refusal)
    return ""


def test_what_cannot_be_loaded_or_ended_is_refused_in_the_runtimes_words(
    runtime_of: StartedRuntime, library: str
) -> None:
    chip, cores = board("n150").chip(), ["0,0-3,3", "4,0-7,3"]
    model, runtime = Model(chip), runtime_of("n150", beside=library)
    with runtime.opened():
        assert runtime.ask(loaded(*cores, local_bytes=2_000_000))["refused"] == refused(model, cores, 2_000_000)
        for step in (on("0,0-7,6", 1, 1200 * KIB), {"op": "free", "type": "L1", "id": 1}):
            model.steps([step], runtime.steps([step]))
            if step["op"] == "alloc":
                assert runtime.ask(loaded(*cores))["refused"] == refused(model, cores, 262144)
        runtime.ask(loaded(*cores))
        assert not refused(model, cores, 262144)
        steps = [on(cores[0], 2, 32, 0), on(cores[0], 3, 32, 5)]
        answers = runtime.steps(steps)
        assert list(map(without_reserved, model.steps(steps, answers))) == answers
        assert runtime.ask(loaded())["refused"] == refused(model, [], 0)
        runtime.steps([{"op": "free", "type": "L1", "id": 2}])
        runtime.ask(loaded())


def test_without_l1_of_their_own_they_give_nothing(runtime_of: StartedRuntime, library: str) -> None:
    cores = ["0,0-3,3", "4,0-7,3"]
    model, runtime = Model(board("n150").chip()), runtime_of("n150", beside=library)
    steps = [on(cores[0], 1, 32, 0), on(cores[1], 2, 32, 1), on("0,0-7,6", 3, 32)]
    with runtime.opened():
        for is_loaded in (False, True):
            if is_loaded:
                assert runtime.ask(loaded(*cores, local_bytes=0)) == {}
                assert not refused(model, cores, 0)
            answers = runtime.steps(steps)
            assert list(map(without_reserved, model.steps(steps, answers))) == answers
            assert "refused" in answers[1]
            last = [{"op": "free", "type": "L1", "id": step["id"]} for step in steps]
            model.steps(last, runtime.steps(last))
        runtime.ask(loaded())
