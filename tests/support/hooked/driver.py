"""Runs inside a process of the stock runtime that may be hooked, and knows nothing of it: it only calls ttnn.

Beside what the other driver does, a line of JSON each:

    {"do": "judge"}                                             each memory's view, and the list of its buffers
    {"do": "order"}                                             the chips of the mesh, as it has them
    {"do": "crowd", "sequences": [[...], ...], "turn": 3}       steps on several threads at once, then as judge
    {"do": "run", "name": "add", "inputs": [1, 2], "id": 3, "memory": "L1", "times": 1}     keeps what comes out
    {"do": "imagine", ...}                                      the same as run, captured and not dispatched
    {"do": "clear"}                                             the program cache
    {"do": "open_device", "device": 0, "l1_small": 0}           a single chip, beside the mesh of `open`
    {"do": "alloc_on", "device": 0, "id": 1, "side": 32}        in DRAM or "memory"; "device": "mesh" is that of `open`
    {"do": "close_device", "device": 0}
    {"do": "add_on", "device": 0, "id": 1, "times": 2}           what `alloc_on` made to itself, there
    {"do": "drop"}                                              what `alloc_on` and `submeshes` made
    {"do": "submeshes", "shape": [1, 1]}                        of the mesh; each is a device, numbered from 100 on
    {"do": "elsewhere", "request": {...}}                       the same on a new thread, which then ends
    {"do": "fork"}                                              a child that allocates, closes and is gone
    {"do": "calls", "calls": ["ttnn.add(x, x)"]}                one after the other, on tensors it knows; what failed,
                                                                and of each where the tensors lie that it made: they are
                                                                kept until `drop` if `is_kept`
    {"do": "together", "calls": [["..."], ["..."]], "times": 3} as calls, each list on a thread of its own
    {"do": "refused", "sides": [4096], "library": "..."}        what is said to these while other threads allocate
    {"do": "time", "what": "add", "count": 5000}                nanoseconds of a block, see `timing`
    {"do": "quit"}                                              ends as a program does
"""

import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from tests.support.hooked.timing import Timing
from tests.support.ttnn.driver import VIEWED, Answer, Driver, Request, serve

FIRST_SUBMESH = 100
L1_TYPE, BUSY_BYTES, BUSY_TURN = 1, (2048, 4096), 50


def _flat(made: Any) -> list[Any]:
    """The tensors on a device of what a call returns."""
    if isinstance(made, list | tuple):
        return [tensor for one in made for tensor in _flat(one)]
    return [made] if hasattr(made, "buffer_address") and made.is_allocated() else []


def _in_turn(*calls: Callable[[], Any]) -> list[Any]:
    """What each returns; of one that fails nothing."""
    made = []
    for call in calls:
        with suppress(RuntimeError):
            made.append(call())
    return made


