"""Tests of sonicpy._native.known_digests and of digests of many rows, compared with a dictionary."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.digest import digest_of, digests_of, normal_text
from sonicpy._native.known_digests import KnownDigests
from sonicpy.api.rows import Refused, Row

EMPTY = bytes(8)
# Few first bytes, by which digests are hashed, and few digests at all, so that they collide.
digests = st.builds(
    lambda low, high: low.to_bytes(4, "little") + high.to_bytes(4, "little"),
    st.integers(0, 40) | st.integers(0, 2**32 - 1),
    st.integers(0, 3),
)
texts = st.text(st.sampled_from("ab \t\u00a0\u3000é中\ud800"), max_size=12)


def row(name: str, **others: Any) -> Row:
    return Row("c", "b", name, "", None, **others)


@given(st.lists(digests, max_size=300, unique=True), st.data())
def test_rows_are_found_as_in_a_dictionary(held: list[bytes], data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(held) + 20))
    known, twin = KnownDigests(end), {}
    for first in range(0, len(held), 64):
        known.add(first, b"".join(held[first : first + 64]))
    twin = {digest: iid for iid, digest in enumerate(held) if digest != EMPTY and iid < end}
    assert len(known) == len(twin)
    asked = data.draw(st.lists(st.sampled_from(held) | digests if held else digests, max_size=60))
    names = data.draw(st.lists(st.integers(0, 60), max_size=2))
    rows = [row(str(number)) for number in range(len(asked))]
    found = known.others(rows, asked, {hash(str(name)) for name in names})
    are_known = {place for place, digest in enumerate(asked) if digest in twin and place not in names}
    assert found == [place for place in range(len(asked)) if place not in are_known]
    marked = {twin[asked[place]] for place in are_known}
    assert known.marked == len(marked)
    assert {iid for iid in range(end + 30) if known.is_marked(iid)} == marked
    numbers = [number for number in range(-(-end // 16)) if not marked >= {*range(16 * number, 16 * number + 16)}]
    assert known.unmarked_rows(0, 100) == numbers
    for number in numbers[:2]:
        assert known.unmarked_rows(number, 1) == [number]


def test_rows_with_more_than_a_text_are_others() -> None:
    known = KnownDigests(5)
    known.add(0, b"12345678")
    plain, tagged, valued, drawn = row("1"), row("1", tags=[]), row("1", values={}), row("1", vector="AAAA")
    rows = [Refused(0, "1", ""), tagged, valued, drawn, plain, plain]
    assert known.others(rows, [None, *[b"12345678"] * 4, None], set()) == [0, 1, 2, 3, 5]
    assert known.marked == 1


@given(st.lists(st.tuples(texts, st.sampled_from([None, "eng"]), st.booleans(), st.sampled_from("bc")), max_size=20))
def test_digests_of_many_rows_are_those_of_each(given_rows: list[tuple[str, str | None, bool, str]]) -> None:
    rows: list[Any] = []
    for text, lang, named, bucket in given_rows:
        rows.append(Row("c", bucket, "1", text, lang, texts={"title": text} if named else None))
    rows.insert(0, Refused(0, "1", ""))
    before = rows.copy()
    found = digests_of(rows, Row, lambda collection, bucket: ord(bucket))
    for digest, one, was in zip(found, rows, before, strict=True):
        if isinstance(was, Refused) or was.texts:
            assert (digest, one) == (None, was)
            continue
        assert one == was._replace(text=normal_text(was.text)) and type(one) is Row
        try:
            assert digest == digest_of("1", one.text, one.lang, ord(one.bucket))
        except UnicodeEncodeError:
            assert isinstance(digest, UnicodeEncodeError)


def test_what_is_no_row_has_no_digest() -> None:
    assert digests_of([(), 5, SimpleNamespace()], tuple, lambda *scope: 1) == [None] * 3
    assert digests_of([5], int, lambda *scope: 1) == [None]
    with pytest.raises(TypeError):
        digests_of([Row("c", "b", None, "x", None)], Row, lambda *scope: 1)  # type: ignore[arg-type]
