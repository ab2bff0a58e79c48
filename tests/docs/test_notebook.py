"""The output in the notebooks is that of their present cells, which run again without an error."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import NOTEBOOKS, ROOT, name_of
from tests.support.patience import SLOWNESS

IMAGE_MAX_BYTES = 100_000
LINE_MAX_CHARACTERS = 95
Cells = list[dict[str, Any]]
CELLS: dict[Path, Cells] = {path: json.loads(path.read_text(encoding="utf-8"))["cells"] for path in NOTEBOOKS}
CODE = {path: [cell for cell in cells if cell["cell_type"] == "code"] for path, cells in CELLS.items()}
each = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)


@each
def test_it_was_executed_from_the_first_cell_to_the_last(notebook: Path) -> None:
    code = CODE[notebook]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"] == []


@each
def test_every_table_and_plot_is_there_and_small(notebook: Path) -> None:
    told = [output.get("data", {}) for cell in CODE[notebook] for output in cell["outputs"]]
    assert sum("text/html" in data for data in told) >= 5
    images = [data["image/png"] for data in told if "image/png" in data]
    assert len(images) == 3
    assert max(map(len, images)) < IMAGE_MAX_BYTES


@each
def test_its_lines_of_code_fit_on_the_page(notebook: Path) -> None:
    lines = [line for cell in CODE[notebook] for line in "".join(cell["source"]).splitlines()]
    assert [line for line in lines if len(line) > LINE_MAX_CHARACTERS] == []


@each
def test_it_names_no_folder_of_the_machine_it_was_executed_on(notebook: Path) -> None:
    text = json.dumps([cell["outputs"] for cell in CODE[notebook]])
    assert re.findall(r'(?<![\w.])/(?:home|root|tmp|work|usr|var)/[^"\s]*', text) == []


@pytest.mark.full
@pytest.mark.timeout(400)
@each
def test_it_runs(notebook: Path, tmp_path: Path) -> None:
    for name in ("nbclient", "ipykernel", "pandas", "matplotlib"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}: pip install 'sonicpy-search[docs]'")
    target = tmp_path / "executed.ipynb"
    command = [sys.executable, "-m", "tests.docs.execute_notebook", str(notebook), str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300 * SLOWNESS, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    executed = json.loads(target.read_text(encoding="utf-8"))["cells"]
    kinds = [[sorted(output.get("data", {})) for output in cell.get("outputs", [])] for cell in executed]
    assert kinds == [[sorted(output.get("data", {})) for output in cell.get("outputs", [])] for cell in CELLS[notebook]]
