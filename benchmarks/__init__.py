"""What ttmem costs: one file per promise, each measured beside the design it replaces.

`python -m benchmarks` builds the programs, measures, and prints one table; see README.md for the method.
"""
