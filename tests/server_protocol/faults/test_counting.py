"""What the proof of concept counted wrong, message by message, and ours counts right."""

import os

import pytest

from tests.support.server.server_bytes import (
    SIZES,
    Message,
    Type,
    alloc,
    cb_alloc,
    cb_free,
    free,
    kernel_load,
    kernel_unload,
)
from tests.support.server.server_figures import of_model
from tests.support.server.server_model import ServerModel
from tests.support.server.server_serving import Engine

US = os.getpid()
SERVER_0 = "server:0"


def told(engine: Engine, *messages: Message) -> dict[str, int]:
    """Says these things and asks; the model, the socket and the ledger must agree."""
    model = ServerModel().apply_all(US, messages)
    with engine.line() as line:
        line.say(*messages)
        counters = line.counters()
    assert counters == model.counters(0)
    assert engine.figures() == of_model(model)
    return counters


def test_a_buffer_reported_twice_is_counted_once_and_ends_with_its_last_holder(engine: Engine) -> None:
    with engine.line() as line:
        line.say(alloc(1, 1000), alloc(1, 1000))
        assert line.counters()["dram"] == 1000
        line.say(free(1))
        assert line.counters()["dram"] == 1000
        line.say(free(1))
        assert line.counters()["dram"] == 0
    assert engine.findings(US) == {}


def test_a_buffer_reported_again_with_another_size_has_that_size(engine: Engine) -> None:
    """The proof of concept showed 1,000 here."""
    assert told(engine, alloc(1, 1000), alloc(1, 5000))["dram"] == 5000
    assert engine.findings(US) == {"replaced": 1}


def test_a_free_after_a_changed_size_leaves_nothing(engine: Engine) -> None:
    assert told(engine, alloc(1, 1000), alloc(1, 1000), alloc(1, 5000), free(1))["dram"] == 0


def test_a_buffer_reported_again_in_another_pool_moves_there(engine: Engine) -> None:
    counters = told(engine, alloc(1, 1000, kind=0), alloc(1, 1000, kind=1))

    assert (counters["dram"], counters["l1"]) == (0, 1000)
    assert engine.findings(US) == {"replaced": 1}


def test_a_buffer_reported_again_with_another_unknown_type_is_not_one_holder_more(engine: Engine) -> None:
    told(engine, alloc(1, 1000, kind=7), alloc(1, 1000, kind=8), free(1))

    assert engine.figures().used == {}


def test_a_circular_buffer_reported_twice_is_counted_once(engine: Engine) -> None:
    """The proof of concept showed 2,000, and after one free 1,000 for ever."""
    assert told(engine, cb_alloc(1, 1000), cb_alloc(1, 1000))["cb"] == 1000


def test_a_circular_buffer_reported_twice_ends_with_its_second_free(engine: Engine) -> None:
    assert told(engine, cb_alloc(1, 1000), cb_alloc(1, 1000), cb_free(1, 1000), cb_free(1, 1000))["cb"] == 0


def test_a_kernel_loaded_twice_is_counted_once_and_unloaded_once(engine: Engine) -> None:
    """The proof of concept showed 1,835,008, then 917,504 for ever."""
    with engine.line() as line:
        line.say(kernel_load(7, 917_504, kind=1), kernel_load(7, 917_504, kind=1))
        assert line.counters()["kernel"] == 917_504
        line.say(kernel_unload(7, 917_504))
        assert line.counters()["kernel"] == 0


def test_a_kernel_loaded_again_has_its_new_size_and_a_smaller_one_is_a_finding(engine: Engine) -> None:
    assert told(engine, kernel_load(7, 1000), kernel_load(7, 3000), kernel_load(7, 2000))["kernel"] == 2000
    assert engine.findings(US) == {"shrunk_kernel": 1}


def test_a_kernel_of_size_0_grows_when_it_is_loaded_again(engine: Engine) -> None:
    """Ring-buffer dispatch first said 0."""
    assert told(engine, kernel_load(7, 0, kind=1), kernel_load(7, 917_504, kind=1))["kernel"] == 917_504
    assert engine.findings(US) == {}


def test_freeing_an_unknown_circular_buffer_does_not_wrap(engine: Engine) -> None:
    """The proof of concept showed 18,446,744,073,709,547,520."""
    assert told(engine, cb_free(1, 4096))["cb"] == 0
    assert engine.findings(US) == {"unknown_free": 1}


def test_a_circular_buffer_freed_with_a_wrong_size_gives_back_what_it_took(engine: Engine) -> None:
    assert told(engine, cb_alloc(1, 1000), cb_alloc(2, 50), cb_free(1, 4096))["cb"] == 50
    assert engine.findings(US) == {"free_size": 1}


def test_a_circular_buffer_freed_without_a_size_as_old_clients_do_is_freed(engine: Engine) -> None:
    assert told(engine, cb_alloc(1, 1000), cb_free(1, 0))["cb"] == 0
    assert engine.findings(US) == {}


@pytest.mark.parametrize("kind", [0, 1, 2, 3, 255])
def test_a_kernel_unloaded_with_size_0_gives_everything_back(engine: Engine, kind: int) -> None:
    """The proof of concept kept the bytes for ever."""
    assert told(engine, kernel_load(7, 917_504, kind=kind), kernel_unload(7, 0))["kernel"] == 0
    assert engine.findings(US) == {}


def test_a_kernel_unloaded_with_another_size_gives_back_what_it_took(engine: Engine) -> None:
    assert told(engine, kernel_load(7, 1000), kernel_load(8, 5), kernel_unload(7, 999_999))["kernel"] == 5
    assert engine.findings(US) == {"free_size": 1}


