"""How many bytes elements take, one by one and in tiles of 32 x 32."""

from ttmem.metal.memory.refusals import BadBuffer

__all__ = ["TILE_SIDE", "element_bytes", "tile_bytes"]

TILE_SIDE = 32
TILE_ELEMENTS = TILE_SIDE * TILE_SIDE
ELEMENT_BYTES = {"bfloat16": 2, "float32": 4, "int32": 4, "uint32": 4, "uint16": 2, "uint8": 1}
# Block formats: bits per element, and one byte of exponent that 16 elements share. They exist in tiles only.
BLOCK_ELEMENT_BITS = {"bfloat8_b": 8, "bfloat4_b": 4}
EXPONENT_SHARE = 16


def tile_bytes(dtype: str) -> int:
    """The bytes of one tile."""
    if dtype in BLOCK_ELEMENT_BITS:
        return TILE_ELEMENTS * BLOCK_ELEMENT_BITS[dtype] // 8 + TILE_ELEMENTS // EXPONENT_SHARE
    return TILE_ELEMENTS * element_bytes(dtype)


def element_bytes(dtype: str) -> int:
    """The bytes of one element that stands for itself."""
    if dtype in ELEMENT_BYTES:
        return ELEMENT_BYTES[dtype]
    if dtype in BLOCK_ELEMENT_BITS:
        raise BadBuffer(f"{dtype} exists in tiles only")
    raise BadBuffer(f"no element type {dtype!r}; there are {', '.join([*ELEMENT_BYTES, *BLOCK_ELEMENT_BITS])}")
