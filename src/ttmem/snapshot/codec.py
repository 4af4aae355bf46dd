"""Figures as JSON and back: the only serialisation of answers, of `--json` and of `ttmem -s`.

A reader compares the version before anything else: another one, or bytes that are no such figures, is one sentence.
"""

import re
from functools import cache
from typing import Any, TypeVar

import msgspec

from ttmem.errors import VersionMismatch
from ttmem.snapshot.values import MOST_NUMBER, SCHEMA, clean, decode_hook, encode_hook, schema_hook

__all__ = ["decoded", "decoded_row", "encoded", "json_schema"]

_REMEDY = "both sides must be of one version of ttmem: restart the older one"
# DESIGN 12, "overview encoded <= 2 ms": a number of 16 digits looks like _LONG once digits and what stands before a
# number are made equal, which takes half the time of a search by pattern; without letters a third is left of the text.
_EQUAL = bytes.maketrans(b"123456789,[-", b"000000000:::")
_LETTERS = b"_ abcdefghijklmnopqrstuvwxyz"
_LONG = b":" + b"0" * 16

_VERSION = re.compile(rb'\s*\{\s*"schema"\s*:\s*([0-9]{1,9})\s*[,}]')  # comes first in all that is ours

Figures = TypeVar("Figures")


class _Version(msgspec.Struct):
    schema: int


_encoder = msgspec.json.Encoder(enc_hook=encode_hook)


def encoded(figures: object, *, is_pretty: bool = False) -> bytes:
    """Figures of any kind as JSON: one line, or indented for people.

    Whatever a journal claims: whole numbers are within 2^53, where all readers are exact, and texts are UTF-8.
    """
    try:
        text = _encoder.encode(figures)
    except UnicodeEncodeError:
        text = b""
    if not text or _LONG in text.translate(_EQUAL, _LETTERS):
        text = msgspec.json.encode(_bounded(msgspec.to_builtins(figures, enc_hook=encode_hook)))
    return msgspec.json.format(text, indent=2) if is_pretty else text


def _bounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {_bounded(key): _bounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(inner) for inner in value]
    if type(value) is int:
        return min(max(value, -MOST_NUMBER), MOST_NUMBER)
    return clean(value) if isinstance(value, str) else value


def decoded(text: bytes, kind: type[Figures]) -> Figures:
    """The inverse, for an `Answer`. What is of another version, or no such figures, is a VersionMismatch."""
    first = _VERSION.match(text)
    found = int(first[1]) if first else decoded_row(text, _Version).schema
    if found != SCHEMA:
        raise VersionMismatch(f"expected figures of schema {SCHEMA}, found schema {found}; {_REMEDY}")
    return decoded_row(text, kind)


def decoded_row(text: bytes, kind: type[Figures]) -> Figures:
    """A part of an answer whose version was compared."""
    try:
        found: Figures = _decoder(kind).decode(text)  # type: ignore[arg-type]
        return found
    except msgspec.ValidationError as error:
        raise VersionMismatch(f"expected figures of schema {SCHEMA}, found others ({error}); {_REMEDY}") from None
    except msgspec.DecodeError as error:
        raise VersionMismatch(f"expected figures of schema {SCHEMA}, found no JSON ({error})") from None
    except RecursionError:
        raise VersionMismatch(f"expected figures of schema {SCHEMA}, found JSON that is nested too deep") from None


@cache  # DESIGN 12, "overview decoded <= 4 ms": making a decoder takes longer than decoding
def _decoder(kind: Any) -> Any:
    return msgspec.json.Decoder(kind, dec_hook=decode_hook)


def json_schema(kind: type) -> dict[str, Any]:
    """The JSON Schema of an answer. Every field is written, also one that has its default."""
    schema = msgspec.json.schema(kind, schema_hook=schema_hook)
    for part in schema["$defs"].values():
        if "properties" in part:
            part["required"] = list(part["properties"])
            for field in part["properties"].values():
                field.pop("default", None)
    return schema
