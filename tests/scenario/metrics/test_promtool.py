"""What Prometheus's own judge says of rules, config and page, and of rules about figures that we do not have."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.faces.prometheus import promtool
from tests.support.faces.scraped import a_lifetime, rows_of, text_of
from tests.support.simulated.figures import a_busy_snapshot

pytestmark = pytest.mark.slow  # fetches Prometheus, the first time

DASHBOARDS = Path(__file__).parents[3] / "dashboards"
RULES = sorted((DASHBOARDS / "rules").glob("*.yml"))


def test_rules_and_config_pass_their_own_judge() -> None:
    checked = promtool("check", "rules", *map(str, RULES))
    config = promtool("check", "config", str(DASHBOARDS / "prometheus.yml"))

    assert (checked.returncode, config.returncode) == (0, 0), (checked.stderr, config.stderr)


def expected(name: str, value: int) -> dict[str, Any]:
    labels = f'{name}{{device="3",instance="a",vendor="nvidia"}}'
    return {"expr": name, "eval_time": "2m", "exp_samples": [{"labels": labels, "value": value}]}


def test_other_accelerators_come_under_the_same_name(tmp_path: Path) -> None:
    story = {
        "rule_files": [str(DASHBOARDS / "rules" / "accelerators.yml")],
        "tests": [
            {
                "input_series": [
                    {"series": f'DCGM_FI_DEV_FB_{name}{{instance="a",gpu="3"}}', "values": f"{mebibytes}x3"}
                    for name, mebibytes in (("USED", 1024), ("FREE", 3072))
                ],
                "promql_expr_test": [
                    {
                        "expr": name,
                        "eval_time": "2m",
                        "exp_samples": [
                            {"labels": f'{name}{{device="3",instance="a",vendor="nvidia"}}', "value": value}
                        ],
                    }
                    for name, value in (
                        ("accelerator_memory_used_bytes", 1 << 30),
                        ("accelerator_memory_capacity_bytes", 4 << 30),
                    )
                ],
            }
        ],
    }
    path = tmp_path / "story.yml"
    path.write_text(json.dumps(story))  # which is YAML, too

    judged = promtool("test", "rules", str(path))

    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_the_page_has_no_fault_that_the_linter_knows() -> None:
    page = text_of(rows_of(a_busy_snapshot(), a_lifetime(0, 1)))

    judged = promtool("check", "metrics", given=page.encode())

    assert (judged.returncode, judged.stderr) == (0, b"")
