"""`ttmem fit` and `ttmem check`: what they print where, and the code they end with."""

import re
from pathlib import Path

from tests.support.processes.programs import a_program
from tests.support.processes.scripted import Machine

GIB, MIB = 1 << 30, 1 << 20


def test_chips_that_fit_are_printed_and_why_goes_to_stderr(silence: Machine, tmp_path: Path) -> None:
    chips = [f"ttmem.open_device({at}, index={at}, capacities={{0: 4 << 30}})" for at in (1, 2, 3)]
    with a_program(tmp_path / "nothing", *chips, "ttmem.report_buffer_alloc(1, 1, 4096)", "meet()") as program:
        program.arrive()
        said = silence.ttmem("fit", "--dram", "4GiB", "--devices", "2")

    assert (said.code, said.out) == (0, "2,3\n")
    assert said.err.splitlines() == [
        "device 1: does not fit (DRAM 4.00 GiB of free 4.00 GiB, largest block [N/A])",
        "device 2: fits (DRAM 4.00 GiB of free 4.00 GiB, largest block 4.00 GiB)",
        "device 3: fits (DRAM 4.00 GiB of free 4.00 GiB, largest block 4.00 GiB)",
    ]


def test_a_chip_that_a_process_has_open_is_not_idle(machine: Machine) -> None:
    said = machine.ttmem("fit", "--idle", "--dram", "1GiB")

    assert (said.code, said.out) == (4, "")
    assert re.match(r"device 3 p150: does not fit \(\d have it open; ", said.err)
    assert said.err.splitlines()[-1] == "ttmem: 1 asked for, 0 fit, 1 unknown"


def test_too_few_chips_that_fit_are_code_4_in_json_too(machine: Machine) -> None:
    said = machine.ttmem("fit", "--dram", "2GiB", "--devices", "2", "--json")

    assert (said.code, said.document["met"], said.document["chosen"]) == (4, False, [])
    assert said.document["devices"][0]["fits"] is False
    assert said.document["devices"][0]["rooms"][0]["free"] == GIB


def test_a_crossed_limit_is_a_line_with_the_top_holder_and_code_5(machine: Machine) -> None:
    said = machine.ttmem("check", "--max-dram", "50%", "--max-growth", "1MiB/s", "--seconds", "0.1")

    assert said.code == 5
    [line] = said.out.splitlines()
    assert re.fullmatch(
        rf"device 3 p150 dram 3.00 GiB > 50% \(2.00 GiB\): pid {machine.pid} \(\w+\) a job holds most, 3.00 GiB", line
    )


def test_within_limits_is_code_0(machine: Machine) -> None:
    said = machine.ttmem("check", "--max-dram", "3GiB", "--min-free", "25%", "--max-l1", "90%")

    assert (said.code, said.out, said.err) == (0, "2 devices within limits\n", "")


def test_a_byte_more_than_the_limit_is_crossed(machine: Machine) -> None:
    assert machine.ttmem("check", "--max-dram", f"{3 * GIB}B", "-i", "3").code == 0
    assert machine.ttmem("check", "--max-dram", f"{3 * GIB - 1}B", "-i", "3").code == 5


def test_crossings_are_shown_as_json(machine: Machine) -> None:
    said = machine.ttmem("check", "--max-dram", "50%", "--json")

    [crossed] = [row for row in said.document["verdicts"] if row["crossed"]]
    assert (said.code, said.document["ok"]) == (5, False)
    assert (crossed["index"], crossed["limit"], crossed["figure"], crossed["limit_bytes"]) == (
        3,
        "max-dram",
        3 * GIB,
        2 * GIB,
    )
    assert crossed["top_holder"]["pid"] == machine.pid


def test_a_limit_of_which_nothing_is_known_was_not_checked(machine: Machine) -> None:
    said = machine.ttmem("check", "--min-largest-free", "1GiB", "-i", "3")

    assert (said.code, said.out) == (1, "0 devices within limits, 1 unknown\n")
    assert said.err.splitlines()[0] == "unknown: device 3 dram largest free block: not reported"
    assert said.err.splitlines()[-1] == "ttmem: --min-largest-free: not known of any chip"


def test_incidents_beyond_the_limit_are_listed_and_code_5_also_after_the_end(silence: Machine, tmp_path: Path) -> None:
    refused = "ttmem.report_out_of_memory(1, 2, 7 << 20, 1 << 20, 1 << 10)"
    with a_program(tmp_path / "nothing", "ttmem.open_device(9, index=9)", refused, "meet()") as program:
        program.arrive()
        alive = silence.ttmem("check", "--max-incidents", "0")
        allowed = silence.ttmem("check", "--max-incidents", "1")
    ended = silence.ttmem("check", "--max-incidents", "0", "--json")

    assert (alive.code, alive.out.splitlines()[0]) == (5, "1 incident > 0")
    assert "OUT OF MEMORY  chip 9  " in alive.out
    assert "asked 7.00 MiB of L1" in alive.out
    assert (allowed.code, allowed.out) == (0, "1 incident in 1 process\n")
    assert (ended.code, ended.document["ok"], ended.document["incidents"]["count"]) == (5, False, 1)


def test_incidents_of_processes_that_ended_before_do_not_count(silence: Machine, tmp_path: Path) -> None:
    refused = "ttmem.report_out_of_memory(1, 2, 7 << 20, 1 << 20, 1 << 10)"
    with a_program(tmp_path / "nothing", "ttmem.open_device(9, index=9)", refused, "meet()") as program:
        program.arrive()

    assert silence.ttmem("check", "--max-incidents", "0", "--since", "1d").code == 5
    assert silence.ttmem("check", "--max-incidents", "0", "--since", "0s").code == 1  # nobody is left to check


def test_a_time_that_is_none_is_refused(silence: Machine) -> None:
    said = silence.ttmem("check", "--max-incidents", "0", "--since", "soon")

    assert said.code == 2
    assert "'soon' is no time: give one such as 30s, 10min, 2h or 1d" in said.err
