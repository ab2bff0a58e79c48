"""The dashboard for Grafana uses only metrics that exist."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_dashboard_reads_metrics_that_the_docs_list() -> None:
    dashboard = json.loads((ROOT / "configs/grafana.json").read_text())
    text = json.dumps(dashboard)
    known = set(re.findall(r"^\| `(sonicpy_\w+)`", (ROOT / "docs/operations.md").read_text(), re.MULTILINE))
    read = {re.sub(r"_(?:count|bucket|sum)$", "", name) for name in re.findall(r"sonicpy_\w+", text)}
    assert len(known) > 10
    assert len(read) > 8
    assert read <= known
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
