"""The promises, one file each: C++ where a host program is the caller, Python where Python or a collector is.

A C++ file is a program that prints one JSON line per figure; a Python file has `measure`, which yields rows.
"""
