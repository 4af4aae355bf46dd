"""Any stream of messages, cut anywhere, gives the model's figures; any noise harms nobody else."""

import os
from itertools import pairwise

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from tests.server_protocol.conftest import ClientMaker
from tests.support.server.server_bytes import COUNTERS, SIZES, Message, Type, alloc, query, stream, unpacked
from tests.support.server.server_figures import of_model
from tests.support.server.server_model import ServerModel, answers
from tests.support.server.server_serving import Engine, an_engine

DEVICES = (0, 1, 9, 64, 9999, -1)
US = os.getpid()
# A failing stream is not made smaller: every try is a server of its own, and a test has ten seconds.
calm = settings(
    deadline=None, max_examples=40, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)

sizes = some.sampled_from((0, 1, 100, 4096, 917_504, 1 << 33, (1 << 42) + 1, (1 << 64) - 1))
any_message = some.builds(
    Message,
    type=some.sampled_from(tuple(Type)),
    device=some.sampled_from(DEVICES),
    size=sizes,
    kind=some.integers(0, 5),
    id=some.integers(0, 5),
    pid=some.just(US),
    timestamp=some.sampled_from((0, 1, (1 << 64) - 1)),
)


@calm
@given(
    messages=some.lists(any_message, min_size=1, max_size=60),
    message_bytes=some.sampled_from(SIZES),
    cuts=some.lists(some.floats(0, 1, exclude_max=True), max_size=12),
)
def test_a_stream_cut_at_random_places_gives_the_models_figures(
    messages: list[Message], message_bytes: int, cuts: list[float]
) -> None:
    model = ServerModel().apply_all(US, messages)
    data = stream([alloc(77, 1), free_of_it, *messages], message_bytes)
    places = sorted({0, len(data), *(int(cut * len(data)) for cut in cuts)})
    with an_engine() as engine, engine.line(message_bytes) as line:
        for begin, end in pairwise(places):
            line.say_bytes(data[begin:end])
        assert len(line.hear(answers(messages) * message_bytes)) == answers(messages) * message_bytes
        _ask_every_device(line.ask, model)
        _rows_are_the_models(engine, model)


free_of_it = Message(Type.FREE, id=77)


def _ask_every_device(ask: object, model: ServerModel) -> None:
    assert callable(ask)
    for device in DEVICES:
        answer = ask(query(device))
        told = {name: answer[f"{name}_allocated"] for name in COUNTERS if f"{name}_allocated" in answer}
        expected = model.counters(device)
        assert told == {name: expected[name] for name in told}


def _rows_are_the_models(engine: Engine, model: ServerModel) -> None:
    expected = of_model(model)
    seen = engine.figures_of(US)
    assert (seen.used, seen.counts, seen.kernels) == (expected.used, expected.counts, expected.kernels)
    assert engine.figures() == expected
    findings = engine.findings(US)
    bad_frees = [findings.get(name, 0) for name in ("unknown_free", "double_free", "wrong_target_free")]
    assert sum(bad_frees) == model.findings["unknown_free"]
    for name in ("replaced", "shrunk_kernel"):
        assert findings.get(name, 0) == model.findings[name], name
    assert ("unknown_type" in findings) == bool(model.findings["unknown_type"])


@calm
@given(messages=some.lists(any_message, min_size=2, max_size=60), parts=some.integers(2, 5), data=some.data())
def test_a_process_with_several_connections_is_one_process(
    messages: list[Message], parts: int, data: some.DataObject
) -> None:
    """Each of its messages is answered before the next goes out on another line, so there is one order."""
    model = ServerModel().apply_all(US, messages)
    with an_engine() as engine:
        lines = [engine.line(SIZES[number % 4]) for number in range(parts)]
        try:
            lines[0].say(alloc(77, 1), free_of_it)
            lines[0].counters()
            for message in messages:
                line = data.draw(some.sampled_from(lines))
                line.say(message, query())
                count = answers([message]) + 1
                assert len(line.hear(count * line.message_bytes)) == count * line.message_bytes
            _rows_are_the_models(engine, model)
        finally:
            for line in lines:
                line.close()


@calm
@given(noise=some.lists(some.binary(min_size=1, max_size=400), min_size=1, max_size=5))
def test_any_noise_of_another_process_changes_none_of_our_figures(client_of: ClientMaker, noise: list[bytes]) -> None:
    with an_engine() as engine:
        stranger = client_of(engine)
        stranger.tell("endure")
        with engine.line() as line:
            line.say(alloc(1, 4096), alloc(2, 100, kind=1))
            for part in noise:
                stranger.begin(f"raw {part.hex()}")
                stranger.process.stdout.readline()  # type: ignore[union-attr]
            stranger.tell("close")
            line.say(alloc(3, 1), query())
            assert unpacked(line.hear())["dram_allocated"] >= 4097
            assert engine.figures_of(US).used == {("server:0", "dram"): 4097, ("server:0", "l1"): 100}
        stranger.end()
