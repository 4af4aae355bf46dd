"""Made-up programs for `ttmem demo`: they hold no device, they only report as programs on four chips would.

Run as `python -m ttmem.cli.workload serve`; it works until its standard input ends.
"""

import select
import sys
from collections.abc import Callable, Iterator
from itertools import count

from ttmem import Client
from ttmem.devices import Arch, BinaryStatus, BufferType, Kind, Pool

MIB = 1 << 20
STEP_SECONDS = 0.05
CHIP_COUNT = 4
CORE_COUNT = 64

Work = Iterator[None]


def open_chip(client: Client, index: int) -> int:
    """One of the four chips: a Wormhole with 8x8 worker cores."""
    return client.open_device(
        0x0100_0145_1170_3060 + index,
        index=index,
        arch=Arch.WORMHOLE_B0,
        board="n300",
        grid=(8, 8),
        banks=(12, CORE_COUNT),
        capacities={Pool.DRAM: 12 * 1_070_773_184, Pool.L1: CORE_COUNT * 1_393_472, Pool.TRACE: 100 * MIB},
        kernel_ring_bytes=70_656,
    )


class Programs:
    """Programs of one target: their kernels, circular buffers and binaries, loaded on first use."""

    def __init__(self, client: Client, target: int) -> None:
        self._client = client
        self._target = target
        self._loaded: set[int] = set()

    def load_system(self) -> None:
        """What the runtime itself puts on a chip: ethernet routers and the dispatcher."""
        for router in range(6):
            self._client.report_kernel_load(self._target, router, Kind.KERNEL_FABRIC, 21_504, 1, 21_504)
        for part, size_bytes in enumerate((14_336, 18_432, 6_144)):
            self._client.report_kernel_load(self._target, part, Kind.KERNEL_DISPATCH, size_bytes, 1, size_bytes)

    def launch(self, program: int) -> None:
        """Loads the program if this is its first launch, and counts the launch."""
        client, target = self._client, self._target
        if program not in self._loaded:
            self._loaded.add(program)
            client.report_binary_status(target, program, BinaryStatus.NOT_SENT)
            for part, size_bytes in enumerate((2_416, 3_088, 12_896)):
                exact = (size_bytes + 15) // 16 * 16 * CORE_COUNT
                client.report_kernel_load(
                    target, program * 10 + part, Kind.KERNEL_APPLICATION, size_bytes, CORE_COUNT, exact, 0, program
                )
            for number in range(3):
                client.report_cb_alloc(
                    target, program * 10 + number, 105_664 + number * 65_536, 65_536, CORE_COUNT, 0, program
                )
            client.report_binary_status(target, program, BinaryStatus.IN_FLIGHT, 24_576)
            client.report_binary_status(target, program, BinaryStatus.COMMITTED)
        client.report_launch(target, program)


def serve(client: Client) -> Work:
    """A language model on all four chips as one mesh: weights, a growing cache, prefill and decode."""
    mesh = client.open_mesh([open_chip(client, index) for index in range(CHIP_COUNT)], rows=2, columns=2)
    programs = Programs(client, mesh)
    programs.load_system()
    for layer in range(80):
        client.report_buffer_alloc(mesh, layer, 92 * MIB, 92 * MIB - 4096 * layer)
    client.report_buffer_alloc(mesh, 900, 48 * MIB, 0, 0, 0, BufferType.TRACE)
    cache: list[int] = []
    for step in count():
        is_prefill = step % 40 < 8
        with client.phase("prefill" if is_prefill else "decode"):
            size_bytes = (14 if is_prefill else 5) * MIB
            activation = client.report_buffer_alloc(mesh, 1000 + step, size_bytes, 0, 0, 0, BufferType.L1)
            for program in range(6 if is_prefill else 4):
                programs.launch(program)
            if len(cache) == 24:
                client.report_free(cache.pop(0))
            cache.append(client.report_buffer_alloc(mesh, 100_000 + step, 48 * MIB))
            yield
            client.report_free(activation)


def train(client: Client) -> Work:
    """A small training run on chip 0: activations pile up on the way forward and go on the way back."""
    chip = open_chip(client, 0)
    programs = Programs(client, chip)
    client.report_buffer_alloc(chip, 1, 1_450 * MIB)
    for number in count():
        stack = []
        with client.phase("forward"):
            for layer in range(14):
                stack.append(client.report_buffer_alloc(chip, 10 + layer, 4 * MIB, 0, 0, 0, BufferType.L1))
                programs.launch(100 + layer)
                yield
        with client.phase("backward"):
            while stack:
                client.report_free(stack.pop())
                programs.launch(200 + len(stack))
                yield
        if number == 0:
            client.report_out_of_memory(chip, Pool.L1, 24 * MIB, 17 * MIB, 6 * MIB)


def transcribe(client: Client) -> Work:
    """Speech recognition on chip 3, one utterance after the other."""
    chip = open_chip(client, 3)
    programs = Programs(client, chip)
    client.report_buffer_alloc(chip, 1, 640 * MIB)
    client.report_buffer_alloc(chip, 2, 2 * MIB, 0, 0, 0, BufferType.L1_SMALL)
    for utterance in count():
        frames = [client.report_buffer_alloc(chip, 10, (20 + utterance % 5 * 9) * MIB)]
        with client.phase("encode"):
            for program in range(3):
                frames.append(
                    client.report_buffer_alloc(chip, 20 + program, (3 + program) * MIB, 0, 0, 0, BufferType.L1)
                )
                programs.launch(300 + program)
                yield
        for handle in frames:
            client.report_free(handle)
        yield


WORKLOADS: dict[str, tuple[str, Callable[[Client], Work]]] = {
    "serve": ("llama-70b server", serve),
    "train": ("resnet-50 train", train),
    "transcribe": ("whisper", transcribe),
}


def main() -> None:
    """Works step by step until standard input ends; says `ready` after the first step."""
    label, workload = WORKLOADS[sys.argv[1]]
    with Client(label=label) as client:
        for step, _ in enumerate(workload(client)):
            if step == 0:
                print("ready", flush=True)
            if select.select([sys.stdin], [], [], STEP_SECONDS)[0]:
                return


if __name__ == "__main__":
    main()
