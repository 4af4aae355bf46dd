"""Rules and board, as far as they can be judged without Prometheus: they name metrics that exist, nothing overlaps."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from ttmem.daemon.metrics.catalogue import FAMILIES

DASHBOARDS = Path(__file__).parents[2] / "dashboards"
BOARD = json.loads((DASHBOARDS / "grafana" / "ttmem.json").read_text(encoding="utf-8"))
PANELS = BOARD["panels"]
WORDS = r"\bttmem_\w+"
LABELS = {family.name: set(family.labels) for family in FAMILIES}
NAMED = sorted(DASHBOARDS.rglob("*.*"))


def expressions() -> list[str]:
    """All of the board's and the rules'."""
    board = [target["expr"] for panel in PANELS for target in panel.get("targets", ())]
    board += [note["expr"] for note in BOARD["annotations"]["list"]]
    rules = [path.read_text(encoding="utf-8") for path in (DASHBOARDS / "rules").glob("*.yml")]
    return board + [found for text in rules for found in re.findall(r"expr: (?:>-\n)?((?:.|\n {10})+)", text)]


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in NAMED if path.is_file()])
def test_a_file_names_metrics_that_exist(path: Path) -> None:
    text = re.sub(r"(record: |\w+:)ttmem_[\w:]+", "", path.read_text(encoding="utf-8"))  # what rules record

    assert set(re.findall(WORDS, text)) <= LABELS.keys()


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_asks_for_labels_that_its_metrics_have(expression: str) -> None:
    for name, selector in re.findall(r"(ttmem_\w+)\{([^}]*)\}", expression):
        if name in LABELS:
            assert set(re.findall(r"(\w+)(?:=~|!~|!=|=)", selector)) <= LABELS[name] | {"instance"}


def test_incidents_have_a_rule_and_a_panel_that_count_each_once() -> None:
    rules = (DASHBOARDS / "rules" / "alerts.yml").read_text(encoding="utf-8")
    panels = [panel["title"] for panel in PANELS if "ttmem_incidents_total" in json.dumps(panel.get("targets", ()))]

    assert "- alert: TtmemIncident\n" in rules
    assert "increase(ttmem_incidents_total[5m]) > 0" in rules
    assert panels == ["Incidents in the last hour", "Incidents"]


def test_no_panel_lies_on_another_or_beyond_the_edge() -> None:
    def cells(panel: dict[str, Any]) -> set[tuple[int, int]]:
        at = panel["gridPos"]
        return {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}

    assert all(not cells(one) & cells(other) for one, other in combinations(PANELS, 2))
    assert max(x for panel in PANELS for x, _ in cells(panel)) == 23
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


def test_the_board_can_be_narrowed_to_a_host_a_chip_a_user_and_a_workload() -> None:
    variables = [variable["name"] for variable in BOARD["templating"]["list"]]

    assert variables == ["datasource", "hostname", "device", "username", "workload"]
    assert all(f"${name}" in json.dumps(PANELS) for name in variables[1:])


def test_a_stack_of_containers_finds_the_files_it_mounts() -> None:
    compose = (DASHBOARDS / "compose.yml").read_text(encoding="utf-8")

    mounted = re.findall(r"- \./([\w./-]+):", compose)

    assert mounted
    assert all((DASHBOARDS / path).exists() for path in mounted)
