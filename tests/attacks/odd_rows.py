"""Rows of every kind, with odd names, orders, values and quotes: the index agrees with a slow model.

Half of the rows go through `push_many`, and the other half through CSV files that `sonicpy import` reads, in which some
quotes are not closed. The model reads a row from its description, column by column; it shares no code with sonicpy. A
row is right if its object holds exactly its words in exactly its bucket, or if sonicpy refuses it with a sentence.
"""

import collections
import contextlib
import dataclasses
import io
import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import sonicpy
from sonicpy.cli.main import main
from tests.attacks.outcome import Outcome

ROWS = 20_000
CALLS = 100
"""The number of calls of push_many, and of files, among ROWS rows."""
COLUMNS = ("id", "object", "text", "isbn", "title", "collection", "bucket", "lang", "Id", "txt", "more")
SCOPES = ("c0", "c1")
BUCKETS = ("b0", "b1")

Place = tuple[str, str, str]
"""Collection, bucket and object."""
Values = dict[str, Any]


class Ask(NamedTuple):
    """The arguments of a call of push_many, without the rows."""

    collection: str | None
    bucket: str | None
    object: str | None
    text: str | list[str]
    lang: str | None


class Given(NamedTuple):
    """A row: whether it has names, whether text columns may be missing, its columns in order, and the row itself."""

    is_named: bool
    is_sparse: bool
    values: Values
    row: Any


