"""The notebook was executed as it is, and runs again without an error."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import NOTEBOOK, ROOT

IMAGE_MAX_BYTES = 100_000
CELLS: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]


def test_it_was_executed_from_the_first_cell_to_the_last() -> None:
    assert [cell["execution_count"] for cell in CODE] == list(range(1, len(CODE) + 1))
    assert [output for cell in CODE for output in cell["outputs"] if output["output_type"] == "error"] == []


def test_every_table_and_plot_is_there_and_small() -> None:
    told = [output.get("data", {}) for cell in CODE for output in cell["outputs"]]
    assert sum("text/html" in data for data in told) >= 5
    images = [data["image/png"] for data in told if "image/png" in data]
    assert len(images) == 3
    assert max(map(len, images)) < IMAGE_MAX_BYTES


def test_it_names_no_folder_of_the_machine_it_was_executed_on() -> None:
    text = json.dumps([cell["outputs"] for cell in CODE])
    assert re.findall(r'(?<![\w.])/(?:home|root|tmp|work|usr|var)/[^"\s]*', text) == []


@pytest.mark.full
@pytest.mark.timeout(400)
def test_it_runs(tmp_path: Path) -> None:
    for name in ("nbclient", "ipykernel", "pandas", "matplotlib"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}: pip install 'sonicpy-search[docs]'")
    target = tmp_path / "executed.ipynb"
    command = [sys.executable, "-m", "tests.docs.execute_notebook", str(NOTEBOOK), str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    executed = json.loads(target.read_text(encoding="utf-8"))["cells"]
    kinds = [[sorted(output.get("data", {})) for output in cell.get("outputs", [])] for cell in executed]
    assert kinds == [[sorted(output.get("data", {})) for output in cell.get("outputs", [])] for cell in CELLS]
