"""Tests of the imports at start: `import sonicpy` and `sonicpy --help` load a handful of modules; opening an index and
a query load only the modules that answer.

A module takes a fraction of a millisecond, so these numbers mean 10 ms and 30 ms of CPU beyond Python's own start.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sonicpy
from tests.processes import environment
from tests.support.patience import WAIT_S

PROGRAM = """
import json, sys
before = set(sys.modules)
{}
print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
"""
HELP = """
from sonicpy.cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
"""

ASK = """
import sonicpy
with sonicpy.open({!r}) as index:
    assert list(index.query("messages", "default", "weather")) == ["o1"]
    assert index.suggest("messages", "default", "wea") == ["weather"]
    index.push("messages", "default", "o2", "Some rain")
"""
PATTERNS = """
import re
ours = [module for name, module in sys.modules.items() if name.startswith("sonicpy.")]
held = [(f"{module.__name__}.{name}", value) for module in ours for name, value in vars(module).items()]
print(json.dumps([name for name, value in held if isinstance(value, re.Pattern)]))
"""
UNUSED = {
    *("asyncio", "ctypes", "dataclasses", "datetime", "decimal", "email", "fastapi", "hashlib", "http", "inspect"),
    *("logging", "multiprocessing", "pandas", "pyarrow", "pydantic", "rapidfuzz"),
    *("numbers", "shutil", "socket", "ssl", "subprocess", "tempfile", "tomllib", "urllib.request", "uuid", "uvloop"),
    *("sonicpy.channel", "sonicpy.cli", "sonicpy.client", "sonicpy.cluster", "sonicpy.explore", "sonicpy.http"),
    *("sonicpy.server", "sonicpy.config.kinds", "sonicpy.config.sections", "sonicpy.config.settings"),
    *("sonicpy.api.explanation", "sonicpy.api.facets", "sonicpy.api.html", "sonicpy.api.rows"),
    *("sonicpy.index.search.explain",),
    *("sonicpy.index.maintenance.maintainer", "sonicpy.index.read_only_index", "sonicpy.store.care.backup"),
    *("sonicpy.index.search.sonic", "sonicpy.index.report.export", "sonicpy.index.report.stats"),
    *("sonicpy.store.care.check_rows", "sonicpy.store.care.packing", "sonicpy.store.care.verify_tables"),
    *("sonicpy.filters.conditions", "sonicpy.filters.grammar", "sonicpy.filters.grouping", "sonicpy.filters.sorting"),
    *("sonicpy.index.search.asked_terms", "sonicpy.index.search.web_syntax"),
}
"""Modules that are imported only when a call needs them: importing them takes longer than all else in a test."""


VERSION = HELP.replace("--help", "--version")


@pytest.mark.parametrize(
    ("statements", "modules_max"),
    [("import sonicpy", 20), (HELP, 50), (VERSION, 50)],
    ids=["import", "help", "version"],
)
def test_a_start_imports_a_handful_of_modules(statements: str, modules_max: int) -> None:
    command = [sys.executable, "-c", PROGRAM.format(statements)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True)
    imported = set(json.loads(done.stderr.splitlines()[-1]))
    assert "sonicpy.version" in imported
    assert len(imported) <= modules_max, imported
    heavy = {"asyncio", "fastapi", "logging", "lmdb", "pydantic", "rapidfuzz", "uvloop"}
    assert imported.isdisjoint(heavy)
    assert [name for name in imported if name.startswith("sonicpy._native")] == []


RUNTIME = "_cython_"
"""The beginning of the names of modules with the common types of a version of Cython: one for each version by which
native modules of any package were compiled."""


def test_an_index_that_answers_imports_what_answers(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push("messages", "default", "o1", "Sunny weather")
    command = [
        sys.executable,
        "-S",
        "-c",
        f"import sys; sys.path[:] = {sys.path!r}\n{PROGRAM.format(ASK.format(str(tmp_path)) + PATTERNS)}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True)
    imported = {name for name in json.loads(done.stderr.splitlines()[-1]) if not name.startswith(RUNTIME)}
    assert "sonicpy.index.engine" in imported
    assert sorted(imported & UNUSED) == []
    assert len(imported) <= 349, len(imported)
    # A compiled pattern costs as much as a module. Each query looks for pairs of letters.
    assert json.loads(done.stdout) == ["sonicpy.index.search.accents._HAS_PAIR"]


VERB = """
from sonicpy.cli.main import main
assert main(["query", "messages", "weather", "--data", {!r}]) == 0
"""


def test_a_verb_on_a_folder_needs_no_client_and_no_checked_settings(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        index.push("messages", "default", "o1", "Sunny weather")
    command = [sys.executable, "-c", PROGRAM.format(VERB.format(str(tmp_path / "store")))]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=WAIT_S, check=True, cwd=tmp_path, env=environment({})
    )
    imported = set(json.loads(done.stderr.splitlines()[-1]))
    assert done.stdout == "o1\n"
    unused = {"sonicpy.client.blocking.client", "sonicpy.config.settings", "pydantic", "rapidfuzz", "ssl", "asyncio"}
    assert sorted(imported & unused) == []
