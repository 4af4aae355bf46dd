"""Whatever the driver's files hold, reading them never fails."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.machine.driver_tree import DriverTree
from ttmem.sources.driver import Driver


def test_no_content_of_a_file_is_an_error(tmp_path: Path) -> None:
    tree = DriverTree(tmp_path)
    chip = tree.chip(0)
    tree.opened(0, 1)
    names = ("tt_serial", "tt_asic_id", "tt_aiclk", "tt_card_type", "tt_fw_bundle_ver")
    sensors = ("name", "temp1_input", "temp1_max", "power1_label", "in0_input")
    files = [chip / name for name in names] + [tree.hwmon(0) / name for name in sensors]
    files.append(tmp_path / "proc/driver/tenstorrent/0/pids")
    sound = {path: path.read_bytes() for path in files}

    @settings(max_examples=25, deadline=None, database=None)
    @given(st.dictionaries(st.sampled_from(files), st.binary(max_size=40), min_size=1))
    def check(contents: dict[Path, bytes]) -> None:
        for path, content in {**sound, **contents}.items():
            path.write_bytes(content)

        [given] = Driver(tree.environ).telemetry()

        assert given.node == 0
        assert all(note.isprintable() for note in given.notes)
        assert all(text is None or text.isprintable() for text in (given.serial, given.card_type, given.firmware))

    check()
