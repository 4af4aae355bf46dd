"""The parameters of a question: taken as they are meant, or refused with a word about which."""

import pytest

from ttmem.daemon.queries.answers import BadQuery, number_in, whole_number_in


def test_what_is_not_said_has_its_default() -> None:
    assert number_in({}, "interval", 1.5, least=1, most=2) == 1.5
    assert whole_number_in({}, "most", 50) == 50


@pytest.mark.parametrize("text", ["0", "-3", "9007199254740992"])
def test_whole_numbers_are_whole_numbers(text: str) -> None:
    assert whole_number_in({"key": text}, "key") == int(text)


@pytest.mark.parametrize("text", ["", "x", "1.5", "²", "--1", "-", "9" * 30, "9007199254740993"])
def test_what_is_none_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(BadQuery, match="pid: expected a whole number"):
        whole_number_in({"pid": text}, "pid")


def test_what_must_be_said_and_is_not_is_refused() -> None:
    with pytest.raises(BadQuery, match="pid: expected a whole number, found nothing"):
        whole_number_in({}, "pid")


@pytest.mark.parametrize("text", ["nan", "3", "inf", "a"])
def test_numbers_beyond_their_limits_are_refused(text: str) -> None:
    with pytest.raises(BadQuery, match="interval: expected a number from 1 to 2"):
        number_in({"interval": text}, "interval", 1, least=1, most=2)
