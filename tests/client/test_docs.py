"""The examples of docs/client.md print what they say, against a server with the password they use."""

import re
import subprocess
import sys
from pathlib import Path

from sonicpy import errors
from tests.processes import Server

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "client.md").read_text(encoding="utf-8")
URL = "sonic://:SecretPassword@localhost:1491"


def test_the_examples(locked_server: Server, tmp_path: Path) -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for code in examples:
        assert URL in code
        here = code.replace(URL, f"sonic://:{locked_server.password}@{locked_server.host}:{locked_server.port}")
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", here], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert run.stderr == ""
        assert run.stdout.splitlines() == [line.split("# ", 1)[1] for line in code.splitlines() if "# " in line]


def test_every_error_is_named() -> None:
    for kind in (errors.ClientError, *errors.ClientError.__subclasses__()):
        assert re.search(rf"^ +{kind.__name__}\b", PAGE, re.MULTILINE), kind
