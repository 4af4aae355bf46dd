"""Somebody presses stop: whatever call was under way, the books stay right and the same can be done again."""

from collections.abc import Callable

import pytest

from tests.support.metal.heard import HeardAll
from tests.support.metal.operations import a_program
from ttmem.devices import BufferType
from ttmem.metal import BufferSpec, DispatchCores, MeshDevice, MeshWorkload, enqueue, launch, open_device
from ttmem.metal.truth import ChipTruth
from ttmem.tracking import TrackedDevice

REGION_BYTES = 1024  # room for one trace


class Stopped(HeardAll):
    """A listener that is interrupted when it hears the call of a number, once."""

    countdown = 0

    def _note(self, call: str, device: TrackedDevice, **said: object) -> None:
        super()._note(call, device, **said)
        if call in ("cache", "closed"):  # what was compiled is kept, and what is closed is gone anyway
            return
        self.countdown -= 1
        if self.countdown == 0:
            raise KeyboardInterrupt


def held(chip: ChipTruth) -> tuple[object, ...]:
    return chip.used_bytes, chip.counts, chip.cb_planned_bytes, chip.duplicate_image_bytes


def stopped_everywhere(
    device: MeshDevice, tracker: Stopped, act: Callable[[], object], undo: Callable[[], object]
) -> int:
    """Stops an act at every call it makes, one after the other; how many there are."""
    before = held(device.truth()[0])
    live_count = device.allocator.live_count
    for number in range(1, 100):
        tracker.countdown = number
        try:
            act()
        except KeyboardInterrupt:
            undo()
            assert held(device.truth()[0]) == before
            assert device.allocator.live_count == live_count
        else:
            return number - 1
        finally:
            tracker.countdown = 0
    raise AssertionError("it never ended")


@pytest.mark.parametrize("dispatch", [DispatchCores.TENSIX, DispatchCores.SLOW])
def test_a_workload_is_loaded_whole_or_not_at_all_wherever_it_is_stopped(dispatch: DispatchCores) -> None:
    tracker = Stopped()
    with open_device("n150", tracker=tracker, dispatch=dispatch) as device:
        made: list[MeshWorkload] = []

        def act() -> None:
            made.append(MeshWorkload(a_program(cb_bytes=2048)))
            enqueue(device, made[-1])

        def undo() -> None:
            enqueue(device, made[-1])  # the very same runs as if nothing had been
            made[-1].destroy()

        assert stopped_everywhere(device, tracker, act, undo) >= 5


def test_a_program_that_is_stopped_while_it_is_launched_can_be_launched_and_destroyed() -> None:
    tracker = Stopped()
    with open_device("n150", tracker=tracker) as device:
        program = a_program(cb_bytes=2048)

        def undo() -> None:
            launch(device, program)
            program.destroy()

        assert stopped_everywhere(device, tracker, lambda: launch(device, program), undo) == 5


def test_a_buffer_that_was_not_handed_out_is_gone() -> None:
    tracker = Stopped()
    with open_device("n150", tracker=tracker) as device:
        spec = BufferSpec(2048, 2048, BufferType.L1)

        assert stopped_everywhere(device, tracker, lambda: device.create_buffer(spec), lambda: None) == 1
        assert tracker.counts["deallocate"] == 1


def test_a_trace_that_is_stopped_while_it_is_stored_takes_nothing() -> None:
    tracker = Stopped()
    with open_device("n150", tracker=tracker, trace_region_bytes=REGION_BYTES) as device:
        workload = MeshWorkload(a_program())
        enqueue(device, workload)

        def act() -> None:
            trace = device.begin_trace()
            enqueue(device, workload)
            device.end_trace(trace)

        assert stopped_everywhere(device, tracker, act, lambda: None) == 1
