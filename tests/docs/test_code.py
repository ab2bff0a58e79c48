"""Every block of code in the README and the docs works as the page says, in order, in an empty folder.

A page that names a server (port 1491) gets a server of its own, whose port replaces 1491 in the commands.
"""

import contextlib
import importlib.util
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Block, blocks, name_of, packages_of
from tests.docs.running import check, commands, put_commands_on_path, run_in_shell
from tests.processes import HOST, Server
from tests.support.examples import some

EXTRAS = {
    "fastapi": "docs", "httpx2": "docs", "whoosh": "docs", "matplotlib": "notebook", "pandas": "notebook",
    "jwt": "", "polars": "", "pyarrow": "parquet", "sqlalchemy": "tables",
    "langchain_core": "langchain", "llama_index": "assistants", "haystack": "assistants",
    "apsw": "assistants", "numpy": "assistants", "sqlite_vec": "assistants", "usearch": "assistants",
}  # fmt: skip
"""Package that the examples may import, besides the standard library and sonicpy -> its extra."""
RUN = ("python", "console")
ADDRESS = re.compile(r"sonic://(?::(?P<password>\w+)@)?(?:localhost|127\.0\.0\.1|\[::1\])(?::1491)?")


def runs(page: Path) -> list[Block]:
    """Return the code blocks of a page that run; the session with nc is tested by tests/docs/test_readme.py."""
    return [block for block in blocks(page) if block.language in RUN and not block.code.startswith("$ nc ")]


ELSEWHERE = {
    "docs/cli.md": "tests/docs/test_cli_page.py",
    "docs/client.md": "tests/docs/test_client_page.py",
    "docs/why-no-result.md": "tests/test_why_no_result.py",
}
"""Page -> the tests that run its code, and also check its other content."""
CODED = [page for page in PAGES if runs(page) and name_of(page) not in ELSEWHERE]


def test_the_other_pages_have_a_test() -> None:
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", some(CODED, 2), ids=map(name_of, CODED))
def test_the_code_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _need_packages(page)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    put_commands_on_path(tmp_path / "bin", monkeypatch)
    namespace: dict[str, object] = {"__name__": "__main__"}
    variables = dict(os.environ)
    # What is still open when the page ends goes before its folder.
    with _server_of(page, tmp_path / "server") as port, contextlib.ExitStack() as afterwards:
        afterwards.callback(namespace.clear)
        for block in runs(page):
            code = block.code if port is None else ADDRESS.sub(lambda found: _moved(found, port), block.code)
            place = f"{name_of(page)}:{block.line}"
            if block.language == "python":
                check(_printed(code, place, namespace), block.expected(), place)
            else:
                for command, output in commands(code):
                    check(run_in_shell(command, place, variables), output, place)


def _need_packages(page: Path) -> None:
    behind_explore = {"pandas", "matplotlib"} if "from sonicpy import explore" in page.read_text("utf-8") else set()
    for name in sorted(packages_of(page) | behind_explore):
        assert name in EXTRAS, f"{name_of(page)} imports {name}, which no extra brings"
        if importlib.util.find_spec(name) is None:
            extra = f": pip install 'sonicpy-search[{EXTRAS[name]}]'" if EXTRAS[name] else ""
            pytest.skip(f"{name_of(page)} needs {name}{extra}")


@contextlib.contextmanager
def _server_of(page: Path, folder: Path) -> Iterator[int | None]:
    """Run a server for a page that connects to one, with the password that the page uses; yield its port."""
    found = [match for block in runs(page) for match in ADDRESS.finditer(block.code)]
    if not found:
        yield None
        return
    given = {match["password"] for match in found}
    (password,) = given - {None} or given  # an address without it gets it from a variable
    with Server(folder, password=password) as server:
        yield server.port


def _moved(found: re.Match[str], port: int) -> str:
    password = f":{found['password']}@" if found["password"] else ""
    return f"sonic://{password}{HOST}:{port}"


def _printed(code: str, place: str, namespace: dict[str, object]) -> str:
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        exec(compile(code, place, "exec"), namespace)
    return written.getvalue()
