"""Reporting from Python: what a program says about the device memory it takes and gives back.

Nothing here raises for what is reported, blocks or logs per call. With tracking off every call returns at once. Users
take the names from `ttmem` itself, which loads each of them from its module here when it is first used.
"""
