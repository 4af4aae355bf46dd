"""The picture of the table: sound SVG that says what the table says, with bars as long as the figures."""

import re
from pathlib import Path
from xml.etree import ElementTree

from tests.support.simulated.figures import GIB, MIB, NOON_NS, a_busy_snapshot, a_device, a_process, a_snapshot
from ttmem.snapshot import Snapshot
from ttmem.view import plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import page
from ttmem.view.picture import picture

SVG = "{http://www.w3.org/2000/svg}"
README_PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "ps.svg"


def drawn(snapshot: Snapshot, width: int = 120) -> ElementTree.Element:
    return ElementTree.fromstring(picture(page(snapshot, PageOptions(width=width)), title="a <title>"))


def test_every_word_of_the_table_is_in_the_picture() -> None:
    snapshot = a_busy_snapshot()
    words = " ".join("".join(text.itertext()) for text in drawn(snapshot).iter(f"{SVG}text")).split()
    printed = re.sub(r"(\d)!", r"\1 !", plain(page(snapshot, PageOptions(width=120))))  # a mark is written by itself

    wanted = {word for word in printed.split() if not set(word) & set("█▏▎▍▌▋▊▉▒░")}
    assert wanted <= set(words)


def test_nothing_is_drawn_outside_the_window() -> None:
    root = drawn(a_busy_snapshot())
    width, height = float(root.attrib["width"]), float(root.attrib["height"])

    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["x"]) + float(text.attrib.get("textLength", 0)) <= width
        assert 0 < float(text.attrib["y"]) <= height


def test_a_half_full_pool_has_a_half_filled_bar() -> None:
    snapshot = a_snapshot(
        devices=[a_device()],
        device_pools=[(0, 0, 3 * GIB, 3 * GIB, 1, 3 * GIB, NOON_NS, NOON_NS, False)],
        processes=[a_process()],
    )
    bars = {
        rect.attrib["class"]: float(rect.attrib["width"])
        for rect in drawn(snapshot).iter(f"{SVG}rect")
        if "class" in rect.attrib
    }

    assert abs(bars["bar_good"] / (bars["bar_good"] + bars["on_bar_rest"]) - 0.25) < 0.03


def test_names_cannot_break_out_of_the_picture() -> None:
    snapshot = a_snapshot(processes=[a_process(1, label='<script>&"')])

    assert '<script>&"' in "".join(drawn(snapshot).itertext())


def test_the_picture_of_the_readme_is_one_of_ours() -> None:
    root = ElementTree.fromstring(README_PICTURE.read_text(encoding="utf-8"))

    assert root.attrib["aria-label"] == "ttmem ps"
    assert "simulated" in "".join(root.itertext())


def test_bytes_of_a_picture_stay_small() -> None:
    assert len(picture(page(a_busy_snapshot(), PageOptions(width=120)), title="x")) < MIB // 16
