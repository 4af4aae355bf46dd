"""How the server learns which of the four sizes a connection speaks, when nothing in the bytes says so."""

import random

import pytest

from tests.support.server.server_bytes import (
    SIZES,
    Message,
    alloc,
    cb_alloc,
    free,
    kernel_load,
    query,
    stream,
    unpacked,
)
from tests.support.server.server_lines import Line
from tests.support.server.server_model import ServerModel
from tests.support.server.server_serving import Engine
from tests.support.timing.waiting import wait_until

every_size = pytest.mark.parametrize("message_bytes", SIZES)


def trickle(engine: Engine, line: Line, data: bytes, piece_bytes: int = 1) -> None:
    """Sends a little, waits until the server has read it, sends a little more."""
    for at in range(0, len(data), piece_bytes):
        line.say_bytes(data[at : at + piece_bytes])
        sent = at + len(data[at : at + piece_bytes])
        wait_until(lambda sent=sent: engine.statistics()["bytes"] >= sent)  # type: ignore[misc]


@every_size
def test_a_first_read_of_a_fraction_of_a_message_is_waited_for(engine: Engine, message_bytes: int) -> None:
    first, second = alloc(1, 1000), alloc(2, 500)
    with engine.line(message_bytes) as line:
        trickle(engine, line, stream([first, second], message_bytes), piece_bytes=7)

        assert line.counters()["dram"] == 1500


@every_size
def test_bytes_that_are_read_one_at_a_time_are_understood(engine: Engine, message_bytes: int) -> None:
    with engine.line(message_bytes) as line:
        trickle(engine, line, stream([alloc(1, 1000), alloc(2, 500)], message_bytes))
        trickle_query = query().to_bytes(message_bytes)
        for byte in trickle_query:
            line.say_bytes(bytes([byte]))

        assert unpacked(line.hear())["dram_allocated"] == 1500


@every_size
def test_a_message_counts_as_soon_as_its_header_is_there(engine: Engine, message_bytes: int) -> None:
    with engine.line(message_bytes) as line, engine.line() as monitor:
        line.say_bytes(alloc(1, 1000).to_bytes(message_bytes)[:40])

        wait_until(lambda: monitor.counters()["dram"] == 1000)


@every_size
@pytest.mark.parametrize("count", [2, 1000, 20_000])
def test_a_burst_in_one_send_is_cut_right_from_its_first_byte(engine: Engine, message_bytes: int, count: int) -> None:
    with engine.line(message_bytes) as line:
        line.say(*(alloc(id, 3) for id in range(count)))

        assert line.counters()["dram"] == 3 * count
    assert engine.figures().counts == {("server:0", "dram"): count}


@every_size
def test_a_lone_question_is_answered_in_its_own_size_after_a_silence(engine: Engine, message_bytes: int) -> None:
    with engine.line(message_bytes) as line:
        line.say(query(3))

        assert len(line.hear()) == message_bytes
        assert line.hear(1, seconds=0.05) == b""


@every_size
def test_a_lone_question_before_a_half_close_is_answered_in_its_own_size(engine: Engine, message_bytes: int) -> None:
    with engine.line(message_bytes) as line:
        line.say(query(3))
        line.socket.shutdown(1)

        assert unpacked(line.hear())["device_id"] == 3
        assert line.is_hung_up()


@every_size
def test_questions_one_by_one_are_each_answered_in_the_same_size(engine: Engine, message_bytes: int) -> None:
    with engine.line(message_bytes) as line:
        for device in range(20):
            assert line.counters(device)["dram"] == 0
        assert line.hear(1, seconds=0.05) == b""


@every_size
def test_a_question_after_one_report_is_answered_in_the_right_size(engine: Engine, message_bytes: int) -> None:
    with engine.line(message_bytes) as line:
        line.say(alloc(1, 77, kind=1))

        assert line.counters()["l1"] == 77


@every_size
def test_a_question_that_follows_a_pause_after_one_report_is_answered(engine: Engine, message_bytes: int) -> None:
    with engine.line(message_bytes) as line, engine.line() as monitor:
        line.say(alloc(1, 77, kind=1))
        wait_until(lambda: monitor.counters()["l1"] == 77)
        wait_until(lambda: engine.statistics()["bytes"] >= message_bytes)

        assert line.counters()["l1"] == 77


@every_size
def test_many_questions_in_one_send_are_all_answered_in_order(engine: Engine, message_bytes: int) -> None:
    with engine.line(message_bytes) as line:
        line.say(*(query(device) for device in range(50)))
        heard = line.hear(50 * message_bytes)

    replies = [heard[at : at + message_bytes] for at in range(0, len(heard), message_bytes)]
    assert [unpacked(reply)["device_id"] for reply in replies] == list(range(50))


