"""Which lines of two recordings are the same, whatever their numbers."""

from ttmem.analysis.growth.diff import ComparedHolding, LineChange, line_changes, unlike_boards


def held(
    line: int, size: int, *, operation: str = "", tensor: str = "", function: str = "f", file: str = "m.py"
) -> ComparedHolding:
    return ComparedHolding((f"{file}:{line} {function}\n{file}:{line + 100} <module>",), operation, tensor, size, 1)


def told(changes: list[LineChange]) -> list[tuple[str, str, int]]:
    """Line before, line after, change; those that changed."""
    rows = [(one.was or one.names, one.names, one) for one in changes]
    return [
        ("" if one.state == "new" else was[0].split(" ")[0], "" if one.state == "gone" else now[0].split(" ")[0],
         one.change_bytes)
        for was, now, one in rows
        if one.change_bytes or one.state == "moved"
    ]  # fmt: skip


def test_lines_that_all_moved_by_one_are_found_though_one_took_the_number_of_the_other() -> None:
    found = line_changes([held(10, 1), held(11, 2)], [held(11, 1), held(12, 2)])

    assert sorted(told(found)) == [("m.py:10", "m.py:11", 0), ("m.py:11", "m.py:12", 0)]


def test_lines_that_all_grew_have_not_moved() -> None:
    found = line_changes([held(10, 1), held(11, 2)], [held(10, 2), held(11, 3)])

    assert sorted(told(found)) == [("m.py:10", "m.py:10", 1), ("m.py:11", "m.py:11", 1)]


def test_operation_and_tensor_tell_moved_lines_from_each_other() -> None:
    before = [held(10, 4, operation="add", tensor="1x32"), held(20, 4, operation="matmul", tensor="1x32")]
    after = [held(30, 9, operation="matmul", tensor="1x32"), held(40, 4, operation="add", tensor="1x32")]

    assert told(line_changes(before, after)) == [("m.py:20", "m.py:30", 5), ("m.py:10", "m.py:40", 0)]


def test_a_line_of_another_function_is_another_line() -> None:
    found = line_changes([held(10, 4)], [held(10, 4, function="g")])

    assert sorted(told(found)) == [("", "m.py:10", 4), ("m.py:10", "", -4)]


def test_lines_at_the_top_of_a_file_have_nothing_in_common_but_what_they_hold() -> None:
    found = line_changes([held(10, 4, function="<module>")], [held(300, 7, function="<module>")])

    assert sorted(told(found)) == [("", "m.py:300", 7), ("m.py:10", "", -4)]


def test_another_checkout_has_other_directories_and_the_same_lines() -> None:
    found = line_changes([held(10, 4, file="main/m.py")], [held(10, 6, file="branch/m.py")])

    assert [(one.state, one.change_bytes) for one in found] == [("same", 2)]


def test_boards_are_unlike_only_if_both_are_known_and_have_none_in_common() -> None:
    assert unlike_boards([("wormhole_b0", "n300")], [("blackhole", "p150")]) == ("wormhole_b0 n300", "blackhole p150")
    assert unlike_boards([("", "")], [("blackhole", "p150")]) is None
    assert unlike_boards([("wormhole_b0", "n300")] * 4, [("wormhole_b0", "n300")]) is None
