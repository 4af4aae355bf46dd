"""Runs inside the process of the stock runtime: does what it is told, a line of JSON in and a line of JSON out.

    {"do": "open", "mesh": [1, 2], "l1_small": 32768, "trace": 0, "dispatch": null, ...}    the figures of the device
    {"do": "close"}
    {"do": "steps", "steps": [...]}                                                         an answer to each step
    {"do": "blocks"}                                                                        the table of each memory
    {"do": "operation", "name": "add", "side": 512, "mode": "NORMAL"}                       what it lays out in L1
    {"do": "program", "buffers": [...], "last_core": [7, 7]}                                the same
    {"do": "sub_devices", "cores": [[0, 0, 3, 3], ...], "l1": 65536}    loads them, each with L1 of its own; of none the
                                                                        end. Needs `sub_devices.cpp` preloaded

A step is `alloc` (a tensor), `direct` (a buffer with a direction), `free`, or of a trace `begin`, `end`, `release`. Its
answer has the address, or those on each core of each chip, or the words of the refusal, or what the release lacks; and
the figures of its memory afterwards: banks, then per bank size, allocated, free, largest free. A tensor may be
asked of a `sub_device`.
"""

import ctypes
import importlib
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.support.ttnn.launching import Launches, reason
from tests.support.ttnn.scripts.core_sequences import cores_of
from tests.support.ttnn.scripts.directed import DirectedBuffers
from tests.support.ttnn.stock import RELEASE

Request = dict[str, Any]
Answer = dict[str, Any]
MOST_ALIGNMENT = 64  # of a page, whatever the chip
VIEWED = ("DRAM", "L1", "L1_SMALL", "TRACE")
# The call of a memory configuration that asks for a way to allocate; not every release has both.
ALLOCATIONS = {
    "PER_CORE": "experimental_set_per_core_allocation",
    "RANGE_LOCKSTEP": "experimental_set_range_lockstep_allocation",
}


