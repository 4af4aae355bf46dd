"""Operations and programs of one's own on the stock runtime, and what they lay out in the L1 of each core.

Runs inside the process of the stock runtime. A capture of its graph lists circular buffers with their addresses;
dataflow buffers are listed only by a capture that dispatches nothing, without addresses.
"""

import re
from collections.abc import Callable
from typing import Any

Request = dict[str, Any]
Answer = dict[str, Any]
LISTED = ("circular_buffer_allocate", "dataflow_buffer_allocate", "scratchpad_allocate")
KERNEL = "void kernel_main() {}"
CORNERS = re.compile(r"\[(\d+)-(\d+) - (\d+)-(\d+)\]")
PAGE_BYTES = 32


class Launches:
    """Runs things on one opened mesh."""

    def __init__(self, ttnn: Any, mesh: Any, tensors: dict[int, Any]) -> None:
        self._ttnn = ttnn
        self._mesh = mesh
        self._tensors = tensors

    def operation(self, request: Request) -> Answer:
        """`name` of two square matrices in DRAM, or of one; captured in `mode`."""
        ttnn, side = self._ttnn, request["side"]
        matrix = self._matrix(side)
        does = {
            "add": lambda: ttnn.add(matrix, matrix),
            "matmul": lambda: ttnn.matmul(matrix, matrix),
            "softmax": lambda: ttnn.softmax(matrix, -1),
            "exp": lambda: ttnn.exp(matrix),
        }
        return self.captured(does[request["name"]], request["mode"])

    def program(self, request: Request) -> Answer:
        """A program with one empty kernel and the circular buffers that are asked for; the same one is cached."""
        ttnn = self._ttnn
        matrix = self._matrix(32)
        kernel = ttnn.KernelDescriptor(
            kernel_source=KERNEL,
            source_type=ttnn.KernelDescriptor.SourceType.SOURCE_CODE,
            core_ranges=self._cores([[0, 0, *request["last_core"]]]),
            compile_time_args=[],
            runtime_args=[],
            common_runtime_args=[],
            config=ttnn.ReaderConfigDescriptor(),
        )
        buffers = [self._circular_buffer(index, asked) for index, asked in enumerate(request["buffers"])]
        descriptor = ttnn.ProgramDescriptor(kernels=[kernel], semaphores=[], cbs=buffers)
        return self.captured(lambda: ttnn.generic_op([matrix, matrix], descriptor), "NORMAL")

    def captured(self, run: Callable[[], object], mode: str) -> Answer:
        """What is laid out meanwhile, by the graph that the runtime draws of it."""
        graph = self._ttnn._ttnn.graph
        graph.begin_graph_capture(getattr(graph.RunMode, mode))
        answer: Answer = {}
        try:
            run()
        except RuntimeError as refused:
            answer["refused"] = reason(str(refused))
        finally:
            nodes = graph.end_graph_capture()
        answer["buffers"] = [_told(node) for node in nodes if node["node_type"] in LISTED]
        return answer

    def _matrix(self, side: int) -> Any:
        ttnn = self._ttnn
        return ttnn.empty((1, 1, side, side), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=self._mesh)

    def _cores(self, corners: list[list[int]]) -> Any:
        ttnn = self._ttnn
        return ttnn.CoreRangeSet(
            [ttnn.CoreRange(ttnn.CoreCoord(*four[:2]), ttnn.CoreCoord(*four[2:])) for four in corners]
        )

    def _circular_buffer(self, index: int, asked: Request) -> Any:
        """Local, or a view of a tensor that lies in shards."""
        ttnn = self._ttnn
        if "view" in asked:
            tensor, cores = self._tensors[asked["view"]], self._cores(asked["cores"])
            return ttnn.cb_descriptor_from_sharded_tensor(index, tensor, asked["offset"], asked["size"], cores)
        page = ttnn.CBFormatDescriptor(buffer_index=index, data_format=ttnn.bfloat16, page_size=PAGE_BYTES)
        cores = self._cores(asked["cores"])
        return ttnn.CBDescriptor(total_size=asked["size"], core_ranges=cores, format_descriptors=[page])


def reason(words: str) -> str:
    """What the runtime says, without the place in its sources and without the stack."""
    return words.split("info:\n", 1)[-1].split("\nbacktrace:", 1)[0].strip()


def _told(node: Any) -> Answer:
    said = node["params"]
    return {
        "kind": node["node_type"].removesuffix("_allocate"),
        "address": int(said["address"]),
        "size": int(said["size"]),
        "cores": [[int(number) for number in four] for four in CORNERS.findall(said["core_range_set"])],
    }
