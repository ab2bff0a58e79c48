"""Layers import only the layers below them, and no modules import each other in a circle."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import sonicpy

PACKAGE = Path(sonicpy.__file__).parent

EVERYBODY = {
    *("arguments", "bucket_names", "database_urls", "errors", "filters", "ids", "langcodes", "late", "option_kinds"),
    *("option_lists", "options", "rules", "search", "tags", "text_names", "values", "vectors", "version"),
}
SYSTEM = {"children", "disk", "files", "interpreter", "late_logger"}
"""Modules with parts that depend on the operating system, and loggers."""
ALLOWED = {
    "__init__": EVERYBODY | {"api", "checkout", "client", "config", "index"},
    "__main__": {"cli"},
    "_native": set(),
    "access": EVERYBODY | {"files"},
    "arguments": {"errors", "ids", "langcodes"},
    "bucket_names": {"errors", "ids"},
    "api": EVERYBODY | {"_native", "config", "lexer"},
    "channel": EVERYBODY | {"_native"},
    "checkout": set(),
    "children": set(),
    "cli": EVERYBODY | SYSTEM | {"access", "api", "client", "config", "evaluation", "http", "index", "load", "server"},
    "client": EVERYBODY | {"api", "channel"},
    "cluster": EVERYBODY | SYSTEM | {"access", "channel", "config", "index", "server", "store"},
    "config": EVERYBODY,
    "data": set(),
    "database_urls": set(),
    "disk": set(),
    "embedders": set(),
    "errors": set(),
    "evaluation": EVERYBODY | {"lexer"},
    "explore": EVERYBODY | {"index"},
    "files": set(),
    "filters": {"_native", "errors", "ids", "tags", "values"},
    "graph": EVERYBODY | {"_native", "disk", "files", "late_logger"},
    "http": EVERYBODY | {"access", "api", "client", "index"},
    "ids": {"_native", "errors"},
    "index": EVERYBODY | {"_native", "api", "config", "disk", "files", "graph", "late_logger", "lexer", "store"},
    "integrations": EVERYBODY | {"api"},
    "interpreter": set(),
    "keyvalue": EVERYBODY | {"_native", "store"},
    "langcodes": set(),
    "late": set(),
    "late_logger": set(),
    "lexer": EVERYBODY | {"_native", "config", "data"},
    "load": EVERYBODY | {"channel", "client"},
    "option_kinds": {"arguments", "bucket_names", "langcodes", "vectors"},
    "options": {
        *("arguments", "bucket_names", "errors", "filters", "ids", "late", "option_kinds", "tags"),
        *("text_names", "values"),
    },
    "pytest_plugin": {"__init__", "client", "config", "index", "interpreter"},
    "rules": set(),
    "search": {"_native", "arguments", "bucket_names", "filters", "ids", "late", "options"},
    "server": EVERYBODY | SYSTEM | {"access", "channel", "config", "http", "index"},
    "store": EVERYBODY | SYSTEM | {"_native"},
    "vectors": {"_native", "errors", "ids"},
    "tags": {"errors", "ids"},
    "text_names": {"arguments", "errors", "ids"},
    "values": {"errors", "ids"},
    "version": set(),
}
"""Layer -> the layers that its files may import."""
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
        "fields": {"disk", "rows", "views"},
        "changing": {"disk", "fields", "rows", "views"},
        "care": {"changing", "disk", "fields", "rows", "views"},
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
        "jobs": {"process", "watching"},
        "connections": {"jobs", "watching"},
        "searching": {"connections", "jobs", "process", "watching"},
        "web": {"connections", "service", "watching"},
    },
}
"""Layer -> its parts -> the other parts that each may import when it is imported; files beside the parts may import
all.
"""


LINES_MAX = 500
LONGER = {
    "ext/sonicpy/_native/bucket_cache.pyx": "a cache and its reader, which share fields that no other file changes",
    "ext/sonicpy/_native/stored_postings.pyx": "postings, and the windows of their blocks, which live and go together",
}
"""File of the package or of the native modules with more lines than allowed -> the reason."""

CHAINS_MAX = {"cli.serve": 15, "cluster.server": 15}
"""Module -> the most modules on the longest chain of imports from it to the errors."""


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return the nodes of the syntax tree of a file."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports_of(path: Path, *, types: bool = True) -> set[str]:
    """Return the modules below `sonicpy` that a file imports, as dotted names without the package.

    Args:
        types: include the imports below `if TYPE_CHECKING`, which never run.
    """
    found = set()
    unseen = {
        id(node)
        for block in nodes_of(path)
        if not types and isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in nodes_of(path):
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


def test_types_name_each_other_in_no_circle() -> None:
    known = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): imports_of(path) for path in FILES}

    @cache
    def below(name: str) -> frozenset[str]:
        """Return the modules that a module imports, directly or through others, those for types included."""
        found, waiting = set[str](), [name]
        while waiting:
            new = known.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return frozenset(found)

    circles = [{name} | {other for other in below(name) if name in below(other)} for name in known]
    assert [circle for circle in circles if len(circle) > 1] == []


def test_the_way_down_is_short() -> None:
    @cache
    def way(name: str) -> tuple[str, ...]:
        """Return the longest chain of imports from a module to the errors; () if there is none."""
        if name == "errors":
            return (name,)
        ways = [way(imported) for imported in modules().get(name, ())]
        longest = max(ways, key=len, default=())
        return (name, *longest) if longest else ()

    for name, most in CHAINS_MAX.items():
        chain = way(name)
        assert 1 < len(chain) <= most, " -> ".join(chain)


def test_a_file_holds_one_idea() -> None:
    root = PACKAGE.parent
    kinds = ("*.py", "*.pyi", "*.pyx", "*.pxd")
    found = [path for folder in (PACKAGE, root / "ext") for kind in kinds for path in folder.rglob(kind)]
    assert len(found) > 400
    long = {path.relative_to(root).as_posix() for path in found if len(path.read_bytes().splitlines()) > LINES_MAX}
    assert long == set(LONGER)


WITHOUT_BASE: dict[str, str] = {}
"""Class whose constructor does not run that of its base -> the reason."""


def classes() -> dict[str, list[ast.ClassDef]]:
    """Return the classes of the package by name."""
    found: dict[str, list[ast.ClassDef]] = {}
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def constructor(node: ast.ClassDef) -> ast.FunctionDef | None:
    """Return the constructor that a class defines, or None."""
    return next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)


def bases_of(node: ast.ClassDef) -> set[str]:
    """Return the names of the bases of a class, without modules and type parameters."""
    return {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases} - {node.name}


def test_a_constructor_runs_that_of_its_base() -> None:
    known = classes()

    def has_constructor(name: str) -> bool:
        """Return whether a class of the package has a constructor, or a base that has one."""
        nodes = known.get(name, [])
        if any("Protocol" in bases_of(node) for node in nodes):
            return False
        return any(constructor(node) or any(map(has_constructor, bases_of(node))) for node in nodes)

    skipping = {
        node.name
        for nodes in known.values()
        for node in nodes
        if (own := constructor(node)) is not None
        and any(map(has_constructor, bases_of(node)))
        and ".__init__(" not in ast.unparse(own)
    }
    assert has_constructor("ReplicaStore") and not has_constructor("Listing")
    assert skipping == set(WITHOUT_BASE)


def test_every_package_is_installed() -> None:
    listed = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("__init__.py")}
    assert sorted({".".join(folder.parts) for folder in folders} | {"sonicpy._native", "sonicpy.data"}) == listed


BY_NAME = re.compile(r'load_cluster\("([\w.]+)"\)(?:\.(\w+))?')
"""The pattern of a call that loads a module of a cluster on demand: the module, and the function that is called."""


def test_modules_that_are_loaded_by_name_are_there() -> None:
    root = PACKAGE.parent
    found = {
        call
        for path in (*FILES, *(root / "benchmarks").rglob("*.py"))
        for call in BY_NAME.findall(path.read_text("utf-8"))
    }
    assert len(found) > 10
    for module, function in found:
        source = (PACKAGE / "cluster" / f"{module.replace('.', '/')}.py").read_text("utf-8")
        assert not function or f"def {function}(" in source, f"{module}.{function}"


def test_only_three_files_import_lmdb() -> None:
    users = [path for path in FILES if "import lmdb" in path.read_text(encoding="utf-8")]
    files = ("access/key_store.py", "store/disk/environment.py", "store/disk/table_rows.py")
    assert sorted(users) == [PACKAGE / file for file in files]


def test_build_time_packages_are_never_imported() -> None:
    for path in FILES:
        for node in nodes_of(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {"langdetect", "stopwordsiso", "numpy", "regex"}, path
