"""Irregular forms of English words: they find each other in English, and only there."""

import pytest

import sonicpy
from sonicpy.lexer.irregular import irregular_forms
from sonicpy.lexer.stemmers import Stemmers


@pytest.mark.parametrize(
    "pair", ["mouse mice", "child children", "firewoman firewomen", "leaf leaves", "happy happiest", "die dying"]
)
def test_they_find_each_other(pair: str) -> None:
    one, other = pair.split()
    with sonicpy.open(":memory:") as index:
        index.push("c", "b", "one", one, "eng")
        index.push("c", "b", "other", other, "eng")
        assert index.query("c", "b", f"{other} ", lang="eng").objects == ["other", "one"]
        assert other == "happiest" or index.query("c", "b", f"{one} ", lang="eng").objects == ["one", "other"]
        index.push("c", "deu", "one", one, "deu")
        assert index.query("c", "deu", f"{other} ", lang="deu", fuzzy=0).objects == []


@pytest.mark.parametrize("word", ["men", "children", "wives", "iest", "priest", "opera", "", "ox"])
def test_a_form_is_another_word_that_the_stemmer_misses(word: str) -> None:
    stem = Stemmers()["english"]
    for form in irregular_forms(word):
        assert form != word and stem([form]) != stem([word])
    assert all(word in irregular_forms(form) for form in irregular_forms(word) if not word.endswith("iest"))
