"""The golden conversations, judged by all who read or write the bytes: script, C++, ttmem.wire, server."""

from pathlib import Path

import pytest

from tests.server_protocol.vectors.conversation import DEVICE_NODES, Step, golden, read, written
from tests.server_protocol.vectors.conversation import messages as conversation_messages
from tests.support.server.server_bytes import FIELDS, QUESTIONS, SIZES, Type, unpacked
from tests.support.server.server_clients import a_client
from tests.support.server.server_serving import an_engine
from ttmem import wire

PADS = {"pad1", "pad2", "pad3"}
every_size = pytest.mark.parametrize("message_bytes", SIZES)


def messages(message_bytes: int) -> list[bytes]:
    """Both directions of a conversation."""
    return [part for step in read(message_bytes) for part in (step.to_server, step.from_server) if part]


@every_size
def test_a_golden_file_is_what_its_script_writes(message_bytes: int) -> None:
    assert golden(message_bytes).read_text(encoding="utf-8") == written(message_bytes)


@every_size
def test_a_golden_file_holds_all_twelve_types_and_the_answers_to_both_questions(message_bytes: int) -> None:
    steps = read(message_bytes)

    assert {step.to_server[0] for step in steps} == set(Type)
    assert {len(part) for part in messages(message_bytes)} == {message_bytes}
    for step in steps:
        answer = QUESTIONS.get(Type(step.to_server[0]))
        assert step.from_server[:1] == (bytes([answer]) if answer else b"")


def test_the_offsets_of_a_size_leave_no_byte_out_and_use_none_twice() -> None:
    for message_bytes in SIZES:
        taken = [
            at
            for width, _, offsets in FIELDS.values()
            if message_bytes in offsets
            for at in range(offsets[message_bytes], offsets[message_bytes] + width)
        ]
        assert sorted(taken) == list(range(message_bytes))


@every_size
def test_cpp_structs_of_the_documented_layout_read_the_same_fields(message_bytes: int, program: Path) -> None:
    with a_client(program, Path("/nowhere"), is_on=False) as client:
        for message in messages(message_bytes):
            words = dict(word.split("=") for word in client.tell(f"fields {message.hex()}").split())
            expected = {name: value for name, value in unpacked(message).items() if name not in PADS}
            assert {name: int(value) for name, value in words.items()} == expected


@every_size
def test_ttmem_wire_reads_the_same_fields_and_writes_the_same_bytes(message_bytes: int) -> None:
    for message in messages(message_bytes):
        read_back = wire.Message.unpack(message)
        for name, value in unpacked(message).items():
            assert name in PADS or getattr(read_back, name) == value
        assert read_back.pack(message_bytes) == message


@every_size
def test_ttmem_wire_writes_what_a_client_says_from_its_words(message_bytes: int) -> None:
    for (_, said), step in zip(conversation_messages(), read(message_bytes), strict=True):
        written_again = wire.Message(
            wire.MessageType(said.type),
            device_id=said.device,
            size=said.size,
            buffer_type=said.kind,
            process_id=said.pid,
            buffer_id=said.id,
            timestamp=said.timestamp,
        )
        assert written_again.pack(message_bytes) == said.to_bytes(message_bytes) == step.to_server


def _answers(steps: list[Step]) -> bytes:
    return b"".join(step.from_server for step in steps)


@every_size
def test_the_server_answers_a_conversation_to_the_byte(message_bytes: int) -> None:
    with an_engine(device_nodes=DEVICE_NODES) as engine, engine.line(message_bytes) as line:
        for step in read(message_bytes):
            line.say_bytes(step.to_server)
            assert line.hear(len(step.from_server)).hex(" ", 8) == step.from_server.hex(" ", 8), step.comment
        assert line.hear(1, seconds=0.05) == b""


@every_size
def test_the_server_answers_a_conversation_that_comes_in_one_burst(message_bytes: int) -> None:
    steps = read(message_bytes)
    expected = _answers(steps)
    with an_engine(device_nodes=DEVICE_NODES) as engine, engine.line(message_bytes) as line:
        line.say_bytes(b"".join(step.to_server for step in steps))

        assert line.hear(len(expected)).hex(" ", 8) == expected.hex(" ", 8)
        assert line.hear(1, seconds=0.05) == b""


@every_size
def test_the_server_answers_a_conversation_that_begins_with_reports_and_comes_byte_by_byte(message_bytes: int) -> None:
    steps = read(message_bytes)[1:]
    expected = _answers(steps)
    with an_engine(device_nodes=DEVICE_NODES) as engine, engine.line(message_bytes) as line:
        for at in b"".join(step.to_server for step in steps):
            line.say_bytes(bytes([at]))

        assert line.hear(len(expected)).hex(" ", 8) == expected.hex(" ", 8)
