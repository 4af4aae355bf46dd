"""The conversations of the golden files, and what wrote them: `python -m tests.server_protocol.vectors.conversation`.

One conversation in each of the four message sizes. A line that begins with `>` goes to the server, one with `<` must
come back, byte for byte; everything is packed with the documented offsets, nothing with the product's own code. The
server of these files has 4 device nodes and has heard nothing before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.server.server_bytes import QUESTIONS, SIZES, Message, Type, packed, response
from tests.support.server.server_model import ServerModel

HERE = Path(__file__).parent
DEVICE_NODES = 4
PID = 4242
NOON_NS = 1_700_000_000_000_000_000
NOBODYS_DEVICE = 7777
FABRIC_BYTES, DISPATCH_BYTES, APPLICATION_BYTES = 57_344 * 16, 47_104 * 2, 100 * 1024 * 80


@dataclass(frozen=True)
class Step:
    """One message of a golden file."""

    comment: str
    to_server: bytes
    from_server: bytes


def said(type: Type, device: int = 0, **values: int) -> Message:
    return Message(type, device, pid=PID, timestamp=NOON_NS, **values)


def messages() -> Iterator[tuple[str, Message]]:
    """All twelve types; what is allocated is asked for, freed, and asked for again."""
    yield "a lone question, first of all", said(Type.QUERY)
    for kind, name in enumerate(("dram", "l1", "host", "l1_small", "trace", "a type nobody knows")):
        yield f"{1 << kind} B of {name}", said(Type.ALLOC, size=1 << kind, kind=kind, id=0x1000 + kind)
    yield "host memory and unknown types are in no counter", said(Type.QUERY)
    yield "a circular buffer", said(Type.CB_ALLOC, size=4096, id=0x9000)
    yield "fabric: 57,344 B x 16 cores", said(Type.KERNEL_LOAD, size=FABRIC_BYTES, kind=1, id=11)
    yield "dispatch: 47,104 B x 2 cores", said(Type.KERNEL_LOAD, size=DISPATCH_BYTES, kind=2, id=12)
    yield "application: 100 KB x 80 cores", said(Type.KERNEL_LOAD, size=APPLICATION_BYTES, kind=0, id=13)
    yield "a kernel of a type nobody knows", said(Type.KERNEL_LOAD, size=1000, kind=9, id=14)
    yield "kernels of all types are one counter", said(Type.QUERY)
    yield "the same id on another device", said(Type.ALLOC, 1, size=1 << 40, kind=0, id=0x1000)
    yield "the other device", said(Type.QUERY, 1)
    yield "a device nobody spoke of", said(Type.QUERY, NOBODYS_DEVICE)
    yield "once more the same buffer: a second holder", said(Type.ALLOC, size=1, kind=0, id=0x1000)
    yield "one holder gives it back", said(Type.FREE, id=0x1000)
    yield "it is still there", said(Type.QUERY)
    yield "the last holder gives it back", said(Type.FREE, id=0x1000)
    yield "nobody holds this", said(Type.FREE, id=0xDEAD)
    yield "a circular buffer, freed with its size", said(Type.CB_FREE, size=4096, id=0x9000)
    yield "a circular buffer nobody holds", said(Type.CB_FREE, size=4096, id=0x9000)
    yield "a kernel, unloaded without its size", said(Type.KERNEL_UNLOAD, id=11)
    yield "a kernel, unloaded with its size", said(Type.KERNEL_UNLOAD, size=DISPATCH_BYTES, id=12)
    yield "what is left", said(Type.QUERY)
    yield "the dump goes to the server's log", said(Type.DUMP_REMAINING)
    yield "the kernel dump, too", said(Type.DUMP_KERNELS)
    yield "only a server says this: passed over", said(Type.RESPONSE, size=1, id=0x1001)
    yield "this, too", said(Type.DEVICE_INFO_RESPONSE, size=1, id=0x1001)
    yield "how many devices are there", said(Type.DEVICE_INFO_QUERY, -1)
    yield "a device nobody knows: zeros, no error", said(Type.DEVICE_INFO_QUERY, NOBODYS_DEVICE)
    yield "a counter of device -1 is nobody's", said(Type.QUERY, -1)
    yield "and the end", said(Type.QUERY)


def conversation(message_bytes: int) -> list[Step]:
    model = ServerModel()
    steps = []
    for comment, message in messages():
        model.apply("client", message)
        steps.append(Step(comment, message.to_bytes_by_the_table(message_bytes), _reply(model, message, message_bytes)))
    return steps


def _reply(model: ServerModel, message: Message, message_bytes: int) -> bytes:
    if message.type == Type.QUERY:
        return response(message_bytes, message.device, model.counters(message.device))
    if message.type == Type.DEVICE_INFO_QUERY:
        count = {"num_devices": DEVICE_NODES, "is_available": 1} if message.device == -1 else {}
        return packed(message_bytes, type=Type.DEVICE_INFO_RESPONSE, device_id=message.device, **count)
    assert message.type not in QUESTIONS
    return b""


def written(message_bytes: int) -> str:
    """A golden file's text."""
    lines = [
        f"# A conversation in messages of {message_bytes} bytes. > to the server, < from it, # what it is about.",
        "# Eight bytes in a group: the first five groups are the header, alike in all sizes.",
    ]
    for step in conversation(message_bytes):
        lines += ["", f"# {Type(step.to_server[0]).name}: {step.comment}", f"> {step.to_server.hex(' ', 8)}"]
        lines += [f"< {step.from_server.hex(' ', 8)}"] if step.from_server else []
    return "\n".join(lines) + "\n"


def read(message_bytes: int) -> list[Step]:
    """The golden file of one size."""
    steps: list[Step] = []
    comment = ""
    for line in golden(message_bytes).read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "#":
            comment = rest
        elif mark == ">":
            steps.append(Step(comment, bytes.fromhex(rest), b""))
        elif mark == "<":
            steps[-1] = Step(comment, steps[-1].to_server, bytes.fromhex(rest))
    return steps


def golden(message_bytes: int) -> Path:
    return HERE / f"messages_{message_bytes}.txt"


if __name__ == "__main__":
    for size in SIZES:
        golden(size).write_text(written(size), encoding="utf-8")
