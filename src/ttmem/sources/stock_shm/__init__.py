"""The stock runtime's own counters: one shared-memory file per chip, read and never written."""

from ttmem.sources.stock_shm.layouts import LAYOUTS
from ttmem.sources.stock_shm.owners import LivingOwners, Owner, Owners
from ttmem.sources.stock_shm.region import Region, decode_region, region_version
from ttmem.sources.stock_shm.regions import FILE_NAME, RUNTIME_DIRECTORY, StockCounters, read_region_file

__all__ = [
    "FILE_NAME",
    "LAYOUTS",
    "RUNTIME_DIRECTORY",
    "LivingOwners",
    "Owner",
    "Owners",
    "Region",
    "StockCounters",
    "decode_region",
    "read_region_file",
    "region_version",
]
