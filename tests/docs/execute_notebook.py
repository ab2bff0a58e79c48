"""Execute a notebook in an empty folder and write it: `python -m tests.docs.execute_notebook docs/notebook.ipynb`.

The written notebook holds only the output of the cells: no times, no names of environments. It needs the extra [docs].
"""

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.support.patience import WAIT_S

CELL_S = int(2 * WAIT_S)
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(source: Path, target: Path) -> None:
    """Execute the notebook `source` and write it, with its output, to `target`.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(source, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=CELL_S, resources={"metadata": {"path": folder}}).execute()
    notebook.metadata = nbformat.from_dict(KERNEL)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    nbformat.write(notebook, target)


if __name__ == "__main__":
    execute(Path(sys.argv[1]), Path(sys.argv[-1]))
