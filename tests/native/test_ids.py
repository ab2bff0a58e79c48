"""Which names are valid, against the slow twin."""

from hypothesis import example, given
from hypothesis import strategies as st

from sonicpy._native.ids import are_names
from tests.reference import channel as twin

NAMES = st.text(st.characters(max_codepoint=0x180), max_size=4) | st.sampled_from(["a" * 128, "a" * 129, 5, None, b"a"])


@given(NAMES, NAMES, NAMES)
@example("a", "b", None)
def test_names(collection: object, bucket: object, oid: object) -> None:
    expected = twin.is_name(collection) and twin.is_name(bucket) and (oid is None or twin.is_name(oid))
    assert are_names(collection, bucket, oid) == expected


def test_every_character_is_in_names_or_not() -> None:
    for code in range(256):
        assert are_names(chr(code), "b") == twin.is_name(chr(code)), f"U+{code:04X}"
