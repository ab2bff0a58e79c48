"""Each name has one meaning: a name found by grep leads to one class, and a file name to one file."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import sonicpy

PACKAGE = Path(sonicpy.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

NAMED_BY_USERS = {"cli", "http"}
"""Folders whose files have the names of verbs of the command line, of routes, and of the problems of RFC 9457."""
TWINS = ("client/aio", "client/blocking")
"""Folders with the same files: one for asyncio, one for blocking calls."""
SHARED = {
    "bucket": "the methods of one bucket, blocking and for asyncio, whose names are the same",
    "connection": "the two ends of one connection",
    "server": "the server, and the server of a node",
}
"""File name that two files of the package share -> the reason."""


def file_names() -> Iterator[str]:
    """Yield the names of the package's files, without those named after other things; one in both TWINS counts once."""
    for path in FILES:
        folder, *_ = path.relative_to(PACKAGE).parts
        is_twin = path.is_relative_to(PACKAGE / TWINS[1]) and (PACKAGE / TWINS[0] / path.name).exists()
        if folder not in NAMED_BY_USERS and not is_twin and not path.stem.startswith("__"):
            yield path.stem


def shared(names: Iterator[str]) -> set[str]:
    """Return the names that occur more than once."""
    return {name for name, count in Counter(names).items() if count > 1}


def is_type_variable(value: ast.expr | None) -> bool:
    """Return whether a value is a type variable, which may be any type, so that its name has no meaning of its own."""
    return isinstance(value, ast.Call) and ast.unparse(value.func) in ("TypeVar", "ParamSpec")


@cache
def statements_of(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


def type_names(*, variables: bool) -> Iterator[str]:
    """Yield the public names of classes and types at the top of each file; with `variables`, those of type
    variables.
    """
    for path in FILES:
        for node in statements_of(path):
            if isinstance(node, ast.ClassDef) and not variables:
                yield node.name
            elif isinstance(node, ast.Assign) and is_type_variable(node.value) == variables:
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                yield from (name for name in names if name[0].isupper() and not name.isupper())


def test_two_files_do_not_share_a_name() -> None:
    assert shared(file_names()) == set(SHARED)


def test_two_types_do_not_share_a_name() -> None:
    public = [name for name in type_names(variables=False) if not name.startswith("_")]
    assert len(public) > 300
    assert shared(iter(public)) == set()
    assert set(public).isdisjoint(type_names(variables=True))


def test_a_shared_name_is_seen() -> None:
    assert shared(iter(["Claim", "Peer", "Claim"])) == {"Claim"}
