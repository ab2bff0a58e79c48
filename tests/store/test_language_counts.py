"""The languages of a bucket: counts of texts, and a rule that slowly forgets old ones."""

import random

import pytest

from sonicpy.errors import CommandError
from sonicpy.index.ingest.terms import packed_terms
from sonicpy.store.rows.language_counts import (
    LANGUAGES_MAX,
    LanguageCount,
    add_counted,
    add_languages,
    counted_texts,
    languages_in,
    unpack_languages,
)


def pushed(*codes: str, fact: bytes | None = None) -> bytes:
    for code in codes:
        fact = add_languages(fact, {code.encode(): 1})
    assert fact is not None
    return fact


def test_a_language_is_the_buckets_from_eight_texts_on() -> None:
    assert languages_in(pushed(*["eng"] * 7)) == ()
    assert languages_in(pushed(*["eng"] * 8)) == ("eng",)


def test_a_language_comes_at_one_in_twenty_and_goes_below_one_in_fifty() -> None:
    fact = pushed(*["eng"] * 152, *["fra"] * 7)
    assert languages_in(fact) == ("eng",)
    fact = pushed("fra", fact=fact)
    assert languages_in(fact) == ("eng", "fra"), "8 of 160"
    fact = pushed(*["eng"] * 240, fact=fact)
    assert languages_in(fact) == ("eng", "fra"), "8 of 400: it stays"
    fact = pushed("eng", fact=fact)
    assert languages_in(fact) == ("eng",)
    fact = pushed(*["fra"] * 12, fact=fact)
    assert languages_in(fact) == ("eng",), "20 of 413: it does not come back yet"
    assert languages_in(pushed("fra", fact=fact)) == ("eng", "fra")


def test_counts_are_those_of_a_table(seed: int = 3) -> None:
    chance = random.Random(seed)
    fact, expected = None, dict[str, int]()
    for _ in range(200):
        changes = {}
        for code in chance.sample(("eng", "tur", "fin 3", "deu 2,nld 5", "rus"), chance.randint(1, 3)):
            changes[code.encode()] = times = chance.randint(1, 4)
            for entry in code.split(","):
                name, _, texts = entry.partition(" ")
                expected[name] = expected.get(name, 0) + int(texts or 1) * times
        fact = add_languages(fact, changes)
        assert {code: counted.texts for code, counted in unpack_languages(fact).items()} == expected
    again = add_languages(None, {counted_texts(fact).encode(): 1})
    assert {code: of.texts for code, of in unpack_languages(again).items()} == expected, "as an export brings it"


def test_parts_are_added_up() -> None:
    parts = [pushed(*["eng"] * 5, "tur"), pushed(*["eng"] * 4), b""]
    assert languages_in(add_counted(parts)) == ("eng",)
    assert unpack_languages(add_counted(parts)) == {"eng": LanguageCount(9, True), "tur": LanguageCount(1, False)}


def test_the_rarest_languages_are_forgotten() -> None:
    codes = [f"{one}{two}a" for one in "abcdefgh" for two in "abcdefghi"]
    fact = pushed(*["eng"] * 9, *codes)
    assert len(unpack_languages(fact)) == LANGUAGES_MAX
    assert languages_in(fact) == ("eng",)


@pytest.mark.parametrize("languages", ["eng", "eng 0", "eng 1,", "english 1", "eng 1;deu 2", "eng -1", ",", 7])
def test_languages_of_another_form_are_refused(languages: str) -> None:
    with pytest.raises(CommandError, match="languages is"):
        packed_terms({"a": 1}, {}, languages)
