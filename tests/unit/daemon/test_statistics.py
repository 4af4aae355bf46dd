"""The block of figures in the log: every device, all that the older one left out, and only when it is news."""

from tests.support.simulated.figures import a_device, a_server_snapshot, a_snapshot
from tests.support.simulated.read_figures import a_read_snapshot
from ttmem.daemon.statistics import Statistics, statistics_text


def test_a_device_is_shown_with_circular_buffers_and_kernels_by_type() -> None:
    text = statistics_text(a_server_snapshot())

    assert (
        "  Device 1:\n"
        "    Buffers: 49\n"
        "    DRAM: 1073741824 bytes (1.04858e+06 KB)\n"
        "    L1: 12582912 bytes (12288 KB)\n"
        "    L1_SMALL: 0 bytes (0 KB)\n"
        "    TRACE: 0 bytes (0 KB)\n"
        "    CB: 0 bytes (0 KB)\n"
        "    Kernels: 9216000 bytes (9000 KB)\n"
        "      Application: 8192000 bytes (8000 KB), 1 loaded\n"
        "      Fabric: 917504 bytes (896 KB), 1 loaded\n"
        "      Dispatch: 94208 bytes (92 KB), 2 loaded\n"
        "      Unknown: 12288 bytes (12 KB), 1 loaded\n"
        "    Total: 1095540736 bytes (1.06986e+06 KB)\n"
    ) in text
    assert text.endswith("\n\n")


def test_the_active_allocations_of_no_process_are_none() -> None:
    assert statistics_text(a_snapshot()) == "\nCurrent Statistics:\n  Active allocations: 0\n\n"


def test_a_device_that_holds_nothing_is_left_out() -> None:
    freed = a_snapshot(
        devices=[a_device(0), a_device(1)],
        device_pools=[(0, 0, 0, 0, 0, 512, 1, 1, False), (1, 0, 512, 512, 1, 512, 1, 1, False)],
    )

    assert "Device 0" not in statistics_text(freed)
    assert "Device 1" in statistics_text(freed)


def test_figures_come_every_ten_seconds_and_only_when_they_changed() -> None:
    now = [0.0]
    shown = [a_snapshot()]
    statistics = Statistics(lambda: shown[0], clock=lambda: now[0])

    def text_at(seconds: float) -> str:
        now[0] = seconds
        return statistics.regular_text()

    assert text_at(9.9) == ""
    assert "Current Statistics:" in text_at(10.0)
    assert text_at(20.0) == ""
    shown[0] = a_server_snapshot()
    assert text_at(25.0) == ""
    assert "Device 1" in text_at(30.0)
    assert "Device 1" in statistics.last_text()


def test_figures_of_the_runtimes_own_counters_are_left_out() -> None:
    text = statistics_text(a_read_snapshot())

    assert "Device 0:" in text
    assert f"DRAM: {9 << 20} bytes" in text
    assert "Device 2:" not in text
    assert "L1: 512 bytes" not in text
