"""The examples of docs/client.md print the output shown, against a server with the password they use."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sonicpy import errors
from tests.processes import Server
from tests.support.patience import WAIT_S

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
URL = "sonic://:SecretPassword@localhost:1491"


def test_the_examples(locked_server: Server, tmp_path: Path) -> None:
    assert len(EXAMPLES) == 3
    for code in EXAMPLES:
        assert URL in code
        here = code.replace(URL, f"sonic://:{locked_server.password}@{locked_server.host}:{locked_server.port}")
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", here], cwd=tmp_path, capture_output=True, text=True, timeout=WAIT_S
        )
        assert run.stderr == ""
        assert run.stdout.splitlines() == [line.split("# ", 1)[1] for line in code.splitlines() if "# " in line]


@pytest.mark.full
def test_the_types_of_the_examples(tmp_path: Path) -> None:
    for number, code in enumerate(EXAMPLES):
        (tmp_path / f"example{number}.py").write_text(code, encoding="utf-8")
    names = [f"example{number}.py" for number in range(len(EXAMPLES))]
    run = subprocess.run(  # silent: as where it is installed, only the examples are judged
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", *names],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_error_is_named() -> None:
    for kind in (errors.ClientError, *errors.ClientError.__subclasses__()):
        assert re.search(rf"^ +{kind.__name__}\b", PAGE, re.MULTILINE), kind
