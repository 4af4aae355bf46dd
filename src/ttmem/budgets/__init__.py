"""Budgets of device memory for tests: what `pytest --ttmem` measures, compares and refuses."""
