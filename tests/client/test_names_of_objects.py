"""UUIDs and whole Decimals are accepted as names of objects everywhere, and as names in rows: in the library and both
clients.
"""

import uuid
from collections import namedtuple
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import sonicpy
from sonicpy import InvalidArgument
from tests.client.ways import WAYS
from tests.processes import Server

NAMES: list[tuple[Any, str]] = [
    (uuid.UUID("5b2aa842-1666-4d86-9c73-3b1f1ef49de6"), "5b2aa842-1666-4d86-9c73-3b1f1ef49de6"),
    (Decimal("12345678901234567890123"), "12345678901234567890123"),
    (Decimal("42.00"), "42"),
]
Book = namedtuple("Book", "shelf title room isbn")


@pytest.fixture(scope="module", params=["library", *WAYS])
def index(request: pytest.FixtureRequest, shared_server: Server) -> Iterator[Any]:
    if request.param == "library":
        with sonicpy.open(":memory:") as opened:
            yield opened
    else:
        with WAYS[request.param](f"sonic://{shared_server.host}:{shared_server.port}") as client:
            yield client
            client.flush("names")


@pytest.mark.parametrize(("given", "name"), NAMES)
def test_every_method_that_takes_a_name(index: Any, given: Any, name: str) -> None:
    bucket = index.bucket("names", f"b{name}")
    bucket.push("first", "kiwi")
    bucket.push(given, "kiwi plum", "none")
    assert bucket.push_many([(given, "fig"), {"id": given, "text": "pear"}], lang="none").indexed == 2
    assert bucket.query("fig") == [name]
    assert (bucket.exists(given), bucket.count(given), bucket.count(name)) == (True, 4, 4)
    bucket.push("last", "kiwi")
    assert bucket.objects(after=given) == ["last"]
    assert bucket.pop(given, "plum") == 1
    assert index.count_object_words("names", f"b{name}", given) == 3
    assert bucket.flush(given) == 3
    assert bucket.exists(given) is False
    bucket.push(given, "kiwi")
    assert index.flush_object("names", f"b{name}", given) == 1


def test_a_batch_takes_them(index: Any) -> None:
    with index.batch() as batch:
        for given, _ in NAMES:
            batch.push("names", "batch", given, "kiwi", "none")
    assert sorted(index.objects("names", "batch")) == sorted(name for _, name in NAMES)


def test_other_numbers_and_names_are_refused(index: Any) -> None:
    for given, shown in ((Decimal("42.5"), r"Decimal\('42.5'\)"), (Decimal("NaN"), r"Decimal\('NaN'\)")):
        with pytest.raises(InvalidArgument, match=f"object is {shown}; allowed are .* or a whole number"):
            index.push("names", "default", given, "x")


def test_rows_that_have_names(index: Any) -> None:
    rows = [Book("s1", "kiwi", "r1", NAMES[0][0]), Book("s2", "plum", "r2", 7)]
    report = index.push_many(rows, collection="names", bucket="rows", object="isbn", text="title", lang="none")
    assert (report.indexed, report.refused) == (2, [])
    assert index.query("names", "rows", "kiwi") == [NAMES[0][1]]
    report = index.push_many(rows, collection="names", bucket="wrong", object="isbn", text="titel", lang="none")
    assert (report.indexed, report.refused_count) == (0, 2)
    assert report.refused[1] == (1, "7", "the row has no titel; it has shelf, title, room, isbn")
    report = index.push_many(rows, object="isbn", text="title", lang="none")
    assert report.refused[0].reason == "the row has no collection and no bucket; it has shelf, title, room, isbn"
    assert [index.count(name, "r1") for name in ("s1", "names")] == [0, 0]
    assert index.count("names", "wrong") == 0


def test_a_bucket_refuses_rows_of_other_buckets(index: Any) -> None:
    numpy = pytest.importorskip("numpy")
    rows = [
        ("names", "own", "o1", "kiwi"),
        ["names", "own", "o2", "kiwi", "none"],
        ("a1", "nike", "shirt", "red cotton shirt"),
        ["names", "others", "o3", "kiwi", "none"],
        ("other", "own", "o4", "kiwi", "none", None),
        (numpy.array(["a", "b"]), "own", "o5", "kiwi"),
        {"collection": "a1", "bucket": "nike", "id": "o6", "text": "kiwi"},
        ("o7", "kiwi"),
    ]
    report = index.bucket("names", "own").push_many(rows, lang="none")
    allowed = "allowed is 'own' of 'names'"
    assert report.refused == [
        (2, "shirt", f"the row is of the bucket 'nike' of 'a1'; {allowed}"),
        (3, "o3", f"the row is of the bucket 'others' of 'names'; {allowed}"),
        (4, "o4", f"the row is of the bucket 'own' of 'other'; {allowed}"),
        (5, "o5", f"the row is of the bucket 'own' of a value of type ndarray; {allowed}"),
    ]
    assert index.objects("names", "own") == ["o1", "o2", "o6", "o7"], "a row with names is of the bucket"
    assert [index.buckets(name) for name in ("a1", "other")] == [[], []]
    assert index.objects("names", "others") == []


def test_wrong_rows_of_a_bucket_have_the_usual_sentence(index: Any) -> None:
    with pytest.raises(InvalidArgument, match="^rows is of type str; allowed are "):
        index.bucket("names", "own").push_many("text")