class HookedDriver(Driver):
    """The runtime, and on top of one mesh any number of single devices."""

    def __init__(self) -> None:
        super().__init__()
        self.devices: dict[int, Any] = {}
        self.kept: dict[int, Any] = {}
        self.made: list[Any] = []
        self.timing: Timing | None = None

    def answer(self, request: Request) -> Answer | list[Answer]:
        does: dict[str, Callable[[Request], Answer | list[Answer]]] = {
            "judge": self._judge,
            "order": self._order,
            "crowd": self._crowd,
            "run": self._run,
            "imagine": self._imagine,
            "clear": self._clear,
            "open_device": self._open_device,
            "alloc_on": self._alloc_on,
            "add_on": self._add_on,
            "close_device": self._close_device,
            "drop": self._drop,
            "submeshes": self._submeshes,
            "elsewhere": self._elsewhere,
            "fork": self._fork,
            "calls": self._calls,
            "together": self._together,
            "refused": self._refused,
            "time": self._time,
            "quit": self._quit,
        }
        own = does.get(request["do"])
        return own(request) if own else super().answer(request)

    def _judge(self, _request: Request) -> Answer:
        """What the runtime says of the mesh: banks and bytes of each memory, every live buffer."""
        return {"views": {name: self._view(name) for name in VIEWED}, "buffers": self._buffers(self.mesh)}

    def _order(self, _request: Request) -> Answer:
        return {"chips": list(self.mesh.get_device_ids())}

    def _buffers(self, device: Any) -> list[list[Any]]:
        found = self.ttnn._ttnn.reports.get_buffers(device)
        return sorted([one.address, one.buffer_type.name, one.max_size_per_bank] for one in found)

    def _crowd(self, request: Request) -> Answer:
        """Sequence i runs on thread i + turn: what one thread allocates, another one frees at the next turn."""
        sequences, turn = request["sequences"], request["turn"]
        answers: list[list[Answer]] = [[] for _ in sequences]
        start = threading.Barrier(len(sequences))

        def play(thread: int) -> None:
            number = (thread + turn) % len(sequences)
            start.wait()
            answers[number].extend(self._alone(step) for step in sequences[number])

        threads = [threading.Thread(target=play, args=(thread,)) for thread in range(len(sequences))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"answers": answers, **self._judge(request)}

    def _alone(self, step: Request) -> Answer:
        """A step, without a look at what others may be changing."""
        return self._alloc(step) if step["op"] == "alloc" else self._free(step)

    def _run(self, request: Request) -> Answer:
        for _ in range(request["times"]):
            result = self._operation(request)
        self.tensors[request["id"]] = result
        return {"address": result.buffer_address()}

    def _imagine(self, request: Request) -> Answer:
        assert self.launches is not None
        return self.launches.captured(lambda: self._operation(request), "NO_DISPATCH")

    def _operation(self, request: Request) -> Any:
        inputs = [self.tensors[number] for number in request["inputs"]]
        options: dict[str, Any] = {}
        if request["memory"]:  # else where its inputs lie
            options["memory_config"] = getattr(self.ttnn, f"{request['memory']}_MEMORY_CONFIG")
        if request["name"] == "softmax":
            options["dim"] = -1
        return getattr(self.ttnn, request["name"])(*inputs, **options)

    def _clear(self, _request: Request) -> Answer:
        self.mesh.clear_program_cache()
        return {"entries": self.mesh.num_program_cache_entries()}

    def _open_device(self, request: Request) -> Answer:
        device = self.ttnn.open_device(device_id=request["device"], l1_small_size=request["l1_small"])
        self.devices[request["device"]] = device
        return {"id": device.id(), "chips": list(device.get_device_ids())}

    def _alloc_on(self, request: Request) -> Answer:
        ttnn, device = self.ttnn, self.mesh if request["device"] == "mesh" else self.devices[request["device"]]
        shape = (1, 1, request["side"], request["side"])
        memory = getattr(ttnn, f"{request.get('memory', 'DRAM')}_MEMORY_CONFIG")
        form = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, "memory_config": memory}
        tensor = ttnn.empty(shape, device=device, **form)
        self.kept[request["id"]] = tensor
        return {"address": tensor.buffer_address(), "buffers": self._buffers(device)}

    def _add_on(self, request: Request) -> Answer:
        tensor = self.kept[request["id"]]
        for _ in range(request["times"]):
            self.ttnn.add(tensor, tensor)
        return {}

    def _close_device(self, request: Request) -> Answer:
        """With whatever is still on it."""
        self.ttnn.close_device(self.devices.pop(request["device"]))
        return {}

    def _drop(self, _request: Request) -> Answer:
        self.kept.clear()
        self.made.clear()
        for number in [number for number in self.devices if number >= FIRST_SUBMESH]:
            self.ttnn.close_mesh_device(self.devices.pop(number))
        return {}

    def _submeshes(self, request: Request) -> Answer:
        found = self.mesh.create_submeshes(self.ttnn.MeshShape(*request["shape"]))
        self.devices |= dict(enumerate(found, FIRST_SUBMESH))
        return {"chips": [list(one.get_device_ids()) for one in found]}

    def _elsewhere(self, request: Request) -> Answer | list[Answer]:
        answers: list[Answer | list[Answer]] = []
        thread = threading.Thread(target=lambda: answers.append(self.answer(request["request"])))
        thread.start()
        thread.join()
        return answers[0]

    def _fork(self, _request: Request) -> Answer:
        """The child frees what it inherited and allocates something else; it leaves before the runtime could hang."""
        child = os.fork()
        if not child:
            for tensor in self.tensors.values():
                tensor.deallocate(True)
            step = {"id": -1, "shape": [1, 1, 64, 64], "dtype": "bfloat16", "is_tiled": True, "type": "DRAM"}
            os._exit(0 if "address" in self._alloc({**step, "layout": "INTERLEAVED"}) else 1)
        _, status = os.waitpid(child, 0)
        return {"child": child, "status": os.waitstatus_to_exitcode(status)}

    def _calls(self, request: Request) -> Answer:
        """Names in them: tensor(shape), x and y of 64 x 64, what the earlier ones made, `made`; `in_turn` calls what
        it is given on one and the same line."""
        made: list[Any] = []
        names = self._names(made)
        failed, places = {}, {}
        for call in request["calls"]:
            try:
                made.append(eval(call, names))
                places[call] = [self._place(one) for one in _flat(made[-1])]
            except (RuntimeError, TypeError, AttributeError) as error:
                failed[call] = f"{type(error).__name__}: {error}"
        if request.get("is_kept"):
            self.made += made
        return {"failed": failed, "made": places}

    def _names(self, made: list[Any]) -> dict[str, Any]:
        ttnn = self.ttnn

        def tensor(*shape: int, dtype: Any = ttnn.bfloat16, layout: Any = ttnn.TILE_LAYOUT) -> Any:
            return ttnn.empty(shape, dtype=dtype, layout=layout, device=self.mesh)

        xy = {name: tensor(1, 1, 64, 64) for name in "xy"}
        return {"ttnn": ttnn, "tensor": tensor, "made": made, "partial": partial, "in_turn": _in_turn, **xy}

    def _together(self, request: Request) -> Answer:
        places: dict[str, list[Any]] = {call: [] for calls in request["calls"] for call in calls}
        start = threading.Barrier(len(request["calls"]))
        names = self._names([])

        def play(calls: list[str]) -> None:
            start.wait()
            for _ in range(request["times"]):
                for call in calls:
                    self.made.append(eval(call, names))
                    places[call] += [self._place(one) for one in _flat(self.made[-1])]

        threads = [threading.Thread(target=play, args=(calls,)) for calls in request["calls"]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"made": places}

    def _place(self, tensor: Any) -> list[Any]:
        """Memory and address."""
        return [tensor.memory_config().buffer_type.name, tensor.buffer_address()]

    def _refused(self, request: Request) -> Answer:
        """While two threads make and free buffers in L1 from C: `library` is benchmarks/measure/mesh_buffers.c."""
        directed = self.directed
        assert directed is not None
        pairs_ns = ctypes.CDLL(request["library"]).pairs_ns
        is_over = threading.Event()
        turned = [threading.Event(), threading.Event()]

        def play(number: int) -> None:
            create, what, how, mesh = directed.call_of(BUSY_BYTES[number], BUSY_BYTES[number], L1_TYPE)
            while not is_over.is_set():
                pairs_ns(create, what, how, ctypes.c_void_p(mesh), ctypes.c_uint32(BUSY_TURN))
                turned[number].set()

        threads = [threading.Thread(target=play, args=(number,)) for number in range(len(turned))]
        for thread in threads:
            thread.start()
        said = []
        for side in request["sides"]:
            for one in turned:
                one.clear()
                assert one.wait(30)
            said.append(self._refusal_of(side))
        is_over.set()
        for thread in threads:
            thread.join()
        return {"said": said}

    def _refusal_of(self, side: int) -> str:
        ttnn = self.ttnn
        try:
            ttnn.empty(
                (1, 1, side, side),
                dtype=ttnn.bfloat16,
                layout=ttnn.TILE_LAYOUT,
                device=self.mesh,
                memory_config=ttnn.L1_MEMORY_CONFIG,
            )
        except RuntimeError as refused:
            return str(refused)
        raise AssertionError(f"{side} x {side} was given")

    def _time(self, request: Request) -> Answer:
        if self.timing is None:
            assert self.directed is not None
            self.timing = Timing(self.ttnn, self.mesh, self.directed)
        return {"ns": self.timing.block_ns(request)}

    def _quit(self, _request: Request) -> Answer:
        raise SystemExit(0)


if __name__ == "__main__":
    serve(HookedDriver)
