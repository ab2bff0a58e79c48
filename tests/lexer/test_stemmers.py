"""Stemmers by name: Snowball's and sonicpy's own have the same methods."""

import pytest
import Stemmer

from sonicpy.lexer.endings import ENDINGS
from sonicpy.lexer.stemmers import ALGORITHMS, Stemmers


def test_every_language_has_a_stemmer_that_exists() -> None:
    stemmers = Stemmers()
    for name in sorted(set(ALGORITHMS.values())):
        assert len(stemmers[name](["a", "bcdef", "книга"])) == 3
        assert stemmers[name] is stemmers[name]


def test_snowball_comes_first() -> None:
    assert not ENDINGS.keys() & set(Stemmer.algorithms()), "own tables are for what Snowball lacks"
    assert ENDINGS.keys() < set(ALGORITHMS.values())


@pytest.mark.parametrize(
    ("code", "forms"),
    [
        ("ces", "kniha knihy knihu"), ("pol", "książka książki książkę"), ("pes", "کتاب کتاب‌ها"),
        ("eng", "engine engines"), ("kor", "학교 학교에서"), ("ukr", "книга книги"), ("hrv", "knjiga knjige knjigu"),
    ],
)  # fmt: skip
def test_forms_share_a_stem(code: str, forms: str) -> None:
    assert len(set(Stemmers()[ALGORITHMS[code]](forms.split()))) == 1


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(KeyError, match="no stemmer is called 'klingon'"):
        Stemmers()["klingon"]
