"""One running thing: finds journals, follows them, keeps balances, and hands out snapshots."""

from ttmem.collector.collector import Collector

__all__ = ["Collector"]
