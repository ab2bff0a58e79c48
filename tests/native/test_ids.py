"""Valid names, compared with the reference implementation."""

from hypothesis import example, given
from hypothesis import strategies as st

from sonicpy._native.ids import are_names
from tests.reference import channel as twin

NAMES = st.text(st.characters(max_codepoint=0x180), max_size=4) | st.sampled_from(["a" * 128, "a" * 129, 5, None, b"a"])


def is_sure(name: object) -> bool:
    """Return whether a name is valid by the oldest rule and has no control characters, so that it is valid
    everywhere.
    """
    return twin.is_name(name) and str(name).isprintable()


@given(NAMES, NAMES, NAMES)
@example("a", "b", None)
def test_names(collection: object, bucket: object, oid: object) -> None:
    expected = is_sure(collection) and is_sure(bucket) and (oid is None or is_sure(oid))
    assert are_names(collection, bucket, oid) == expected


def test_every_character_is_in_names_or_not() -> None:
    for code in range(256):
        assert are_names(chr(code), "b") == is_sure(chr(code)), f"U+{code:04X}"
