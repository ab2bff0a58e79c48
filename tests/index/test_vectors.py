"""Vectors of objects, and queries ordered by them, compared with a reference implementation: live, replayed, restored,
imported.
"""

import array
import random
import shutil
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy._native import vectors as native
from sonicpy._native.terms import Terms
from sonicpy.channel.commands import Upsert
from sonicpy.index.index import Index
from sonicpy.index.ingest.held_vectors import forget_vectors
from sonicpy.rules import NEWEST
from sonicpy.server.connections.dispatch import CALLS
from sonicpy.store.changing import remove_steps
from sonicpy.store.changing.mutations import UpsertTerms
from sonicpy.store.disk.table_numbers import VECTORS
from sonicpy.vectors import bits_of, numbers_of, read_bits, read_numbers
from tests.reference.meaning import Columns, Scored, reordered
from tests.support.examples import some

C, B = "c", "b"
WORDS = "red green blue fox dog cat runs sleeps".split()


@pytest.fixture
def index() -> Iterator[Index]:
    with sonicpy.open(":memory:") as opened:
        yield opened


def stored(index: Index) -> dict[str, dict[str, tuple[bool, ...]]]:
    """Return the signs of every object's vectors by column, as an export has them."""
    return {
        held.object: {
            name: tuple(bool(bits[place // 8] >> (7 - place % 8) & 1) for place in range(8 * len(bits)))
            for name, text in held.fields.get("vectors", {}).items()
            for _, bits in read_bits(text)
        }
        for held in index.holdings()
    }


def numbers(dice: random.Random, length: int) -> list[float]:
    return [dice.choice([-1.5, -0.1, 0.0, 0.2, 3.0]) for _ in range(length)]


def change(dice: random.Random, index: Index, twin: Columns) -> None:
    """Make a random change in an index and in its reference implementation."""
    oid = f"o{dice.randrange(150)}"
    match dice.choice(["push"] * 6 + ["vector"] * 5 + ["flush", "flush", "pop", "drop", "all"]):
        case "push":
            index.push(C, B, oid, " ".join(dice.sample(WORDS, 3)))
            twin.objects.setdefault(oid, {})
        case "vector":
            name, vector = dice.choice(["", "", "old", "new", "third"]), numbers(dice, dice.choice([24, 24, 24, 64]))
            given: Any = {name: vector} if name else vector
            text = dice.choice(["", "red", " ".join(dice.sample(WORDS, 2))])
            give = dice.choice([index.push, index.upsert])
            if twin.give(oid, name, vector):
                give(C, B, oid, text, vector=given)
            else:
                with pytest.raises(sonicpy.InvalidArgument, match=r"^the vector is refused: it"):
                    give(C, B, oid, text, vector=given)
        case "flush":
            index.flush_object(C, B, oid)
            twin.objects.pop(oid, None)
        case "pop":
            index.pop(C, B, oid, " ".join(WORDS))
            twin.objects.pop(oid, None)
        case "drop":
            name = dice.choice(["old", "new", "vector"])
            assert index.drop_vectors(C, B, name) == twin.drop(name)
        case _ if dice.random() < 0.2:
            index.flush_bucket(C, B)
            twin.objects.clear()
            twin.lengths.clear()


@pytest.mark.parametrize("seed", some(range(3), 3))
def test_vectors_are_those_of_the_twin(tmp_path: Path, seed: int) -> None:
    dice, twin = random.Random(seed), Columns()
    with sonicpy.open(tmp_path / "store") as index:
        for _ in range(6):
            with index.batch():
                for _ in range(60):
                    change(dice, index, twin)
            assert stored(index) == twin.objects
        assert index.verify() == []
        shutil.copytree(tmp_path / "store", tmp_path / "killed")
        index.backup(tmp_path / "backup")
        with sonicpy.open(":memory:") as other:
            for held in index.holdings():
                other.push_terms(
                    held.collection, held.bucket, held.object, held.terms, held.hidden, held.rules, held.languages,
                    held.fields,
                )  # fmt: skip
            assert stored(other) == twin.objects
    with sonicpy.open(tmp_path / "killed") as again:
        assert (stored(again), again.verify()) == (twin.objects, [])
    with sonicpy.open(tmp_path / "new") as restored:
        restored.restore(tmp_path / "backup")
        assert (stored(restored), restored.verify()) == (twin.objects, [])


@pytest.mark.parametrize("seed", range(3))
def test_the_order_is_that_of_the_twin(index: Index, seed: int) -> None:
    dice, twin = random.Random(seed), Columns()
    with index.batch():
        for number in range(250):
            vector = numbers(dice, 48) if dice.random() < 0.8 else None
            index.push(C, B, f"o{number}", " ".join(dice.sample(WORDS, dice.randrange(1, 6))), vector=vector)
            if vector is not None:
                twin.give(f"o{number}", "", vector)
    signs = {oid: held["vector"] for oid, held in twin.objects.items() if held}
    for _ in range(30):
        text = " ".join(dice.sample(WORDS, dice.randrange(1, 4)))
        query = [dice.randrange(-127, 128) for _ in range(47)] + [127]
        depth, meaning = dice.choice([0, 1, 20, 50, 1000]), dice.choice([0, 0.5, 2])
        words = [Scored(hit.object, hit.score or 0.0) for hit in index.query(C, B, text, limit=1000)]
        expected = reordered(words, signs, query, meaning, depth)
        found = index.query(C, B, text, limit=1000, vector=query, meaning=meaning, depth=depth, total=True)
        assert [(hit.object, hit.score) for hit in found] == [
            (one.object, pytest.approx(one.score)) for one in expected
        ]
        assert found.total == len(words), "a vector finds nothing"
        pages = [
            index.query(C, B, text, limit=7, offset=at, vector=query, meaning=meaning, depth=depth)
            for at in range(0, 70, 7)
        ]
        assert [name for page in pages for name in page] == found[:70], "pages are slices of one ranking"
        explained = index.explain(C, B, text, limit=10, vector=query, meaning=meaning, depth=depth)
        assert [hit.object for hit in explained.hits] == found[:10]
        for hit in explained.hits:
            parts = hit.base + sum(part.score or 0 for part in hit.parts) + (hit.more_score or 0) + (hit.meaning or 0)
            assert hit.score == pytest.approx(parts)
            assert (hit.likeness is not None) <= (hit.object in signs)


def test_every_form_of_a_vector_means_its_signs(index: Index) -> None:
    given = [0.5, -2.0, 0.0, 1e-9, 3.0, -1.0, -7.0, 1.0]
    bits = bytes([0b10011001])
    forms: list[Any] = [
        given, tuple(given), array.array("d", given), array.array("f", given),
        array.array("b", [1, -1, 0, 1, 9, -9, -9, 1]),
        bits, bytearray(bits), memoryview(bits), iter(given), [1, -1, 0, 1, 1, -1, -1, 1],
    ]  # fmt: skip
    for form in forms:
        assert read_bits(bits_of("vector", form) or "") == (("", bits),)
    assert read_bits(bits_of("vector", {"m/1": given, "b": bits}) or "") == (("m/1", bits), ("b", bits))
    assert read_numbers(numbers_of("vector", [0.5, -1, 0, 1, 0, 0, 0, 0.25]) or "") == (
        "", array.array("b", [64, -127, 0, 127, 0, 0, 0, 32]).tobytes(),
    )  # fmt: skip
    assert (
        read_numbers(numbers_of("vector", {"m": bits}) or "")[1]
        == array.array("b", [127, -127, -127, 127, 127, -127, -127, 127]).tobytes()
    )
    index.push(C, B, "o1", "red", vector=given)
    assert stored(index) == {"o1": {"vector": (True, False, False, True, True, False, False, True)}}


def test_arrays_of_other_packages() -> None:
    numpy = pytest.importorskip("numpy")
    given = numpy.array([0.5, -2.0, 0.0, 1.0] * 4)
    bits = numpy.packbits(given > 0).tobytes()
    for kind in ("float64", "float32", "float16", "int64", "int8", ">f4"):
        assert (
            read_bits(bits_of("vector", given.astype(kind)) or "")[0][1]
            == numpy.packbits(given.astype(kind) > 0).tobytes()
        )
    assert read_bits(bits_of("vector", numpy.frombuffer(bits, "uint8")) or "") == (("", bits),)
    assert read_bits(bits_of("vector", numpy.stack([given, given], 1)[:, 0]) or "") == (("", bits),), "not in a row"
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.array([given.tolist(), None], pyarrow.list_(pyarrow.float32()))
    assert read_bits(bits_of("vector", column[0]) or "") == (("", bits),)
    packed = pyarrow.array(list(bits), pyarrow.uint8())
    for one in (packed, pyarrow.chunked_array([packed]), pyarrow.scalar(list(bits), pyarrow.list_(pyarrow.uint8()))):
        assert read_bits(bits_of("vector", one) or "") == (("", bits),), "unsigned bytes are packed bits, as of NumPy"
    for wrong, says in ((column[1], "it is None"), (given.reshape(2, 8), "it has 2 dimensions; allowed is 1$")):
        with pytest.raises(sonicpy.InvalidArgument, match=says):
            bits_of("vector", wrong)


WRONG = [
    ([1.0] * 7, "7 numbers"), ([], "0 numbers"), ([1.0] * 1032, "1032 numbers"),
    ([float("nan")] * 8, "number 0 is nan"),
    (b"", "0 numbers"), ("AA", "base 64"), ("x y:AA==", "the column is 'x y'"), (3, "it is 3"), ([[1.0] * 8], "."),
    ({"a": b"1", "b": b"1", "c": b"1"}, "3 columns"), ({}, "it has 0 columns"),
    (["a"] * 8, "one of its numbers must be real number, not str"), ({1.0, 2.0}, "it is of type set"),
]  # fmt: skip


@pytest.mark.parametrize(("vector", "says"), WRONG)
def test_a_wrong_vector_is_refused_in_a_sentence(index: Index, vector: Any, says: str) -> None:
    with pytest.raises(sonicpy.InvalidArgument, match=f"^vector is refused, .*{says}.*; allowed are "):
        index.push(C, B, "o1", "red", vector=vector)
    with pytest.raises(sonicpy.InvalidArgument, match="^vector is refused"):
        index.query(C, B, "red", vector=vector)
    assert index.count(C, B) == 0


def test_a_query_with_the_vector_of_another_model_is_refused(index: Index) -> None:
    index.push(C, B, "o1", "red", vector={"old": [1.0] * 16})
    for several in ({"old": [1.0] * 16, "new": [1.0] * 16}, "old:AAAA,new:AAAA"):
        with pytest.raises(sonicpy.InvalidArgument, match="it has 2 columns; allowed is 1$"):
            index.query(C, B, "red", vector=several)
    for vector in ([1.0] * 8, {"new": [1.0] * 16}):
        for ask in (index.query, index.explain):
            with pytest.raises(sonicpy.InvalidArgument, match="^the vector is refused: it"):
                ask(C, B, "red", vector=vector)
    index.push(C, B, "o1", "", vector={"new": [1.0] * 8})
    with pytest.raises(sonicpy.InvalidArgument, match="names no column, the bucket has old and new"):
        index.query(C, B, "red", vector=[1.0] * 8)
    assert index.query(C, B, "red", vector={"new": [1.0] * 8}) == ["o1"]


def test_a_column_may_be_that_of_one_of_several_buckets(index: Index) -> None:
    index.push(C, "texts", "o1", "red", vector={"text": [1.0] * 8})
    index.push(C, "both", "o2", "red", vector={"text": [-1.0] * 8, "image": [1.0] * 8})
    index.push(C, "images", "o3", "red", vector={"image": [-1.0] * 8})
    index.push(C, "none", "o4", "red")
    buckets = ["none", "texts", "both", "images"]
    found = index.query(C, buckets, "red", vector={"image": [1.0] * 8}, meaning=5.0)
    assert (found.objects[0], found.objects[-1], sorted(found.objects[1:-1])) == ("o2", "o3", ["o1", "o4"])
    assert index.query(C, ["texts", "none"], "red", vector=[1.0] * 8).objects == ["o1", "o4"]
    for asked, says in (
        (["texts", "images"], "names no column, the bucket has (image and text|text and image)"),
        (["both", "none"], "names no column"),
    ):
        with pytest.raises(sonicpy.InvalidArgument, match=says):
            index.query(C, asked, "red", vector=[1.0] * 8)
    with pytest.raises(sonicpy.InvalidArgument, match="its column is sound"):
        index.query(C, buckets, "red", vector={"sound": [1.0] * 8})


@pytest.mark.parametrize("upsert", [False, True])
def test_rows_bring_vectors(index: Index, upsert: bool) -> None:
    rows: list[Any] = [
        {"id": "o1", "text": "red", "v": [1.0] * 8},
        {"id": "o2", "text": "red", "v": None},
        {"id": "o3", "text": "red"},
        {"id": "o4", "text": "red", "v": [1.0] * 16},
        {"id": "o5", "text": "red", "v": [1.0] * 3},
        (C, B, "o6", "red", None, b"\0"),
    ]
    report = index.push_many(rows, collection=C, bucket=B, vector="v", upsert=upsert)
    assert [(one.row, one.object) for one in report.refused] == [(3, "o4"), (4, "o5")]
    assert report.refused[0].reason == "the vector is refused: it has 16 bits, those of vector have 8"
    assert {oid: bool(held) for oid, held in stored(index).items()} == {
        "o1": True,
        "o2": False,
        "o3": False,
        "o6": True,
    }
    report = index.push_many([{"id": "o2", "text": "", "a": b"\1"}], collection=C, bucket=B, vector={"vector": "a"})
    assert report.indexed == 1 and stored(index)["o2"]["vector"][7]


def test_rows_of_tables_bring_vectors(index: Index) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    given = {"id": ["o1", "o2"], "text": ["red"] * 2, "v": [[1.0, -1.0] * 4, None]}
    kinds = (pyarrow.float32(), pyarrow.float64(), pyarrow.int8())
    types = [(pyarrow.list_(kind), given["v"]) for kind in kinds] + [(pyarrow.list_(kinds[0], 8), given["v"])]
    types += [(pyarrow.binary(), [b"\xaa", None]), (pyarrow.list_(pyarrow.uint8()), [[0xAA], None])]
    for number, (kind, vectors) in enumerate(types):
        table = pyarrow.table({**given, "v": pyarrow.array(vectors, kind), "w": pyarrow.array(vectors, kind)})
        index.push_many(table, collection=C, bucket=f"b{number}", vector="v")
        index.push_many(table, collection=C, bucket=f"two{number}", vector={"a": "v", "b": "w"})
        for bucket, columns in ((f"b{number}", {"vector"}), (f"two{number}", {"a", "b"})):
            held = {one.object: one.fields.get("vectors", {}) for one in index.holdings(C, bucket)}
            assert held == {"o1": dict.fromkeys(columns, "qg=="), "o2": {}}, kind
    with pytest.raises(sonicpy.InvalidArgument, match="the table has no column x; it has id, text, v"):
        index.push_many(pyarrow.table(given), collection=C, bucket=B, vector="x")


def test_rows_of_polars_bring_vectors(index: Index) -> None:
    polars = pytest.importorskip("polars", reason="needs the extra [tables]")
    table = {"id": ["o1", "o2"], "text": ["red"] * 2}
    columns = [([[1.0, -1.0] * 4, None], polars.List(polars.Float32)), ([[0xAA], None], polars.List(polars.UInt8))]
    for number, (vectors, kind) in enumerate([*columns, ([[0xAA], None], polars.Array(polars.UInt8, 1))]):
        frame = polars.DataFrame(table).with_columns(polars.Series("v", vectors, dtype=kind))
        assert index.push_many(frame, collection=C, bucket=f"b{number}", vector="v").indexed == 2
        held = {one.object: one.fields.get("vectors", {}) for one in index.holdings(C, f"b{number}")}
        assert held == {"o1": {"vector": "qg=="}, "o2": {}}, kind


def test_rows_that_lack_their_vectors(index: Index) -> None:
    named = namedtuple("named", ["id", "text"])
    rows = [("o1", "red"), named("o2", "red"), {"id": "o3", "text": "red", "v": float("nan")}]
    report = index.push_many(rows, collection=C, bucket=B, vector="v")
    assert [(one.row, one.reason) for one in report.refused] == [
        (0, "a row without names of columns has no column with tags, values or a vector"),
        (1, "the row has no v; it has id, text"),
    ]
    assert index.exists(C, B, "o3"), "a missing value is no vector"
    for vector in ({"": "v"}, {"": "v", "m": "w"}, {"a b": "v"}):
        with pytest.raises(sonicpy.InvalidArgument, match="names of columns of vectors as keys"):
            index.push_many(rows, collection=C, bucket=B, vector=vector)
    wrong = array.array("f", [float("nan")] + [1.0] * 7)
    (refused,) = index.push_many([{"id": "o4", "text": "red", "v": wrong}], collection=C, bucket=B, vector="v").refused
    assert refused.reason == "vector is refused, its number 0 is nan; allowed are finite numbers"


def test_a_replacement_with_a_wrong_vector_changes_nothing(index: Index) -> None:
    index.upsert(C, B, "o1", "red", vector=[1.0] * 8)
    before = [*index.holdings()]
    for text in ("red", "blue"):
        with pytest.raises(sonicpy.InvalidArgument, match="^the vector is refused: it has 16 bits"):
            index.upsert(C, B, "o1", text, vector=[1.0] * 16, tags=["t"])
    upsert = Upsert(C, B, "o1", "blue", vector=bits_of("vector", [1.0] * 16))
    with pytest.raises(sonicpy.InvalidArgument, match="^the vector is refused"):
        CALLS[Upsert](index, upsert)
    assert [*index.holdings()] == before


def test_an_embedder_makes_vectors_of_texts_and_questions(tmp_path: Path) -> None:
    class Letters:
        """An embedder that counts letters: texts of similar letters are similar."""

        column = "letters"
        texts = 0
        calls = 0

        def __call__(self, texts: list[str]) -> list[list[float]]:
            self.calls += 1
            self.texts += len(texts)
            return [[text.count(chr(97 + place)) - 0.5 for place in range(24)] for text in texts]

        def question(self, texts: list[str]) -> list[list[float]]:
            return self([text.removeprefix("ask ") for text in texts])

    letters = Letters()
    with sonicpy.open(tmp_path / "store", embed=letters) as index:
        index.push(C, B, "o1", "ask abacus")
        index.push_many([(C, B, "o2", "ask hedgehog"), (C, B, "o3", ""), (C, B, "o4", "other", None, b"\0\0\0")])
        assert (letters.texts, letters.calls) == (2, 2), (
            "one call for many rows, none for given vectors and empty texts"
        )
        assert index.query(C, B, "ask hodge", limit=1) == index.query_ids(C, B, "ask hodge", limit=1) == ["o2"]
        assert index.query(C, B, "ask cab", limit=1) == ["o1"]
        assert index.explain(C, B, "ask cab").hits[0].meaning
    with sonicpy.open(tmp_path / "store") as index:
        assert stored(index)["o1"]["letters"][:4] == (True, True, True, False), "vectors stay without the embedder"
        assert index.query(C, B, "ask cab") == index.query(C, B, "ask cab", depth=0, vector=[1.0] * 24)


@pytest.mark.parametrize("column", ["", "m"])
@pytest.mark.parametrize(
    ("made", "says"),
    [
        (None, "it made None of 1 texts, no vectors"), (5, "it made 5 of 1 texts"), ([None], "no vector of 'red'"),
        ([], "0 vectors of 1 texts"), ([[1.0] * 9], "9 numbers"), ([[float("nan")] * 8], "number 0 is nan"),
    ],
)  # fmt: skip
def test_an_embedder_that_makes_no_vectors(made: Any, says: str, column: str) -> None:
    def embed(texts: list[str]) -> Any:
        return made

    if column:
        embed.column = column  # type: ignore[attr-defined]
    with sonicpy.open(":memory:", embed=embed) as index:
        for call in (
            lambda: index.push(C, B, "o1", "red"),
            lambda: index.upsert(C, B, "o1", "red"),
            lambda: index.push_many([(C, B, "o1", "red")]),
            lambda: index.query(C, B, "red"),
        ):
            with pytest.raises(sonicpy.InvalidArgument, match=f"^embed is refused.*{says}"):
                call()
        assert index.count(C, B) == 0


def test_what_is_no_embedder(tmp_path: Path) -> None:
    def embed(texts: list[str]) -> Any:
        raise AssertionError

    for wrong in (5, "model:embed"):
        with pytest.raises(sonicpy.InvalidArgument, match="^embed is .*; allowed is a function"):
            sonicpy.open(tmp_path / "store", embed=wrong)  # type: ignore[arg-type]
    for column in (None, 5, "a b"):
        embed.column = column  # type: ignore[attr-defined]
        with pytest.raises(sonicpy.InvalidArgument, match=r"^embed\.column is "):
            sonicpy.open(tmp_path / "store", embed=embed)
    assert not (tmp_path / "store").exists()


def test_an_answer_in_another_order_needs_no_vector() -> None:
    def embed(texts: list[str]) -> Any:
        raise AssertionError

    with sonicpy.open(":memory:", embed=embed) as index:
        index.push(C, B, "o1", "red", vector=[1.0] * 8)
        assert index.query(C, B, "red", sort="newest") == ["o1"]


def test_a_bucket_without_vectors_answers_by_words(index: Index) -> None:
    index.push(C, B, "o1", "red fox")
    plain = index.query(C, B, "fox")
    assert index.query(C, B, "fox", vector=[1.0] * 8).scores == plain.scores
    assert index.drop_vectors(C, B) == 0


def test_who_has_no_vectors_has_no_row_of_them(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "o1", "red fox")
        with index.engine.read() as view:
            assert "vectors" not in view.uses()
        index.push(C, B, "o1", "", vector=[1.0] * 8)
        with index.engine.read() as view:
            assert "vectors" in view.uses()


def test_compat_mode_has_no_vectors() -> None:
    with sonicpy.open(":memory:", {"server": {"compat": "sonic"}}) as index:
        for call in (
            lambda: index.push(C, B, "o1", "red", vector=[1.0] * 8),
            lambda: index.push_many([{"id": "1", "text": "x", "v": None}], collection=C, bucket=B, vector="v"),
        ):
            with pytest.raises(sonicpy.InvalidArgument, match="compat mode"):
                call()


def test_the_rank_newest_has_no_scores_to_add_to() -> None:
    with sonicpy.open(":memory:", {"search": {"ranking": "newest"}}) as index:
        index.push(C, B, "o1", "red", vector=[1.0] * 8)
        with pytest.raises(sonicpy.InvalidArgument, match=r"search\.ranking is newest, allowed is bm25"):
            index.query(C, B, "red", vector=[1.0] * 8)


@pytest.mark.parametrize("size", [1, 48, 128])
def test_a_row_fills_a_page_and_not_more(size: int) -> None:
    count, row = native.places_in_row(size), None
    for iid in (0, count - 1, count, 2**32 - 1, 2**40 - 1):
        key = b"prefix" + (iid // count).to_bytes(5, "big")
        assert native.places_of(b"prefix", size, [iid]) == [(key, iid % count)]
    for place in range(count):
        row = native.with_vector(row, place, bytes([place % 251]) * size)
    assert row is not None and 4080 - 2 * size < len(row) <= 4080
    assert native.held_places(row, size) == [*range(count)]
    assert native.vector_at(row, count - 1, size) == bytes([(count - 1) % 251]) * size
    for place in range(count):
        row = native.without_vector(row, place, size)
    assert row == b""


def test_a_column_goes_in_steps_also_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remove_steps, "VECTOR_ROWS_PER_STEP", 1)
    index = Index(tmp_path / "store", autocommit=False)
    store = index.engine.store
    for number in range(100):
        index.push(C, B, f"o{number}", "red", vector={"old": bytes([number]) * 128})
    index.engine.commit()
    assert index.drop_vectors(C, B) == 1
    assert store.has_removals, "the rest is left to steps"
    for number in range(5):
        index.push(C, B, f"o{number}", "", vector={"old": b"\1"})
    explained = index.explain(C, B, "red", vector=b"\1", depth=100, limit=100)
    assert {hit.object for hit in explained.hits if hit.likeness} == {f"o{number}" for number in range(5)}
    assert index.drop_vectors(C, B, "none") == 0
    assert store.take_step(), "there is more"
    index.flush_object(C, B, "o1")
    index.engine.commit()
    assert index.verify() == []
    shutil.copytree(tmp_path / "store", tmp_path / "killed")
    while store.take_step():
        pass
    index.engine.commit()
    for opened in (index, sonicpy.open(tmp_path / "killed")):
        assert not opened.engine.store.has_removals
        assert {oid for oid, held in stored(opened).items() if held} == {"o0", "o2", "o3", "o4"}
        with opened.engine.snapshot_of_now() as view:
            assert view.transaction.count(VECTORS) == 1
        assert opened.verify() == []
        opened.close()


def test_a_filter_and_a_boost_hold_for_a_query_with_a_vector() -> None:
    chance = random.Random(5)
    with sonicpy.open(":memory:") as index:
        for number in range(60):
            text = " ".join(chance.sample(["weather", "report", "hotel", "lisbon"], 2))
            vector = [chance.choice((-1.0, 1.0)) for _ in range(16)]
            index.push("c", "b", str(number), text, "eng", vector=vector, values={"v": number % 7})
        asked = [chance.choice((-1.0, 1.0)) for _ in range(16)]
        options: dict[str, Any] = {"vector": asked, "limit": 100, "lang": "eng", "how": True, "total": True}
        every = index.query("c", "b", "weather hotel", **options)
        some = index.query("c", "b", "weather hotel", filter="v > 2", **options)
        assert some.objects == [name for name in every if int(name) % 7 > 2] != []
        assert some.total == len(some)
        words = index.query("c", "b", "weather hotel", filter="v > 2", **{**options, "vector": None})
        assert dict(zip(some, some.hows or [], strict=True)) == dict(zip(words, words.hows or [], strict=True))
        assert [
            hit.object for hit in index.explain("c", "b", "weather hotel", filter="v > 2", vector=asked).hits
        ] == some[:10]
        boosted = index.query("c", "b", "weather hotel", boost="v", **{**options, "meaning": 0})
        assert boosted.scores == index.query("c", "b", "weather hotel", boost="v", **{**options, "vector": None}).scores
        assert index.query("c", "b", "weather", sort="v", vector=asked) == index.query("c", "b", "weather", sort="v")


def test_an_object_forgets_the_vectors_of_one_column(tmp_path: Path) -> None:
    with sonicpy.Index(tmp_path) as index:
        index.upsert("c", "b", "o", "boat", vector={"mine": [1] * 24, "its": [-1] * 16})
        (before,) = index.holdings("c", "b")
        for oid in ("o", "absent"):
            forget_vectors(index.engine, UpsertTerms("c", "b", oid, Terms([], b"", b""), NEWEST, ()), "mine")
        (after,) = index.holdings("c", "b")
    kept = before.fields["vectors"].copy()
    assert kept.pop("mine")
    assert (after.fields["vectors"], after.terms) == (kept, before.terms)
