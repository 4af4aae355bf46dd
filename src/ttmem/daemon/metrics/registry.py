"""The same rows for a registry of prometheus_client, for programs that have a page of their own.

    registry = CollectorRegistry()
    registry.register(MetricsCollector(exporter.rows))

The daemon does not go this way, which takes ten times as long as writing the page itself.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ttmem.daemon.metrics.families import Family, Page, Row

__all__ = ["MetricsCollector"]


class MetricsCollector(Collector):
    """A custom collector: asks for rows whenever it is asked."""

    def __init__(self, rows: Callable[[], Page]) -> None:
        self._rows = rows

    def collect(self) -> Iterator[Metric]:
        for family, rows in self._rows():
            yield _metric(family, rows)

    def describe(self) -> Iterable[Metric]:
        """Nothing: names are told apart by what is there."""
        return ()


def _metric(family: Family, rows: Iterable[Row]) -> Metric:
    metric = Metric(family.stem, family.help, family.type, family.unit)
    for labels, value in rows:
        given = {name: label for name, label in zip(family.labels, labels, strict=True) if label}
        metric.add_sample(family.name, given, value)
    return metric
