"""What callers hand in: whole numbers, and nothing that only looks like one."""

__all__ = ["are_whole"]


def are_whole(*values: object, least: int = 0) -> bool:
    """Whether all of them are whole numbers, and none is below the least."""
    return all(isinstance(value, int) and not isinstance(value, bool) and value >= least for value in values)