class Driver:
    """The runtime, one opened mesh, and what was allocated on it."""

    def __init__(self) -> None:
        self.ttnn: Any = importlib.import_module("ttnn")
        self.mesh: Any = None
        self.tensors: dict[int, Any] = {}
        self.buffers: dict[int, Any] = {}
        self.traces: dict[int, Any] = {}
        self.directed: DirectedBuffers | None = None
        self.launches: Launches | None = None
        self.chosen_sub_device: int | None = None

    def answer(self, request: Request) -> Answer | list[Answer]:
        if request["do"] == "steps":
            return [self._step(step) for step in request["steps"]]
        does: dict[str, Callable[[Request], Answer]] = {
            "open": self._open,
            "close": self._close,
            "blocks": self._blocks,
            "operation": self._launch,
            "program": self._launch,
            "sub_devices": self._load_sub_devices,
        }
        return does[request["do"]](request)

    def _open(self, request: Request) -> Answer:
        ttnn = self.ttnn
        options: dict[str, Any] = {"l1_small_size": request["l1_small"], "trace_region_size": request["trace"]}
        if request["worker_l1"]:
            options["worker_l1_size"] = request["worker_l1"]
        if request["dispatch"]:
            options["dispatch_core_config"] = ttnn.DispatchCoreConfig(
                getattr(ttnn.DispatchCoreType, request["dispatch"])
            )
        self.mesh = ttnn.open_mesh_device(ttnn.MeshShape(*request["mesh"]), **options)
        if version("ttnn") == RELEASE:  # for which its names and offsets are
            library = Path(ttnn.__file__).parent / "build" / "lib" / "libtt_metal.so"
            self.directed = DirectedBuffers(library, self.mesh, ttnn._ttnn.reports.get_buffers)
        self.launches = Launches(ttnn, self.mesh, self.tensors)
        grid = self.mesh.compute_with_storage_grid_size()
        return {
            "chips": len(self.mesh.get_device_ids()),
            "grid": [grid.x, grid.y],
            "first_cb_address": ttnn._ttnn.reports.get_device_info(self.mesh).address_at_first_l1_cb_buffer,
            "views": {name: self._view(name) for name in VIEWED},
        }

    def _load_sub_devices(self, request: Request) -> Answer:
        ttnn = self.ttnn
        try:
            if not request["cores"]:
                self.mesh.clear_loaded_sub_device_manager()
                return {}
            devices = [ttnn.SubDevice([self._cores([four])]) for four in request["cores"]]
            self.mesh.load_sub_device_manager(self.mesh.create_sub_device_manager(devices, request["l1"]))
        except RuntimeError as refused:
            return {"refused": reason(str(refused))}
        return {}

    def _cores(self, corners: list[list[int]]) -> Any:
        ttnn = self.ttnn
        return ttnn.CoreRangeSet(
            [ttnn.CoreRange(ttnn.CoreCoord(*four[:2]), ttnn.CoreCoord(*four[2:])) for four in corners]
        )

    def _close(self, _request: Request) -> Answer:
        self.tensors.clear()
        self.buffers.clear()
        self.traces.clear()
        self.launches = self.directed = None
        self.ttnn.close_mesh_device(self.mesh)
        self.mesh = None
        return {}

    def _view(self, buffer_type: str) -> list[int]:
        view = self.ttnn.get_memory_view(self.mesh, getattr(self.ttnn.BufferType, buffer_type))
        return [
            view.num_banks,
            view.total_bytes_per_bank,
            view.total_bytes_allocated_per_bank,
            view.total_bytes_free_per_bank,
            view.largest_contiguous_bytes_free_per_bank,
        ]

    def _blocks(self, _request: Request) -> Answer:
        return {name: self._block_table(name) for name in VIEWED}

    def _block_table(self, buffer_type: str) -> list[list[int]]:
        """Where each stretch of a bank begins, its size, and whether it is taken."""
        view = self.ttnn.get_memory_view(self.mesh, getattr(self.ttnn.BufferType, buffer_type))
        rows = ([int(row["address"]), int(row["size"]), int(row["allocated"] == "yes")] for row in view.block_table)
        return sorted(row for row in rows if row[1])

    def _step(self, step: Request) -> Answer:
        does = {
            "alloc": self._alloc,
            "direct": self._direct,
            "free": self._free,
            "begin": self._begin,
            "end": self._end,
            "release": self._release,
        }
        answer = does[step["op"]](step)
        answer["view"] = self._view(step["type"])
        return answer

    def _alloc(self, step: Request) -> Answer:
        ttnn = self.ttnn
        setter = ALLOCATIONS.get(step.get("allocation", ""))
        if setter and not hasattr(ttnn.MemoryConfig, setter):
            return {"lacking": setter}
        tensor_layout = ttnn.TILE_LAYOUT if step["is_tiled"] else ttnn.ROW_MAJOR_LAYOUT
        self._choose_sub_device(step.get("sub_device"))
        try:
            tensor = ttnn.empty(
                step["shape"],
                dtype=getattr(ttnn, step["dtype"]),
                layout=tensor_layout,
                device=self.mesh,
                memory_config=self._memory_config(step),
            )
        except RuntimeError as refused:
            return {"refused": reason(str(refused))}
        finally:
            self._choose_sub_device(None)
        self.tensors[step["id"]] = tensor
        if step.get("allocation") == "PER_CORE":
            return {"addresses": self._core_addresses(tensor, step)}
        return {"address": tensor.buffer_address()}

    def _choose_sub_device(self, number: int | None) -> None:
        if self.chosen_sub_device != number:
            ctypes.c_int.in_dll(ctypes.CDLL(None), "ttmem_test_sub_device").value = -1 if number is None else number
            self.chosen_sub_device = number

    def _core_addresses(self, tensor: Any, step: Request) -> list[list[int]]:
        """Chip after chip, on each core of the step."""
        ttnn = self.ttnn
        rows, columns = self.mesh.shape
        chips = [ttnn.MeshCoordinate(row, column) for row in range(rows) for column in range(columns)]
        cores = [ttnn.CoreCoord(*core) for core in cores_of(step)]
        address_of = tensor.experimental_per_core_buffer_address
        if version("ttnn").startswith("0.75."):  # asks for no chip: they are all the same
            return [[address_of(core) for core in cores]] * len(chips)
        return [[address_of(chip, core) for core in cores] for chip in chips]

    def _memory_config(self, step: Request) -> Any:
        ttnn = self.ttnn
        layout = getattr(ttnn.TensorMemoryLayout, step["layout"])
        buffer_type = getattr(ttnn.BufferType, step["type"])
        if "shard" not in step:
            return ttnn.MemoryConfig(layout, buffer_type)
        corners = step.get("ranges") or [[0, 0, step["grid"][0] - 1, step["grid"][1] - 1]]
        cores = self._cores(corners)
        orientation = "COL_MAJOR" if step.get("is_by_columns") else "ROW_MAJOR"
        shard = ttnn.ShardSpec(cores, step["shard"], getattr(ttnn.ShardOrientation, orientation))
        config = ttnn.MemoryConfig(layout, buffer_type, shard)
        if step.get("allocation") in ALLOCATIONS:
            getattr(config, ALLOCATIONS[step["allocation"]])(True)
        return config

    def _direct(self, step: Request) -> Answer:
        assert self.directed is not None
        if not self._surely_fits(step):
            return {"left_out": True}  # a refusal would be an exception that nobody could catch
        buffer_type = getattr(self.ttnn.BufferType, step["type"]).value
        buffer = self.directed.create(step["size"], step["page"], buffer_type, step["is_bottom_up"])
        self.buffers[step["id"]] = buffer
        return {"address": buffer.address}

    def _surely_fits(self, step: Request) -> bool:
        bank_count, *_, largest = self._view(step["type"])
        if not bank_count:
            return False
        pages = -(-step["size"] // (step["page"] * bank_count))
        return bool(pages * (step["page"] + MOST_ALIGNMENT) <= largest)

    def _free(self, step: Request) -> Answer:
        tensor, buffer = self.tensors.pop(step["id"], None), self.buffers.pop(step["id"], None)
        if tensor is not None:
            tensor.deallocate(True)
        if buffer is not None:
            assert self.directed is not None
            self.directed.free(buffer)
        return {"was_there": tensor is not None or buffer is not None}

    def _begin(self, step: Request) -> Answer:
        self.traces[step["id"]] = self.ttnn.begin_trace_capture(self.mesh, cq_id=0)
        return {}

    def _end(self, step: Request) -> Answer:
        try:
            self.ttnn.end_trace_capture(self.mesh, self.traces[step["id"]], cq_id=0)
        except RuntimeError as refused:
            return {"refused": reason(str(refused))}
        return {}

    def _release(self, step: Request) -> Answer:
        self.ttnn.release_trace(self.mesh, self.traces.pop(step["id"]))
        return {}

    def _launch(self, request: Request) -> Answer:
        assert self.launches is not None
        return self.launches.operation(request) if request["do"] == "operation" else self.launches.program(request)


def serve(kind: type[Driver]) -> None:
    """Lines in, lines out; whatever the runtime logs is not for whoever reads our lines."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    driver = kind()
    for line in sys.stdin:
        json.dump(driver.answer(json.loads(line)), lines)
        lines.write("\n")
        lines.flush()


if __name__ == "__main__":
    serve(Driver)
