"""Layers know only what lies below them, and nothing imports in a circle."""

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

import sonicpy

PACKAGE = Path(sonicpy.__file__).parent

EVERYBODY = {"arguments", "errors", "ids", "langcodes", "options", "search", "version"}
SYSTEM = {"children", "disk", "files", "interpreter"}
"""Modules with parts that depend on the operating system."""
ALLOWED = {
    "__init__": EVERYBODY | {"api", "checkout", "client", "config", "index"},
    "__main__": {"cli"},
    "_native": set(),
    "arguments": {"errors", "ids", "langcodes"},
    "api": EVERYBODY | {"_native", "config", "lexer"},
    "channel": EVERYBODY | {"_native"},
    "checkout": set(),
    "children": set(),
    "cli": EVERYBODY | SYSTEM | {"api", "client", "config", "evaluation", "http", "index", "load", "server"},
    "client": EVERYBODY | {"api", "channel"},
    "cluster": EVERYBODY | SYSTEM | {"channel", "config", "index", "server", "store"},
    "config": EVERYBODY,
    "data": set(),
    "disk": set(),
    "errors": set(),
    "evaluation": EVERYBODY | {"lexer"},
    "explore": EVERYBODY | {"index"},
    "files": set(),
    "graph": EVERYBODY | {"_native", "disk", "files"},
    "http": EVERYBODY | {"api", "client", "index"},
    "ids": {"_native", "errors"},
    "index": EVERYBODY | {"_native", "api", "config", "disk", "files", "graph", "lexer", "store"},
    "interpreter": set(),
    "keyvalue": EVERYBODY | {"_native", "store"},
    "langcodes": set(),
    "lexer": EVERYBODY | {"_native", "config", "data"},
    "load": EVERYBODY | {"channel", "client"},
    "options": {"arguments", "errors", "langcodes"},
    "pytest_plugin": {"__init__", "client", "config", "index", "interpreter"},
    "search": {"ids", "options"},
    "server": EVERYBODY | SYSTEM | {"channel", "config", "http", "index"},
    "store": EVERYBODY | SYSTEM | {"_native"},
    "version": set(),
}
"""The rooms that the files of a room may import."""
ROOMS = {
    "index": {
        "search": set(),
        "ingest": set(),
        "maintenance": {"engine"},
        "report": {"engine"},
    },
    "store": {
        "disk": set(),
        "rows": {"disk"},
        "views": {"disk", "rows"},
        "changing": {"disk", "rows", "views"},
        "care": {"changing", "disk", "rows", "views"},
    },
    "cluster": {
        "log": set(),
        "registry": {"log"},
        "peers": {"log", "registry"},
        "node": {"log", "peers", "registry"},
        "operator": {"log", "node", "peers", "registry"},
    },
    "server": {
        "process": set(),
        "watching": set(),
        "jobs": {"watching"},
        "connections": {"jobs", "watching"},
        "searching": {"connections", "jobs", "process", "watching"},
        "web": {"connections", "service", "watching"},
    },
}
"""The other parts of a layer that a part may import at its own import; files beside the parts may import all."""


CHAINS_MAX = {"cli.serve": 16, "cluster.server": 20}
"""Modules from these to the errors, along the longest way."""


def imports_of(path: Path, *, types: bool = True) -> set[str]:
    """Return the modules below `sonicpy` that a file imports, as dotted names without the package.

    Args:
        types: include the imports below `if TYPE_CHECKING`, which never run.
    """
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unseen = {
        id(node)
        for block in ast.walk(tree)
        if not types and isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name for name in inside if (PACKAGE.parent / f"{name.replace('.', '/')}.py").exists()]
            names = modules or ([node.module] if node.module != "sonicpy" else inside)
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.removeprefix("sonicpy.") for name in names if name.startswith("sonicpy.")}
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("layer", sorted({path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES}))
def test_a_layer_imports_only_what_lies_below(layer: str) -> None:
    for path in FILES:
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") == layer:
            rooms = {name.split(".")[0] for name in imports_of(path)}
            assert rooms - {layer} <= ALLOWED[layer], path


@pytest.mark.parametrize("layer", ROOMS)
def test_parts_of_a_layer_import_only_what_lies_below(layer: str) -> None:
    rooms = ROOMS[layer]
    assert {path.name for path in (PACKAGE / layer).iterdir() if path.is_dir() and path.name[0] != "_"} == set(rooms)
    for path in (PACKAGE / layer).rglob("*.py"):
        own, *inside = path.relative_to(PACKAGE / layer).parts
        if inside:
            found = [name.split(".")[1:] for name in imports_of(path, types=False) if name.startswith(f"{layer}.")]
            assert {names[0] for names in found} - {own} <= rooms[own], path


@cache
def modules() -> dict[str, set[str]]:
    """Return the modules that each module imports when it is imported."""
    return {".".join(path.relative_to(PACKAGE).with_suffix("").parts): imports_of(path, types=False) for path in FILES}


def test_nothing_imports_in_a_circle() -> None:
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join([*above, name])
        if name in done or name not in modules():
            return
        for imported in sorted(modules()[name]):
            visit(imported, (*above, name))
        done.add(name)

    for name in sorted(modules()):
        visit(name, ())


def test_the_way_down_is_short() -> None:
    @cache
    def way(name: str) -> tuple[str, ...]:
        """Return the longest chain of imports from a module to the errors, or nothing."""
        if name == "errors":
            return (name,)
        ways = [way(imported) for imported in modules().get(name, ())]
        longest = max(ways, key=len, default=())
        return (name, *longest) if longest else ()

    for name, most in CHAINS_MAX.items():
        chain = way(name)
        assert 1 < len(chain) <= most, " -> ".join(chain)


def test_every_package_is_installed() -> None:
    listed = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("__init__.py")}
    assert sorted({".".join(folder.parts) for folder in folders} | {"sonicpy._native", "sonicpy.data"}) == listed


def test_only_two_files_import_lmdb() -> None:
    users = [path for path in FILES if "import lmdb" in path.read_text(encoding="utf-8")]
    assert sorted(users) == [PACKAGE / "store/disk/environment.py", PACKAGE / "store/disk/transaction.py"]


def test_build_time_packages_are_never_imported() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {"langdetect", "stopwordsiso", "numpy", "regex"}, path
