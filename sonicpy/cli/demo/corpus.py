"""The texts of the demo: modules, classes and functions of the Python that runs it, with their docstrings.

The source files are parsed, never imported: an import may run any code.
"""

import ast
import inspect
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sonicpy.errors import SonicError

SKIPPED = frozenset(("site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo"))
"""Folders of the standard library whose names do not matter to users."""
TEXT_CHARACTERS_MAX = 4_000
CALLED = {"posixpath": "os.path", "genericpath": "os.path"}
"""Module -> the name under which programs import it."""
INNER = frozenset(("genericpath",))
"""Modules whose functions belong to the module that imports them: the docstrings of these modules are left out, those
of their functions are not."""

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
KINDS = {
    ast.Module: "module", ast.ClassDef: "class", ast.FunctionDef: "function", ast.AsyncFunctionDef: "function",
}  # fmt: skip


class PythonName(NamedTuple):
    """A name of the standard library.

    Attributes:
        name: dotted, such as `os.path.join`.
        kind: "module", "class" or "function".
        text: its docstring; empty where there is none.
        place: the file and line that define it.
    """

    name: str
    kind: str
    text: str
    place: str

    @property
    def link(self) -> str:
        """The page of the documentation of Python that searches for the name."""
        return f"https://docs.python.org/3/search.html?q={self.name}"

    @property
    def indexed(self) -> str:
        """The indexed text of the object: the name, then the docstring."""
        return f"{self.name} {self.kind}. {self.text}"


def source_files() -> list[tuple[str, Path]]:
    """Return (module, file) for the source files of the standard library of this Python, sorted.

    Raises:
        SonicError: the library is installed without source files.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if SKIPPED.isdisjoint(parts) and not any(part.startswith("_") for part in parts if part != "__init__"):
            module = ".".join(part for part in parts if part != "__init__")
            found.append((CALLED.get(module, module), path))
    if not found:
        raise SonicError(
            f"{folder} holds no source files of Python, which the demo indexes; sonicpy import FILE indexes yours"
        )
    return found


def entries(module: str, path: Path) -> Iterator[PythonName]:
    """Yield the module in a file, then its public classes and functions; nothing if the file cannot be parsed."""
    try:
        with tokenize.open(path) as file, warnings.catch_warnings(action="ignore"):
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):  # a file of bad syntax is part of some installations
        return
    if path.stem not in INNER:
        yield _entry(module, tree, path)
    yield from _inside(module, tree, path)


def _inside(name: str, node: Documented, path: Path) -> Iterator[PythonName]:
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith("_"):
            full = f"{name}.{child.name}"
            yield _entry(full, child, path)
            if isinstance(child, ast.ClassDef):
                yield from _inside(full, child, path)


def _entry(name: str, node: Documented, path: Path) -> PythonName:
    text = inspect.cleandoc(ast.get_docstring(node, clean=False) or "")[:TEXT_CHARACTERS_MAX]
    return PythonName(name, KINDS[type(node)], text, f"{path}:{getattr(node, 'lineno', 1)}")
