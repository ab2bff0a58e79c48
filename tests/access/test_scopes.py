"""Tests of scopes, the buckets that a key names, with all names over a small alphabet."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.access.scopes import EVERYTHING, KeyScope, Pattern, scope_of, written_scope
from sonicpy.errors import InvalidArgument

NAMES = ["".join(letters) for size in range(1, 4) for letters in itertools.product("a/*", repeat=size)]
patterns = st.builds(Pattern, st.sampled_from(["", *NAMES]), st.booleans()).filter(
    lambda one: one.text or one.is_prefix
)
scopes = st.builds(KeyScope, patterns, patterns)


@given(scopes)
def test_a_scope_is_read_as_it_was_written(scope: KeyScope) -> None:
    assert scope_of(written_scope(scope)) == scope


@given(patterns, patterns)
def test_a_pattern_covers_another_if_it_covers_all_of_its_names(wide: Pattern, narrow: Pattern) -> None:
    longer = [*NAMES, *(f"{name}{end}" for name in NAMES for end in ("a", "z"))]
    held = [name for name in {*longer, narrow.text} if narrow.covers(name)]
    assert wide.covers_all(narrow) == all(map(wide.covers, held))


@pytest.mark.parametrize(
    ("text", "covered", "not_covered"),
    [
        ("messages", [("messages", "a"), ("messages", "")], [("message", "a"), ("messages2", "a")]),
        ("messages/user-*", [("messages", "user-7")], [("messages", "user"), ("other", "user-7")]),
        ("shop-*/public", [("shop-1", "public")], [("shop-1", "private"), ("shop", "public")]),
        ("a%2Fb/c%2A", [("a/b", "c*")], [("a", "b"), ("a/b", "cd")]),
        ("*", [("a", "b")], []),
    ],
)
def test_names_of_scopes(text: str, covered: list[tuple[str, str]], not_covered: list[tuple[str, str]]) -> None:
    scope = scope_of(text)
    for expected, names in ((True, covered), (False, not_covered)):
        for collection, bucket in names:
            assert scope.covers_all(KeyScope(Pattern(collection, False), Pattern(bucket, False))) is expected
    assert EVERYTHING.covers_all(scope)


@pytest.mark.parametrize("text", ["", "/", "a/", "/b", "a/b/c", "a*b", "a%2", "a%41", "a\n", None, 7, "a" * 600])
def test_other_texts_are_no_scopes(text: object) -> None:
    with pytest.raises(InvalidArgument, match="is not collection or collection/bucket"):
        scope_of(text)
