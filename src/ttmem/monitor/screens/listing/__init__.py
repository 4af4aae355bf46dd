"""Processes as a list: what is listed, in which order, which of them, and in which columns."""
