"""Questions about single figures, answered as CSV: `--query-mem` about chips, `--query-apps` about processes."""

from ttmem.view.queries.apps import APP_FIELDS, AppRow, app_rows
from ttmem.view.queries.csv import CsvForm, csv_header, csv_line
from ttmem.view.queries.fields import Field, Question, chosen_fields, field_list
from ttmem.view.queries.memory import MEMORY_FIELDS, UTILIZATION, MemoryRow, memory_rows

__all__ = [
    "APP_FIELDS",
    "MEMORY_FIELDS",
    "UTILIZATION",
    "AppRow",
    "CsvForm",
    "Field",
    "MemoryRow",
    "Question",
    "app_rows",
    "chosen_fields",
    "csv_header",
    "csv_line",
    "field_list",
    "memory_rows",
]
