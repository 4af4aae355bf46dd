"""Reporting from Python: what a program says about the device memory it takes and gives back.

Nothing here raises for what is reported, blocks or logs per call. With tracking off every call returns at once.
"""

from ttmem.client.phases import Phase
from ttmem.client.reporter import Client, close, disable, enable, is_enabled, label, open_device, open_mesh, phase
from ttmem.client.reports import REPORTS

__all__ = [
    "REPORTS",
    "Client",
    "Phase",
    "close",
    "disable",
    "enable",
    "is_enabled",
    "label",
    "open_device",
    "open_mesh",
    "phase",
]
