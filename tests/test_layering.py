"""Layers know only what lies below them, and nothing imports in a circle."""

import ast
from pathlib import Path

import pytest

import sonicpy

PACKAGE = Path(sonicpy.__file__).parent

EVERYBODY = {"errors", "ids", "langcodes", "version"}
ALLOWED = {
    "errors": set(),
    "ids": {"_native", "errors"},
    "explanation": {"tables"},
    "highlighting": EVERYBODY | {"_native", "config", "explanation", "lexer"},
    "hits": {"tables"},
    "langcodes": set(),
    "rows": {"errors", "ids", "langcodes"},
    "bound": {"errors", "explanation", "hits", "ids", "rows", "tables"},
    "tables": set(),
    "version": set(),
    "explore": EVERYBODY | {"index"},
    "data": set(),
    "_native": set(),
    "config": EVERYBODY,
    "channel": EVERYBODY | {"_native"},
    "lexer": EVERYBODY | {"_native", "config", "data"},
    "store": EVERYBODY | {"_native"},
    "graph": EVERYBODY | {"_native"},
    "index": EVERYBODY
    | {"_native", "bound", "config", "explanation", "graph", "hits", "lexer", "rows", "store", "tables"},
    "client": EVERYBODY | {"bound", "channel", "explanation", "hits", "rows", "tables"},
    "evaluation": EVERYBODY | {"lexer"},
    "server": EVERYBODY | {"config", "channel", "index"},
    "cli": EVERYBODY | {"client", "config", "evaluation", "explanation", "hits", "index", "rows", "server"},
    "__init__": EVERYBODY | {"bound", "client", "config", "explanation", "highlighting", "hits", "index", "rows"},
    "__main__": {"cli"},
    "pytest_plugin": {"__init__", "client", "config", "index"},
}


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "sonicpy" else [f"sonicpy.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("sonicpy.")}
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_layer_imports_only_what_lies_below(path: Path) -> None:
    layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert imports_of(path) - {layer} <= ALLOWED[layer]


def test_only_environment_imports_lmdb() -> None:
    users = [path for path in PACKAGE.rglob("*.py") if "import lmdb" in path.read_text(encoding="utf-8")]
    assert users == [PACKAGE / "store" / "environment.py"]


def test_build_time_packages_are_never_imported() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {"langdetect", "stopwordsiso", "numpy", "regex"}, path