class Record:
    """A row with keys() that iterates over its values, as a row of asyncpg does."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def keys(self) -> Iterator[str]:
        return iter(self._values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values.values())


def of_sqlite(values: Values) -> Any:
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.row_factory = sqlite3.Row
        names = ", ".join(f"? AS {name}" for name in values)
        bound = [value if _is_of_sqlite(value) else None for value in values.values()]
        return database.execute(f"SELECT {names}", bound).fetchone()


def _is_of_sqlite(value: Any) -> bool:
    return isinstance(value, str | float | bytes) or (isinstance(value, int) and value < 2**63)


KINDS: tuple[tuple[Callable[[Values], Any], bool, bool], ...] = (
    (dict, True, True),
    (collections.OrderedDict, True, True),
    (lambda values: collections.namedtuple("Row", values)(**values), True, False),  # type: ignore[misc]
    (lambda values: dataclasses.make_dataclass("Row", list(values))(**values), True, False),
    (Record, True, False),
    (of_sqlite, True, False),
    (lambda values: tuple(values.values()), False, False),
    (lambda values: list(values.values()), False, False),
)
"""(function that makes a row of columns, whether the row has names, whether text columns may be missing)."""


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Push generated rows and compare the index with the model; return the outcome."""
    chance = random.Random(seed)
    calls, each = max(2, round(CALLS * min(1.0, scale * 4))), 0
    each = max(1, round(ROWS * scale / calls))
    wrong: list[str] = []
    refused = 0
    with sonicpy.open(folder / "index", {"search.ranking": "newest"}) as index:
        for call in range(calls // 2):
            refused += _push(chance, index, call, each, wrong)
            _flush(index)
    for call in range(calls - calls // 2):
        refused += _import(chance, folder / f"file{call}", each, wrong)
    return Outcome(calls * each, wrong, f"{refused} rows refused with a sentence")


# -- push_many ----------------------------------------------------------------------------------------------------


def _push(chance: random.Random, index: sonicpy.Index, call: int, count: int, wrong: list[str]) -> int:
    ask = _ask(chance)
    rows = [_row(chance, number) for number in range(count)]
    expected: dict[Place, set[str]] = {}
    bad = []
    for number, given in enumerate(rows):
        parts = _parts_by_name(given, ask) if given.is_named else _parts_by_place(given, ask)
        place = None if parts is None else _place(parts)
        if place is None or parts is None:
            bad.append(number)
        else:
            expected.setdefault(place, set()).update(parts[3].lower().replace("-", " ").split())
    report = index.push_many(iter([given.row for given in rows]), **ask._asdict())
    told = [refused.row for refused in report.refused]
    if told != bad or report.indexed != count - len(bad):
        odd = sorted({*told} ^ {*bad})[:1]
        wrong.append(f"push_many {call}, {ask}: rows {odd} {[rows[n].row for n in odd]} refused or taken wrongly")
    wrong.extend(f"a reason that is no sentence: {r.reason}" for r in report.refused if len(r.reason) < 15)
    if (there := _held(index)) != expected:
        odd_place = next(place for place in (there.keys() | expected.keys()) if there.get(place) != expected.get(place))
        found, meant = there.get(odd_place), expected.get(odd_place)
        wrong.append(f"push_many {call}, {ask}: {odd_place} holds {found} instead of {meant}")
    return len(bad)


def _ask(chance: random.Random) -> Ask:
    return Ask(
        chance.choice((None, "c0")),
        chance.choice((None, "b0")),
        chance.choice((None, None, "isbn", "id")),
        chance.choice(("text", "text", "title", ["title", "text"], ["text", "more"])),
        chance.choice((None, "none")),
    )


def _row(chance: random.Random, number: int) -> Given:
    make, is_named, is_sparse = chance.choice(KINDS)
    names = chance.sample(COLUMNS, chance.randint(1, 8) if chance.random() < 0.5 else len(COLUMNS))
    values = {name: _value(chance, name, number) for name in names}
    if not is_named:  # values for a place, not for a name
        places = chance.choice(
            ((), ("id",), ("id", "text"), ("id", "text", "lang"), ("collection", "bucket", "id", "text"))
        )
        values = {
            name: _value(chance, name, number) for name in (*places, *chance.sample(["lang"], chance.randint(0, 1)))
        }
    row = make(values)
    if make is of_sqlite:
        values = dict(zip(values, tuple(row), strict=True))
    return Given(is_named, is_sparse, values, row)


def _value(chance: random.Random, name: str, number: int) -> Any:
    match name:
        case "collection":
            return chance.choice((*SCOPES * 5, "two words", "", None, 7))
        case "bucket":
            return chance.choice((*BUCKETS * 5, "a\tb", None, b"b0"))
        case "lang":
            return chance.choice((None, "none", "eng", "en-GB", "") * 3 + ("klingon", 5))
        case "id" | "object" | "isbn" | "Id":
            return chance.choice(_names(number)[: None if chance.random() < 0.3 else VALID_NAMES])
    return chance.choice((f"w{number}x",) * 12 + (None, float("nan"), 7, b"x"))


VALID_NAMES = 9


def _names(number: int) -> tuple[Any, ...]:
    return (
        f"o{number}", f"ö{number}", number, float(number), Decimal(number), Decimal(f"{number}.00"), UUID(int=number),
        10**40 + number, Decimal(10**40 + number), "two words", "", "x" * 129, None, float("nan"), number + 0.5,
        Decimal(f"{number}.5"), Decimal("NaN"), Decimal("1e999999"), True, b"o", 10**130, ("o",), {},
    )  # fmt: skip


def _parts_by_place(given: Given, ask: Ask) -> tuple[Any, ...] | None:
    values = list(given.values.values())
    scope = [ask.collection, ask.bucket]
    shapes = {
        2: lambda: [*scope, *values, ask.lang], 3: lambda: [*scope, *values],
        4: lambda: [*values, ask.lang], 5: lambda: values,
    }  # fmt: skip
    return tuple(shapes[len(values)]()) if len(values) in shapes else None


def _parts_by_name(given: Given, ask: Ask) -> tuple[Any, ...] | None:
    row = given.values
    names = [name for name in ([ask.object] if ask.object else ["id", "object"]) if name in row]
    texts = [ask.text] if isinstance(ask.text, str) else ask.text
    there = [name for name in texts if name in row]
    if not names or not there or (len(there) < len(texts) and not given.is_sparse):
        return None
    scope = []
    for name, fixed in (("collection", ask.collection), ("bucket", ask.bucket)):
        if fixed is None and name not in row:
            return None
        scope.append(row[name] if fixed is None else fixed)
    given_texts = [row[name] for name in there if len(texts) == 1 or not (row[name] is None or row[name] != row[name])]
    if not given_texts or not all(isinstance(text, str) for text in given_texts):
        return None
    lang = row.get("lang") if ask.lang is None else ask.lang
    return (*scope, row[names[0]], given_texts[0], lang)  # all texts of a row are the same word


def _place(parts: tuple[Any, ...]) -> Place | None:
    collection, bucket, oid, text, lang = parts
    name = _name(oid)
    if name is None or not _is_scope(collection) or not _is_scope(bucket) or not isinstance(text, str):
        return None
    return None if lang not in (None, "none", "eng", "en-GB", "") else (collection, bucket, name)


def _is_scope(name: Any) -> bool:
    return isinstance(name, str) and name.isascii() and name.split() == [name]


def _name(oid: Any) -> str | None:
    """Return the name for a value by the table in docs/library.md; None: the value is refused."""
    if isinstance(oid, str):
        return oid if oid not in ("", "two words") and len(oid) <= 128 else None
    if isinstance(oid, UUID):
        return f"{oid.hex[:8]}-{oid.hex[8:12]}-{oid.hex[12:16]}-{oid.hex[16:20]}-{oid.hex[20:]}"
    if isinstance(oid, bool) or not isinstance(oid, int | float | Decimal):
        return None
    digits = repr(oid) if isinstance(oid, int | float) else str(oid)
    whole, _, fraction = digits.partition(".")
    fits = whole.isdecimal() and not fraction.strip("0") and len(whole) <= 128
    return whole if fits else None


def _held(index: sonicpy.Index) -> dict[Place, set[str]]:
    return {
        (holding.collection, holding.bucket, holding.object): {*holding.terms, *holding.hidden}
        for collection in index.collections()
        for holding in index.holdings(collection)
    }


def _flush(index: sonicpy.Index) -> None:
    for collection in index.collections():
        index.flush(collection)


# -- CSV files ----------------------------------------------------------------------------------------------------


def _import(chance: random.Random, folder: Path, count: int, wrong: list[str]) -> int:
    """Import a file with some unclosed quotes, and check the indexed rows and the messages. Return the number of
    refused rows.
    """
    folder.mkdir()
    texts: list[str] = []
    there: set[str] = set()
    broken: dict[int, int] = {}
    line = 2
    for number in range(count):
        word, kind = f"w{number}x", chance.randrange(6)
        record = {
            0: f'o{number},"{word}\n\nof, ""three"" lines"\n', 1: f'"o{number}","{word}"\n', 2: f'o{number},"{word}\n',
        }.get(kind, f"o{number},{word}\n")  # fmt: skip
        if kind == 2:
            broken[line] = number
            record += f'"o{number}b","{word}"\n'  # the next quote shows that the one before has no partner
            there.add(f"o{number}b")
        else:
            there.add(f"o{number}")
        texts.append(record)
        line += record.count("\n")
    path = folder / "rows.csv"
    path.write_text("id,text\n" + "".join(texts))
    verb = ["import", str(path), "--collection", "c0", "--bucket", "b0", "--lang", "none", "--data", str(folder / "d")]
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()), _without_settings():
        status = main([*verb, "--bad", str(folder / "bad"), "--json"])
    told = [json.loads(bad) for bad in (folder / "bad").read_text().splitlines()]
    for bad, begins in zip(told, broken, strict=False):
        if f"the quote in line {begins} begins a field that does not end" not in bad["reason"]:
            wrong.append(f"{path}: the quote in line {begins} is told as: {bad['reason']}")
    with sonicpy.open(folder / "d") as index:
        held = {holding.object for holding in index.holdings("c0", "b0")}
    if held != there or len(told) != len(broken) or status != (3 if broken else 0):
        odd = sorted(held ^ there)[:3]
        wrong.append(f"{path}: status {status}, {len(told)} refused instead of {len(broken)}, wrong objects {odd}")
    return len(told)


@contextlib.contextmanager
def _without_settings() -> Iterator[None]:
    """Hide the settings of this process from the import."""
    kept = {name: value for name, value in os.environ.items() if name.upper().startswith(("SONIC_", "SONICPY_"))}
    for name in kept:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(kept)
