"""Flags with several values, as click gets them; sizes, shares and rates as people type them."""

import os

import click
import pytest

from ttmem.analysis.limits import Amount
from ttmem.cli.common.amounts import amount, rate, size
from ttmem.cli.common.options import spread, table_command

ME = str(os.geteuid())
CONTEXT, FLAG = click.Context(click.Command("any")), click.Option(["--any"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("-p 1 2 3", "-p 1 -p 2 -p 3"),
        ("-p 1,2", "-p 1 -p 2"),
        ("--pid 1 2 -s", "--pid 1 --pid 2 -s"),
        ("-u", f"-u {ME}"),
        ("-u -s", f"-u {ME} -s"),
        ("-u ada grace --user linus", "-u ada -u grace --user linus"),
        ("-p", "-p"),
        ("-i 0 --sort l1", "-i 0 --sort l1"),
        ("--pid=5 -l 2", "--pid=5 -l 2"),
        ("", ""),
    ],
)
def test_every_value_gets_a_flag_of_its_own(typed: str, meant: str) -> None:
    assert spread(typed.split()) == meant.split()


@pytest.mark.parametrize("typed", [["-i", "", "-s"], ["-p", "", "-s"], ["-p", "1,", "-s"]])
def test_an_empty_value_stays_one_and_takes_no_flag_away(typed: list[str]) -> None:
    assert spread(typed)[-2:] == ["", "-s"]


def test_a_flag_without_a_value_is_looked_up_by_its_long_name() -> None:
    command = table_command(lambda request: 0, name="any", purpose="", story="")

    assert command.spelled(["-s", "-i", "0", "-V", "--tree"]) == ["--json", "-i", "0", "--version", "--tree"]


def test_an_empty_name_of_a_user_is_oneself() -> None:
    assert spread(["-u", "", "-s"]) == ["-u", ME, "-s"]  # where $USER is not set


@pytest.mark.parametrize(
    ("text", "meant"), [("4GiB", 4 << 30), ("200KiB", 200 << 10), ("1.5g", 3 << 29), ("512B", 512), ("0", 0)]
)
def test_sizes_are_read(text: str, meant: int) -> None:
    assert size(CONTEXT, FLAG, text) == meant


@pytest.mark.parametrize(
    ("text", "meant"), [("90%", Amount(None, 0.9)), ("0.5 %", Amount(None, 0.005)), ("1GiB", Amount(1 << 30, None))]
)
def test_shares_and_sizes_are_read(text: str, meant: Amount) -> None:
    assert amount(CONTEXT, FLAG, text) == meant


@pytest.mark.parametrize(("text", "meant"), [("1MiB/s", 1 << 20), ("0", 0), ("60KiB/min", 1 << 10), ("3600B/h", 1)])
def test_rates_are_read(text: str, meant: int) -> None:
    assert rate(CONTEXT, FLAG, text) == Amount(meant)


@pytest.mark.parametrize("read", [size, amount, rate])
@pytest.mark.parametrize("text", ["", "much", "-1", "101%", "4 parsecs", "1MiB/", "nan", "%"])
def test_what_is_none_is_refused(read: object, text: str) -> None:
    with pytest.raises(click.BadParameter):
        read(CONTEXT, FLAG, text)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("read", "flag", "text", "question"),
    [
        (amount, "--max-dram", "90", "90 has no unit: 90% or 90MiB?"),
        (amount, "--max-dram", "4096", "4096 has no unit: 4096MiB or 4096B?"),
        (size, "--dram", "4", "4 has no unit: 4GiB or 4MiB?"),
        (size, "--l1-core-bytes", "200", "200 has no unit: 200KiB or 200B?"),
        (rate, "--max-growth", "1", "1 has no unit: 1MiB/s or 1KiB/s?"),
        (rate, "--max-growth", "64/min", "64 has no unit: 64MiB/min or 64KiB/min?"),
        (rate, "--max-growth", "1MiB", "1MiB does not say per which time: 1MiB/s or 1MiB/min?"),
    ],
)
def test_a_number_without_a_unit_is_refused_with_its_two_likely_meanings(
    read: object, flag: str, text: str, question: str
) -> None:
    with pytest.raises(click.BadParameter) as refusal:
        read(CONTEXT, click.Option([flag]), text)  # type: ignore[operator]

    assert refusal.value.message == question
