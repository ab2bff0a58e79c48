"""The reference shows every public method with an example, and explains each argument."""

import inspect
import re
from typing import Any

import pytest

import sonicpy
import sonicpy.keyvalue
from sonicpy.client.aio.bucket import AsyncBucket
from sonicpy.options import ARGUMENTS
from tests.docs.pages import DOCS, blocks

REFERENCE = DOCS / "reference"
INTERNAL = {
    "abandon": "what a forked process calls",
    "end": "what the end of the interpreter calls",
    "buckets_after": "what the server sends",
    "collections_after": "what the server sends",
    "objects_from": "what the server sends",
    "open": "connect calls it",
    "position_after": "what the server sends",
    **dict.fromkeys(
        ("find_facets", "objects_passing", "needs_vector", "find_hits", "find_ids", "find_reasons", "query_ids"),
        "what the server sends",
    ),
    "words_of_objects": "what the page shows",
    "values_of_objects": "what `sonicpy query --show` shows",
    "needs_vector": "what the server asks before it makes a vector",
    "push_read": "rows that mirror or a file gave",
}
"""Public method that the reference leaves out -> the reason."""

SHOWN: list[tuple[type[Any], str]] = [
    (sonicpy.Index, "library.md"),
    (sonicpy.Bucket, "library.md"),
    (sonicpy.Client, "client.md"),
    (sonicpy.Hits, "results.md"),
    (sonicpy.Explanation, "results.md"),
    (sonicpy.keyvalue.KeyValue, "keyvalue.md"),
]


def methods(owner: type[Any]) -> dict[str, Any]:
    """Return the public methods of a class by name."""
    found = inspect.getmembers(owner, lambda member: inspect.isfunction(member) or inspect.ismethod(member))
    return {name: method for name, method in found if not name.startswith("_") and name not in INTERNAL}


def python_on(page: str) -> str:
    return "\n".join(block.code for block in blocks(REFERENCE / page) if block.language == "python")


@pytest.mark.parametrize(("owner", "page"), SHOWN)
def test_every_method_has_an_example(owner: type[Any], page: str) -> None:
    code = python_on(page)
    assert [name for name in methods(owner) if not re.search(rf"\.{name}\(", code)] == []


def test_every_method_of_an_index_stands_on_its_page() -> None:
    text = (REFERENCE / "library.md").read_text("utf-8")
    told = re.findall(r"^::: sonicpy\.Index\.(\w+)$", text, re.MULTILINE)
    assert sorted(told) == sorted(methods(sonicpy.Index))
    for name in told:
        after = text.partition(f"::: sonicpy.Index.{name}\n")[2].partition("\n::: ")[0]
        assert f".{name}(" in after, f"no example right below {name}"


def test_the_methods_that_a_client_lacks_are_named() -> None:
    intro = (REFERENCE / "library.md").read_text("utf-8").partition("folder itself (")[2].partition(")")[0]
    lacking = methods(sonicpy.Index).keys() - methods(sonicpy.Client).keys()
    assert sorted(re.findall(r"`(\w+)`", intro)) == sorted(lacking)


def test_what_is_left_out_exists() -> None:
    owners = (sonicpy.Index, sonicpy.Client, sonicpy.keyvalue.KeyValue)
    assert [name for name in INTERNAL if not any(hasattr(owner, name) for owner in owners)] == []


@pytest.mark.parametrize("owner", [sonicpy.Index, sonicpy.Bucket, sonicpy.Client, sonicpy.AsyncClient, AsyncBucket])
def test_every_argument_is_explained(owner: type[Any]) -> None:
    table = (REFERENCE / "library.md").read_text("utf-8").partition("## Arguments")[2].partition("\n## ")[0]
    everywhere = {*re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE), *ARGUMENTS["QUERY"]}
    assert len(everywhere) > 5
    for name, method in methods(owner).items():
        told = explained(method) | everywhere
        if hasattr(sonicpy.Index, name):
            told |= explained(getattr(sonicpy.Index, name))
        missing = [argument for argument in inspect.signature(method).parameters if argument not in {"self", *told}]
        assert missing == [], f"{owner.__name__}.{name}"


@pytest.mark.parametrize("function", [sonicpy.open, sonicpy.connect, sonicpy.highlight])
def test_every_argument_of_a_function_is_explained(function: Any) -> None:
    missing = set(inspect.signature(function).parameters) - explained(function) - {"explanation"}
    assert missing == set()


def explained(method: Any) -> set[str]:
    """Return the arguments that the docstring of a method explains."""
    section = (inspect.getdoc(method) or "").partition("Args:\n")[2].partition("\n\n")[0]
    return {name for line in re.findall(r"^    (\w+(?:, \w+)*): ", section, re.MULTILINE) for name in line.split(", ")}