def test_four_sizes_on_many_connections_at_once_do_not_disturb_each_other(engine: Engine) -> None:
    model = ServerModel()
    lines = [engine.line(SIZES[number % 4]) for number in range(40)]
    try:
        for round_number in range(25):
            for number, line in enumerate(lines):
                said = _a_little_of_everything(1000 * number + round_number)
                line.say(*said)
                model.apply_all("us", said)
        for line in lines:
            expected = model.counters(0)
            assert {name: expected[name] for name in line.counters()} == line.counters()
    finally:
        for line in lines:
            line.close()
    assert engine.figures().used == model.used()


def _a_little_of_everything(id: int) -> list[Message]:
    return [
        alloc(id, 100, kind=id % 6),
        cb_alloc(id, 10),
        kernel_load(id, 1, kind=id % 4),
        alloc(id + 500, 7),
        free(id + 500),
    ]


@every_size
def test_a_monitor_that_sends_the_last_answer_back_as_its_next_question_is_answered(
    engine: Engine, message_bytes: int
) -> None:
    """Its tail holds the counters it was told; the stride is known by then."""
    with engine.line(message_bytes) as line:
        line.say(alloc(1, 0x0101_0101), alloc(2, 0x0303_0303, kind=1))
        heard = b""
        for _ in range(3):
            question = bytearray(heard or bytes(message_bytes))
            question[0] = 3
            line.say_bytes(bytes(question))
            heard = line.hear()
            assert unpacked(heard)["dram_allocated"] == 0x0101_0101


def dirty(messages: list[Message], message_bytes: int, rng: random.Random) -> bytes:
    """Messages whose sender did not clear what a request does not use."""
    return b"".join(message.to_bytes(message_bytes)[:40] + rng.randbytes(message_bytes - 40) for message in messages)


@every_size
@pytest.mark.parametrize("seed", range(12))
def test_tails_that_are_not_zero_are_distinguished_from_messages(engine: Engine, message_bytes: int, seed: int) -> None:
    said = [alloc(id, 1000) for id in range(1, 9)]
    with engine.line(message_bytes) as line:
        line.say_bytes(dirty(said, message_bytes, random.Random(seed)))
        line.say(query())

        assert unpacked(line.hear())["dram_allocated"] == 8000


@every_size
def test_tails_that_are_not_zero_and_come_one_message_at_a_time_are_understood(
    engine: Engine, message_bytes: int
) -> None:
    rng = random.Random(7)
    sent = 0
    with engine.line(message_bytes) as line:
        for id in range(1, 9):
            line.say_bytes(dirty([alloc(id, 1000)], message_bytes, rng))
            sent += message_bytes
            wait_until(lambda sent=sent: engine.statistics()["bytes"] >= sent)  # type: ignore[misc]
        line.say(query())

        assert unpacked(line.hear())["dram_allocated"] == 8000


@every_size
def test_tails_with_one_full_byte_anywhere_are_understood(engine: Engine, message_bytes: int) -> None:
    """But where a smaller message would begin: there a full byte is the sign of one, by the rule."""
    places = [at for at in range(40, message_bytes) if at not in SIZES]
    for round_number, at in enumerate(places, 1):
        with engine.line(message_bytes) as line:
            for id in range(8):
                message = bytearray(alloc(1000 * at + id, 1).to_bytes(message_bytes))
                message[at] = 1
                line.say_bytes(bytes(message))
            line.say(query())
            assert unpacked(line.hear())["dram_allocated"] == 8 * round_number, f"a full byte at {at}"


@every_size
@pytest.mark.parametrize("pieces", [1, 2])
def test_a_report_and_a_question_with_full_tails_are_answered(engine: Engine, message_bytes: int, pieces: int) -> None:
    """Structs that nobody cleared: two messages do not tell their size by themselves, but silence after them does."""
    tails = random.Random(message_bytes)
    said = [
        message.to_bytes(message_bytes)[:40] + bytes(tails.randrange(128, 256) for _ in range(message_bytes - 40))
        for message in (alloc(1, 1000), query())
    ]
    with engine.line(message_bytes) as line:
        for piece in said if pieces == 2 else [b"".join(said)]:
            line.say_bytes(piece)

        answer = unpacked(line.hear())
        assert answer["dram_allocated"] == 1000
        line.say(alloc(2, 500))
        assert line.counters()["dram"] == 1500
