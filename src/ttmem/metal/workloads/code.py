"""What the kernels of an operation weigh."""

from ttmem.metal.workloads.steps import Operation
from ttmem.metal.workloads.tables import code_of

__all__ = ["code_bytes", "payload_bytes"]


def payload_bytes(operation: Operation, *, page_bytes: int) -> int:
    """Its binaries in DRAM: each of them begins a page."""
    return sum(_rounded_up(size, page_bytes) for name in _all(operation) for size in code_of(name).binaries)


def code_bytes(operation: Operation, *, alignment: int) -> int:
    """What all cores together receive: each binary rounded up, on every core that runs it."""

    def size(name: str) -> int:
        return sum(_rounded_up(one, alignment) for one in code_of(name).binaries) if name else 0

    everywhere = sum(map(size, operation.kernels)) * operation.core_count
    return everywhere + size(operation.lead) + size(operation.follow) * (operation.core_count - 1)


def _all(operation: Operation) -> tuple[str, ...]:
    follow = operation.follow if operation.core_count > 1 else ""
    return tuple(filter(None, (*operation.kernels, operation.lead, follow)))


def _rounded_up(value: int, step: int) -> int:
    return -(-value // step) * step
