"""Whole numbers: whether callers passed some, and multiples of them.

To Python True is a number, and 2.0 equals one; as a count of cores or bytes neither can be meant.
"""

__all__ = ["are_whole", "rounded_up"]


def are_whole(*values: object, least: int = 0) -> bool:
    """Whether all of them are whole numbers, and none is below the least."""
    return all(isinstance(value, int) and not isinstance(value, bool) and value >= least for value in values)


def rounded_up(value: int, step: int) -> int:
    """The next multiple of `step`, or the value itself if it is one."""
    return -(-value // step) * step