def test_unloading_an_unknown_kernel_changes_nothing_and_is_a_finding(engine: Engine) -> None:
    assert told(engine, kernel_load(7, 1000), kernel_unload(8, 1000))["kernel"] == 1000
    assert engine.findings(US) == {"unknown_free": 1}


def test_kernels_of_unknown_type_are_counted_apart_and_in_the_sum(engine: Engine) -> None:
    counters = told(engine, *(kernel_load(id, 10**id, kind=id) for id in range(5)))

    assert counters["kernel"] == 11_111
    assert engine.figures().kernels == {
        (SERVER_0, "application"): (1, 1),
        (SERVER_0, "fabric"): (10, 1),
        (SERVER_0, "dispatch"): (100, 1),
        (SERVER_0, "unknown"): (11_000, 2),
    }


def test_a_kernel_that_changes_its_type_is_counted_under_the_new_one_only(engine: Engine) -> None:
    told(engine, kernel_load(7, 1000, kind=0), kernel_load(7, 1000, kind=1))

    assert engine.figures().kernels == {(SERVER_0, "fabric"): (1000, 1)}


def test_host_memory_is_not_small_l1(engine: Engine) -> None:
    """Types 0 to 5 with sizes 1, 2, 4, 8, 16, 32: the proof of concept showed 12 for small L1, and refused the last."""
    counters = told(engine, *(alloc(kind, 1 << kind, kind=kind) for kind in range(6)))

    assert counters == {"dram": 1, "l1": 2, "l1_small": 8, "trace": 16, "cb": 0, "kernel": 0}
    assert engine.figures().used[SERVER_0, "host"] == 4
    assert engine.figures().used[SERVER_0, "unknown"] == 32
    assert engine.findings(US) == {"unknown_type": 1}


def test_an_unknown_free_changes_nothing_and_is_a_finding(engine: Engine) -> None:
    assert told(engine, alloc(1, 1000), free(2))["dram"] == 1000
    assert engine.findings(US) == {"unknown_free": 1}


def test_a_double_free_changes_nothing_and_is_a_finding(engine: Engine) -> None:
    assert told(engine, alloc(1, 1000), free(1), free(1))["dram"] == 0
    assert engine.findings(US).get("double_free") == 1


def test_a_free_on_the_wrong_device_changes_nothing_and_is_a_finding(engine: Engine) -> None:
    """The allocation server's Python client always names device 0."""
    with engine.line() as line:
        line.say(alloc(1, 1000, device=3), free(1, device=0))
        assert line.counters(3)["dram"] == 1000
        assert line.counters(0)["dram"] == 0
    assert engine.findings(US).get("wrong_target_free") == 1


def test_a_buffer_a_circular_buffer_and_a_kernel_may_share_an_id(engine: Engine) -> None:
    counters = told(engine, alloc(5, 1), cb_alloc(5, 10), kernel_load(5, 100), free(5))

    assert (counters["dram"], counters["cb"], counters["kernel"]) == (0, 10, 100)


def test_equal_addresses_on_two_devices_are_two_buffers(engine: Engine) -> None:
    with engine.line() as line:
        line.say(alloc(5, 1, device=0), alloc(5, 10, device=1), free(5, device=0))
        assert (line.counters(0)["dram"], line.counters(1)["dram"]) == (0, 10)


@pytest.mark.parametrize("size", [(1 << 42) + 1, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("type", [Type.ALLOC, Type.CB_ALLOC, Type.KERNEL_LOAD])
def test_a_size_beyond_all_reason_is_cut_and_said(engine: Engine, size: int, type: Type) -> None:
    name = {Type.ALLOC: "dram", Type.CB_ALLOC: "cb", Type.KERNEL_LOAD: "kernel"}[type]

    counters = told(engine, *(Message(type, size=size, id=id) for id in range(4)))

    assert counters[name] == 4 << 42
    assert engine.findings(US) == {"clamped": 4}


def test_a_kernel_that_grows_beyond_all_reason_is_cut_and_said(engine: Engine) -> None:
    assert told(engine, kernel_load(1, 1), kernel_load(1, (1 << 64) - 1))["kernel"] == 1 << 42
    assert engine.findings(US) == {"clamped": 1}


def test_sizes_that_add_up_beyond_64_bits_do_not_wrap(engine: Engine) -> None:
    """Four million times 2^42 is 2^64; far fewer must already be summed exactly."""
    count = 4096
    assert told(engine, *(alloc(id, 1 << 42) for id in range(count)))["dram"] == count << 42


def test_a_buffer_of_size_0_is_no_trouble(engine: Engine) -> None:
    assert told(engine, alloc(1, 0), alloc(2, 1), free(1))["dram"] == 1
    assert engine.findings(US) == {}


@pytest.mark.parametrize("id", [0, 1 << 63, (1 << 64) - 1])
def test_any_64_bit_id_is_an_id(engine: Engine, id: int) -> None:
    assert told(engine, alloc(id, 7), alloc(id ^ 1, 8), free(id))["dram"] == 8


@pytest.mark.parametrize("message_bytes", SIZES)
def test_a_short_size_hides_no_figure_from_the_others(engine: Engine, message_bytes: int) -> None:
    """A client of 72 bytes has no field for circular buffers and kernels; a monitor of 144 has."""
    with engine.line(message_bytes) as old, engine.line() as monitor:
        old.say(cb_alloc(1, 10), kernel_load(1, 100), alloc(1, 1))
        assert old.counters()["dram"] == 1
        assert monitor.counters() == {"dram": 1, "l1": 0, "l1_small": 0, "trace": 0, "cb": 10, "kernel": 100}
