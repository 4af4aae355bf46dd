"""Buffers whose direction the caller chooses, which the runtime's Python does not offer: its C++, called by name.

Runs inside the process of the stock runtime. Names and offsets are those of the pinned release:

    create(result*, what*, how*, mesh*, no address)      how:  0 page bytes   8 type   16 sharding (8 bytes)
    what: bytes on each chip, then zeros                      24 bottom up   25 whether that is said

An exception may not pass through here, so nothing may be asked for that does not fit.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MESH = "_ZN2tt8tt_metal11distributed10Mesh"
_CREATE = (
    f"{_MESH}Buffer6createERKSt7variantIJNS1_22ReplicatedBufferConfigENS1_19ShardedBufferConfigEEE"
    "RKNS1_23DeviceLocalBufferConfigEPNS1_10MeshDeviceESt8optionalImE"
)
_DEALLOCATE = f"{_MESH}Buffer10deallocateEv"
_NO_SHARDING = "_ZN2tt8tt_metal18BufferShardingArgsC1Ev"
_MESH_TABLE = "_ZTVN2tt8tt_metal11distributed10MeshDeviceE"
_BLOCK_BYTES = 512  # larger than any of the structures
_POINTER = ctypes.c_void_p
_DRAM = 0


@dataclass(frozen=True, slots=True)
class DirectedBuffer:
    """A buffer of the runtime, held by the two words of a shared pointer."""

    holder: Any

    @property
    def object_address(self) -> int:
        return ctypes.c_uint64.from_buffer(self.holder).value

    @property
    def address(self) -> int:
        """Where it lies on the device: the fourteenth word of a MeshBuffer."""
        return ctypes.c_uint64.from_address(self.object_address + 13 * 8).value


class DirectedBuffers:
    """Makes buffers on one mesh; they live until they are freed."""

    def __init__(self, library: Path, mesh: Any, live_buffers: Callable[[Any], list[Any]]) -> None:
        functions = ctypes.CDLL(str(library))
        self._create = getattr(functions, _CREATE)
        self._create.argtypes = [_POINTER, _POINTER, _POINTER, _POINTER, ctypes.c_uint64, ctypes.c_uint64]
        self._deallocate = getattr(functions, _DEALLOCATE)
        self._deallocate.argtypes = [_POINTER]
        self._no_sharding = getattr(functions, _NO_SHARDING)
        self._no_sharding.argtypes = [_POINTER]
        self._mesh = _mesh_address(functions, mesh)
        probe = self.create(64, 64, _DRAM, False)
        assert [buffer.address for buffer in live_buffers(mesh)] == [probe.address], "addresses lie elsewhere"
        self.free(probe)

    def create(self, size_bytes: int, page_bytes: int, buffer_type: int, is_bottom_up: bool | None) -> DirectedBuffer:
        """An interleaved buffer."""
        result = ctypes.create_string_buffer(16)
        what, how = self._described(size_bytes, page_bytes, buffer_type)
        if is_bottom_up is not None:
            how[24], how[25] = bytes([is_bottom_up]), b"\x01"
        self._create(ctypes.addressof(result), ctypes.addressof(what), ctypes.addressof(how), self._mesh, 0, 0)
        return DirectedBuffer(result)

    def call_of(self, size_bytes: int, page_bytes: int, buffer_type: int) -> tuple[Any, Any, Any, int]:
        """For whoever calls it from C: the function that creates, what and how it is to be, the mesh."""
        return (self._create, *self._described(size_bytes, page_bytes, buffer_type), self._mesh)

    def _described(self, size_bytes: int, page_bytes: int, buffer_type: int) -> tuple[Any, Any]:
        what, how = ctypes.create_string_buffer(_BLOCK_BYTES), ctypes.create_string_buffer(_BLOCK_BYTES)
        ctypes.c_uint64.from_buffer(what).value = size_bytes
        ctypes.c_uint64.from_buffer(how).value = page_bytes
        ctypes.c_int32.from_buffer(how, 8).value = buffer_type
        self._no_sharding(ctypes.addressof(how) + 16)
        return what, how

    def free(self, buffer: DirectedBuffer) -> None:
        self._deallocate(buffer.object_address)


def _mesh_address(functions: ctypes.CDLL, mesh: Any) -> int:
    """Where the C++ object behind a Python one lies: nanobind keeps the offset of its pointer in the third word."""
    offset = ctypes.c_int32.from_address(id(mesh) + 16).value
    address = ctypes.c_uint64.from_address(id(mesh) + offset).value
    table = ctypes.addressof(ctypes.c_char.in_dll(functions, _MESH_TABLE)) + 16
    assert ctypes.c_uint64.from_address(address).value == table, "this is no MeshDevice"
    return address
