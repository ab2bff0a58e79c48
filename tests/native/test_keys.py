"""The rows of `pending` and the keys of words, compared with a reference implementation."""

from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.keys import pending_rows, word_key, word_keys


@given(st.lists(st.binary(max_size=20), max_size=5), st.integers(0, (1 << 48) - 8), st.integers(0, 255))
def test_rows_of_pending_words(keys: list[bytes], first: int, why: int) -> None:
    twin = [(key, number.to_bytes(6, "big") + bytes((why,))) for number, key in enumerate(keys, first)]
    assert pending_rows(keys, first, why) == twin


@given(st.integers(0, (1 << 32) - 1), st.lists(st.text(min_size=1, max_size=200).map(str.encode), max_size=5))
def test_keys_of_words(bucket: int, terms: list[bytes]) -> None:
    keys = word_keys(bucket, terms)
    assert keys == [word_key(bucket, term) for term in terms]
    for key, term in zip(keys, terms, strict=True):
        assert key[:4] == bucket.to_bytes(4, "big")
        assert key[4:] == term or (len(term) > 500 and key[4:].startswith(term[:466] + b"\xff") and len(key) == 503)
