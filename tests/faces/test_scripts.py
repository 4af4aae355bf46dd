"""`ttmem` as scripts use it, with and without a verb: forms, filters, files, loops and exit codes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.machine.driver_tree import DriverTree
from tests.support.processes.programs import a_program
from tests.support.processes.scripted import FIRST_ID, Machine, Paper, Said
from ttmem.cli.demo import demo
from ttmem.cli.program import with_verb
from ttmem.view.screen import USUAL_LEVELS, use_levels

GIB, MIB = 1 << 30, 1 << 20


def test_flags_mean_the_same_with_and_without_the_verb(machine: Machine) -> None:
    flags = ["--query-mem=index,dram.used,l1.buffers", "--format=csv,noheader"]

    assert machine.ttmem(*flags) == machine.ttmem("ps", *flags)
    assert machine.ttmem(*flags).out == "3, 3072 MiB, 0 KiB\n4, 1024 MiB, 5120 KiB\n[N/A], [N/A], [N/A]\n"


def test_a_snapshot_has_the_skeleton_of_tt_smi_and_the_memory(machine: Machine) -> None:
    first, second, idle = machine.ttmem("-s").document["device_info"]

    assert (first["index"], first["dev_node"], first["board_info"]["bus_id"]) == (
        3,
        "/dev/tenstorrent/0",
        "0000:01:00.0",
    )
    assert (first["memory"]["dram"]["used_bytes"], first["memory"]["dram"]["capacity_bytes"]) == (3 * GIB, 4 * GIB)
    assert first["telemetry"]["asic_temperature"] == "48.2"
    assert second["memory"]["l1"]["used_bytes"] == 5 * MIB
    assert (idle["index"], idle["dev_node"], idle["memory"]) == (None, "/dev/tenstorrent/2", {})


# Lines as people wrote them for `tt-smi -s`, and what they give here.
TT_SMI_LINES = {
    ".device_info | length": "3",
    ".device_info[0].board_info.bus_id": '"0000:01:00.0"',
    '[.device_info[].board_info.board_type] | join(",")': '"p150,p150,p150a"',
    ".device_info[0].telemetry.aiclk | tonumber": "1350",
    "[.device_info[] | select((.telemetry.asic_temperature | tonumber) > 40)] | length": "3",
    ".device_info[0].smbus_telem.DDR_STATUS": "null",
    ".device_info[0].smbus_telem.AICLK": '"0x546"',
    ".device_info[0].firmwares.fw_bundle_version": '"19.6.0.0"',
    ".device_info[0].limits.tdp_limit | tonumber": "150",
    ".device_info[0].gddr_telemetry.channels | length": "0",
    ".host_info.Hostname | length > 0": "true",
    ".host_info.Driver": "null",
    '.processes | map(select(.device == 3)) | .[0].cmdline | contains("python")': "true",
    ".processes | map(.pid) | length": "2",
}


@pytest.mark.slow  # where .ci/run has seen to it that there is a jq
@pytest.mark.skipif(not shutil.which("jq"), reason="NO jq HERE: lines for tt-smi were not tried (Debian: jq)")
def test_jq_lines_for_tt_smi_still_work(machine: Machine) -> None:
    told = machine.ttmem("-s").out
    line = "[" + ", ".join(f"({one})" for one in TT_SMI_LINES) + "] | .[] | tojson"

    result = subprocess.run(["jq", "-r", line], input=told, capture_output=True, text=True, check=True)

    assert dict(zip(TT_SMI_LINES, result.stdout.splitlines(), strict=True)) == TT_SMI_LINES


@pytest.mark.parametrize("flag", ["-s", "--snapshot", "--json"])
def test_json_has_three_names(machine: Machine, flag: str) -> None:
    assert machine.ttmem(flag).document["schema"] == 2


def test_what_would_be_printed_can_be_written_to_a_file(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, csv = tmp_path / "named.json", tmp_path / "some.csv"
    monkeypatch.chdir(tmp_path)

    assert machine.ttmem("-f", str(named)) == Said(0, "", "")
    assert machine.ttmem("-f", str(csv), "--query-mem=index", "--format=csv,noheader").out == ""
    unnamed = machine.ttmem("-s", "-f")

    assert json.loads(named.read_text())["schema"] == 2
    assert csv.read_text() == "3\n4\n[N/A]\n"
    assert re.fullmatch(r"ttmem_[\d_-]+\.json\n", unnamed.out)
    assert json.loads((tmp_path / unnamed.out.strip()).read_text())["schema"] == 2
    assert machine.ttmem("-s", "-f", "-").document["schema"] == 2


def test_the_report_has_the_sections_that_were_asked_for(machine: Machine) -> None:
    whole, l1 = machine.ttmem("-q").out, machine.ttmem("-q", "-d", "l1", "-i", "4").out

    assert re.search(r"Device 4\n(.*\n)*? +Used +: 5.00 MiB", l1)
    assert {"DRAM Memory Usage", "Process ID"} <= set(re.findall(r"DRAM Memory Usage|Process ID", whole))
    assert "DRAM Memory Usage" not in l1
    assert "Process ID" not in l1


@pytest.mark.parametrize("flag", ["-ls", "-L", "--list"])
def test_chips_are_listed_by_all_their_names(machine: Machine, flag: str) -> None:
    title, first, *rest = machine.ttmem(flag).out.splitlines()

    assert title.split()[0] == "INDEX"
    assert first.split()[:4] == ["3", "/dev/tenstorrent/0", "0000:01:00.0", "p150"]
    assert len(rest) == 2


@pytest.mark.parametrize(
    ("chosen", "indexes"),
    [
        ("3", "3"),
        ("4,3", "3 4"),
        (f"{FIRST_ID + 1:#x}", "4"),
        ("/dev/tenstorrent/1", "4"),
        ("0000:01:00.0,02:00.0", "3 4"),
        ("/dev/tenstorrent/2", "[N/A]"),
    ],
)
def test_chips_are_chosen_by_any_of_their_names(machine: Machine, chosen: str, indexes: str) -> None:
    said = machine.ttmem("-i", chosen, "--query-mem=index", "--format=csv,noheader")

    assert (said.code, said.out.split()) == (0, indexes.split())


def test_sensors_have_the_names_of_nvidia_smi(machine: Machine) -> None:
    asked = "--query-gpu=temperature.gpu,temperature.limit,power.draw,power.limit,clocks.sm,heartbeat"
    said = machine.ttmem("-i", "3", asked)

    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[0] == (
        "temperature.gpu, temperature.limit, power.draw [W], power.limit [W], clocks.sm [MHz], heartbeat"
    )
    assert re.fullmatch(r"48, 75, 30\.00 W, 150\.00 W, 1350 MHz, \d+", said.out.splitlines()[1])


def test_utilisation_has_no_honest_value_and_says_so(machine: Machine) -> None:
    said = machine.ttmem("-i", "3", "--query-gpu=index,utilization.gpu", "--format=csv,noheader")

    assert (said.code, said.out) == (0, "3, [N/A]\n")
    assert said.err == "ttmem: utilization.gpu is not measured; launches counts the programs a chip was given\n"


def test_processes_are_chosen_by_users_and_pids_several_at_once(machine: Machine) -> None:
    def pids(*flags: str) -> list[int]:
        said = machine.ttmem(*flags, "--query-apps=pid", "--format=csv,noheader")
        return sorted({int(line) for line in said.out.splitlines()})

    both = pids()
    parent, child = both if both[0] == machine.pid else reversed(both)

    assert pids("-p", str(parent), str(child)) == pids("-p", f"{parent},{child}") == pids("-u") == both
    assert pids("--pid", str(child)) == [child]
    assert pids("-u", "nobody-here", str(os.geteuid())) == both


def test_processes_are_sorted_by_a_column_or_shown_as_a_tree(machine: Machine) -> None:
    def labels(*flags: str) -> list[str]:
        return re.findall(r"(a job|└ its child|its child)", machine.ttmem("ps", *flags).out)

    assert labels("--sort", "dram")[:2] == ["a job", "its child"]
    assert labels("--sort", "l1")[:2] == ["its child", "a job"]
    assert labels("-t", "--sort", "l1")[:2] == ["a job", "└ its child"]


def test_colours_can_be_asked_for_in_a_pipe(machine: Machine) -> None:
    dark, light = machine.ttmem("-1", "--color"), machine.ttmem("-1", "--color", "--light")

    assert "\x1b[" in dark.out
    assert "\x1b[" not in machine.ttmem("-1").out
    assert (
        re.sub(r"\x1b\[[\d;]*m", "", dark.out).splitlines()[3:]
        == re.sub(r"\x1b\[[\d;]*m", "", light.out).splitlines()[3:]
    )


def test_all_fields_are_listed(machine: Machine) -> None:
    said = machine.ttmem("--help-query-mem")

    assert (said.code, said.err) == (0, "")
    assert re.search(r"dram.used, memory.used +MiB ", said.out)
    assert "used_memory, used_gpu_memory" in machine.ttmem("--help-query-compute-apps").out


@pytest.mark.parametrize("flag", ["-V", "-v", "--version"])
def test_the_version_is_shown_by_ps_too(machine: Machine, flag: str) -> None:
    assert machine.ttmem("ps", flag).out.startswith("ttmem 0.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--query-mem=dram.usd"], "no field 'dram.usd'; nearest: dram.used"),
        (["--query-gpu=temperature.memory"], "no field 'temperature.memory'; nearest: temperature"),
        (["--query-gpu=xyz"], "no field 'xyz' (ttmem --help-query-mem lists all)"),
        (["--query-apps=pdi"], "nearest: pid"),
        (["--query-mem=index", "--format=xml"], "expected csv[,noheader][,nounits], found 'xml'"),
        (["--format=csv"], "--format is for --query-mem and --query-apps"),
        (["-q", "-d", "FAN"], "no section 'FAN'; known: MEMORY, L1, PIDS"),
        (["-s", "-q"], "-s and -q contradict each other"),
        (["--query-mem=index", "--query-apps=pid"], "contradict each other"),
        (["-l", "1", "-lms", "5"], "not in the range"),
        (["-l", "1", "-lms", "50"], "-l and -lms contradict each other"),
        (["-1", "-l"], "-1 and -l contradict each other"),
        (["-i", "3,/dev/tenstorrent/1"], "expected names of one kind, found device files and indexes"),
        (["-i", "/dev/tenstorrent/9"], "no device /dev/tenstorrent/9 here; the driver has /dev/tenstorrent/0"),
        (["-i", "9"], "no device 9 here; known are 3, 4"),
        (["-i", "", "-s"], "expected names of devices, found ''"),
        (["-i", "foo"], "'foo' is no device: expected an index (0), a unique id (0x1a2b), a device file"),
        (["chek"], "no verb 'chek'; nearest: check"),
        (["help", "chek"], "no verb 'chek'; nearest: check"),
        (["monitor"], "no verb 'monitor'; try: ttmem top"),
        (["list"], "no verb 'list'; try: ttmem -L"),
        (["flamegraph", "x.bin"], "no verb 'flamegraph'; try: ttmem dump --by site"),
        (["dance"], "no verb 'dance'; known: top, ps"),
        (["--sort", "dramm"], "--sort: no column 'dramm'; nearest: dram"),
        (["--sort", "xyz"], "--sort: no column 'xyz'; there are pid, user"),
        (["demo", "lama-8b"], "no workload 'lama-8b'; nearest: llama-8b"),
        (["fit", "--dram", "4"], "4 has no unit: 4GiB or 4MiB?"),
        (["check", "--max-dram", "90"], "90 has no unit: 90% or 90MiB?"),
        (["fit", "--drm", "4GiB"], "Did you mean one of: '--demo', '--dram'"),
        (["-p"], "requires an argument"),
        (["-p", "x"], "is not a valid integer"),
        (["--nope"], "No such option"),
        (["fit"], "say what is to fit"),
        (["fit", "--dram", "much"], "'much' is no size"),
        (["check"], "say what to check"),
        (["check", "--max-dram", "101%"], "neither a share such as 90% nor a size"),
        (["check", "--max-growth", "1MiB/week"], "is no rate"),
    ],
)
def test_a_bad_flag_is_one_line_and_code_2(machine: Machine, arguments: list[str], words: str) -> None:
    said = machine.ttmem(*arguments)

    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert len(said.err.splitlines()) == 1


WITH_ENDED = ["explain", "check --max-incidents 0"]  # these are also about processes that have ended
LIVE_ONLY = [
    *("ps", "-s", "-q", "-L", "--query-mem=index", "--query-apps=pid", "dump", "dump --json"),
    *("check --max-l1 1B", "check --max-growth 1MiB/s"),
]


@pytest.mark.parametrize("line", [*LIVE_ONLY, *WITH_ENDED, "fit --dram 1B", "fit --idle", "explain 1", "-p 1", "-u"])
def test_where_nothing_reports_every_verb_ends_with_code_1(silence: Machine, line: str) -> None:
    said = silence.ttmem(*line.split())

    assert said.code == 1
    assert "report" in said.err
    assert len(said.err.splitlines()) == (7 if line in ("ps", "-p 1", "-u") else 1)


def test_where_all_have_ended_nothing_reports_either_unless_they_are_asked_for(silence: Machine) -> None:
    with a_program(silence.directory / "nothing", "ttmem.open_device(1, index=1)", "meet()") as program:
        program.arrive()
    codes = {line: silence.ttmem(*line.split()).code for line in [*LIVE_ONLY, *WITH_ENDED, "ps -a", "-s -a"]}

    assert codes == {line: 1 if line in LIVE_ONLY else 0 for line in codes}
    assert "1 ended" in silence.ttmem("-s").err


@pytest.mark.parametrize("limits", ["--max-l1 1B", "--max-l1 1B --max-incidents 0"])
def test_what_an_ended_program_held_is_not_within_a_limit_but_unchecked(silence: Machine, limits: str) -> None:
    with a_program(silence.directory / "nothing", "ttmem.open_device(1, index=1)", "meet()") as program:
        program.arrive()

    said = silence.ttmem("check", *limits.split())

    assert (said.code, said.out) == (1, "")
    assert "peaks of programs that ended: ttmem ps --all" in said.err


def test_incidents_of_an_ended_program_cross_their_limit_beside_one_that_cannot_be_checked(silence: Machine) -> None:
    steps = ("ttmem.open_device(1, index=1)", "ttmem.report_out_of_memory(1, 2, 7 << 20, 1 << 20, 1 << 10)", "meet()")
    with a_program(silence.directory / "nothing", *steps) as program:
        program.arrive()

    said = silence.ttmem("check", "--max-dram", "90%", "--max-incidents", "0")

    assert (said.code, said.out.splitlines()[0]) == (5, "1 incident > 0")


def test_growth_is_not_watched_where_nothing_reports(silence: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail(f"waited {seconds} s for nothing"))

    said = silence.ttmem("check", "--max-growth", "1MiB/s", "--seconds", "60")

    assert said[:2] == (1, "")
    assert said[2].startswith("ttmem: no process reports: there is nothing to check; start one with `ttmem run")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["-u", "nobody-here"], r"no process of nobody-here \(no user of this machine\) reports now; .*report: \w+"),
        (["-p", "1"], r"pid 1 reports nothing; those that report: \d+, \d+"),
    ],
)
def test_of_whom_nothing_is_reported_is_said_without_a_table(machine: Machine, flags: list[str], words: str) -> None:
    said = machine.ttmem("ps", *flags)

    assert (said.code, said.out) == (1, "")
    assert re.fullmatch(f"ttmem: {words}\n", said.err)


@pytest.mark.parametrize(("asked", "first"), [(["help"], "Usage: ttmem [VERB]"), (["help", "fit"], "Usage: ttmem fit")])
def test_help_is_a_verb_too(machine: Machine, asked: list[str], first: str) -> None:
    said = machine.ttmem(*asked)

    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(first)


def test_a_chip_that_only_the_driver_knows_is_something_to_read(silence: Machine, tmp_path: Path) -> None:
    tree = DriverTree(tmp_path / "sysfs")
    tree.chip(0)
    silence.settings |= tree.environ

    said = silence.ttmem("-s")

    assert (said.code, said.err) == (0, "")
    assert said.document["device_info"][0]["dev_node"] == "/dev/tenstorrent/0"


def test_what_could_not_be_read_is_listed_while_the_rest_is_shown(machine: Machine) -> None:
    spoilt = machine.directory / "journals" / "1-1-00000000.journal"
    spoilt.write_bytes(bytes(64))
    try:
        json_said, csv_said = machine.ttmem("-s"), machine.ttmem("--query-mem=index", "--format=csv,noheader")
    finally:
        spoilt.unlink()

    assert (json_said.code, csv_said.code) == (0, 0)
    assert [error for error in json_said.document["errors"] if str(spoilt) in error]
    assert csv_said.out == "3\n4\n[N/A]\n"
    assert str(spoilt) in csv_said.err


def test_a_chip_that_is_not_there_is_named_while_the_others_are_shown(machine: Machine) -> None:
    said = machine.ttmem("-i", "3,9", "--query-mem=index", "--format=csv,noheader")

    assert said == (0, "3\n", "ttmem: no device 9 here\n")


def test_no_daemon_is_code_3(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TTMEM_SYSTEM_DIR", str(tmp_path))

    said = machine.ttmem("serve", "--status")

    assert (said.code, said.out) == (3, "")
    assert said.err.startswith("ttmem: no daemon runs (")


def test_a_loop_has_one_header_and_ends_with_code_130(machine: Machine) -> None:
    command = [sys.executable, "-m", "ttmem", "--query-mem=index,dram.used", "-i", "3", "-lms", "50"]
    with subprocess.Popen(
        command, env={**os.environ, **machine.settings}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate()

    assert (process.returncode, complaints) == (130, "")
    assert lines == ["index, dram.used [MiB]\n", "3, 3072 MiB\n", "3, 3072 MiB\n"]


def test_the_allocation_servers_name_prints_the_allocation_servers_block_in_a_pipe(machine: Machine) -> None:
    said = machine.ttmem("-i", "4", is_server_chip=True)

    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[:3] == ["Device 4 (Blackhole):", "  L1 Memory:", "    Buffers:        5.0MB"]
    assert machine.ttmem("-s", is_server_chip=True).document["schema"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"), [(["-L"], "INDEX"), (["-s"], '"schema": 2'), (["-1", "-i", "4"], "Device 4 (Blackhole):")]
)
def test_the_allocation_servers_name_takes_flags_of_tables_on_a_terminal_too(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.setattr("ttmem.cli.tt_smi_umd.is_at_terminal", lambda: True)

    said = machine.ttmem(*arguments, is_server_chip=True)

    assert (said.code, said.err) == (0, "")
    assert words in said.out.replace('":', '": ')


def test_a_file_that_takes_no_more_is_named(machine: Machine) -> None:
    said = machine.ttmem("-s", "-f", "/dev/full")

    assert (said.code, said.err) == (1, "ttmem: /dev/full cannot be written: No space left on device\n")


@pytest.mark.parametrize("flag", ["--help", "-V"])
def test_not_even_a_help_that_finds_no_room_ends_in_a_trace(flag: str) -> None:
    with open("/dev/full", "w") as full:
        said = subprocess.run([sys.executable, "-m", "ttmem", flag], stdout=full, stderr=subprocess.PIPE, text=True)

    assert said.returncode == 1
    assert said.stderr == "ttmem: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("arguments", "verb"),
    [
        ([], "top"),
        (["-i", "0"], "top"),
        (["-u", "ada", "grace", "--light"], "top"),
        (["--readonly"], "top"),
        (["--color"], "top"),
        (["--demo"], "top"),
        (["--demo", "-s"], "ps"),
        (["--mock", "2", "--query-mem=index"], "ps"),
        (["--color", "never", "--light"], "top"),
        (["--color=always", "-i", "0"], "top"),
        (["--color", "-1"], "ps"),
        (["-s"], "ps"),
        (["-1"], "ps"),
        (["-l", "1"], "ps"),
        (["-q", "-d", "L1"], "ps"),
        (["-i", "0", "--query-mem=index"], "ps"),
        (["--nope"], "ps"),
    ],
)
def test_on_a_terminal_the_monitor_opens_unless_a_flag_asks_for_a_table(arguments: list[str], verb: str) -> None:
    assert with_verb(arguments, is_terminal=True) == [verb, *arguments]


def test_in_a_pipe_it_is_a_table_unless_only_the_monitor_knows_a_flag() -> None:
    for arguments, verb in (([], "ps"), (["-i", "0"], "ps"), (["--demo"], "ps"), (["--readonly"], "top")):
        assert with_verb(arguments, is_terminal=False) == [verb, *arguments]
    assert with_verb(["dump", "--json"], is_terminal=True) == ["dump", "--json"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["top", "--demo"], ["llama-8b"]),
        (["top", "--mock", "2"], ["resnet-trace"] * 2),
        (["top", "--mock", "33"], ["galaxy-70b", "resnet-trace"]),
    ],
)
def test_in_a_pipe_there_are_as_many_simulated_chips_as_asked_for(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, arguments: list[str], names: list[str]
) -> None:
    def play(**asked: Any) -> int:
        print(*asked["names"])
        return 0

    monkeypatch.setattr(demo, "callback", play)

    assert machine.ttmem(*arguments) == (0, " ".join(names) + "\n", "")


@pytest.mark.slow
def test_every_form_of_a_table_can_show_simulated_chips_and_says_so(machine: Machine) -> None:
    json_form = machine.ttmem("--mock", "2", "-s")
    csv_form = machine.ttmem("--mock", "1", "--query-mem=index,dram.used", "--format=csv,noheader,nounits")
    table = machine.ttmem("--mock", "1")

    assert [(said.code, said.err) for said in (json_form, csv_form)] == [(0, "ttmem: demo: simulated chips\n")] * 2
    assert json_form.document["source"] == "demo: simulated chips"
    assert [chip["index"] for chip in json_form.document["device_info"]] == [0, 1]
    assert all(chip["memory"]["dram"]["used_bytes"] > 1 << 20 for chip in json_form.document["device_info"])
    assert re.fullmatch(r"0, [1-9]\d*\n", csv_form.out)
    assert (table.code, table.err) == (0, "")
    assert "demo: simulated chips" in table.out.splitlines()[0]


def test_what_counts_as_full_is_said_by_a_flag_or_the_environment(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words(*flags: str) -> list[str]:
        found = re.findall(r"dram .* (75|25)% (\w*)", machine.ttmem("-1", *flags).out)
        use_levels(USUAL_LEVELS)
        return [word for _, word in found]

    assert words() == ["taken", ""]
    assert words("--levels", "20,30,70") == ["full", "taken"]
    monkeypatch.setenv("TTMEM_MONITOR_LEVELS", "10,20,30")
    assert words() == ["full", "high"]
    assert words("--levels", "80,90,95") == ["", ""]
    said = machine.ttmem("-1", "--levels", "80,70,60")
    assert (said.code, said.out) == (2, "")
    assert "expected three rising percentages of at most 100, such as 60,80,95; found '80,70,60'" in said.err


def test_on_a_terminal_json_is_for_people(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Paper, "isatty", lambda paper: True)

    assert machine.ttmem("-s").out.startswith('{\n  "schema": 2,\n')
