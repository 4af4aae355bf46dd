"""As much of protobuf's wire format as traces need: numbers and texts, each behind its field's number.

message    field << 3 | form, value, repeated; forms: 0 a number as a varint, 2 bytes behind their length
varint     seven bits in each byte, the lowest first; the highest bit says that more follow
"""

__all__ = ["data", "number", "text"]

_NUMBER, _BYTES = 0, 2


def varint(value: int) -> bytes:
    """A number; one below 0 as the 64 bits of its complement."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def number(field: int, value: int) -> bytes:
    """A field that is a number."""
    return varint(field << 3 | _NUMBER) + varint(value)


def data(field: int, *parts: bytes) -> bytes:
    """A field that is bytes, or another message of these parts."""
    value = b"".join(parts)
    return varint(field << 3 | _BYTES) + varint(len(value)) + value


def text(field: int, value: str) -> bytes:
    """A field that is a text."""
    return data(field, value.encode("utf-8", "replace"))
