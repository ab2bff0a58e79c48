"""The order of objects by words and meaning, beside a slow one."""

from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.likeness import likenesses, reorder
from sonicpy._native.vectors import with_vector

SCORES = st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, 2.25]), max_size=12)
SUMS = st.lists(st.none() | st.integers(-300, 300), max_size=12)


@given(SCORES, SUMS, st.sampled_from([0.0, 100.0, 331.7]), st.sampled_from([0.0, 0.7, -1.0]))
def test_the_order_is_that_of_the_sums(scores: list[float], sums: list[int | None], norm: float, weight: float) -> None:
    known = [total for total in sums if total is not None]
    mean = sum(known) / len(known) / norm if known and norm else 0.0
    cosines = [None if total is None else total / norm if norm else 0.0 for total in sums]
    added = [weight * (mean if cosine is None else cosine) for cosine in cosines]
    finals = [score + more for score, more in zip(scores, added, strict=False)]
    order = sorted(range(len(finals)), key=finals.__getitem__, reverse=True)
    places = [*order, *range(len(finals), len(scores))]
    shown = [*(finals[place] for place in order), *scores[len(finals) :]]
    assert reorder(scores, sums, norm, weight) == (places, shown, cosines, added)


def test_objects_without_a_row_or_a_bit_have_no_likeness() -> None:
    rows = {b"row": with_vector(None, 1, b"\xf0")}
    query = bytes([1, 2, 3, 4, 5, 6, 7, 8])
    assert likenesses(query, [(b"row", 1), (b"row", 0), (b"none", 1)], rows) == [10 - 26, None, None]
