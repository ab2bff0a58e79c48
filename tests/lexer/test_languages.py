"""The table of languages."""

import Stemmer

from sonicpy.langcodes import LANG_CODES
from sonicpy.lexer.languages import LANGUAGES, by_code


def test_the_codes_are_those_that_lang_accepts() -> None:
    assert by_code.keys() == LANG_CODES
    assert len(LANGUAGES) == len(by_code) == 74


def test_stemmers_are_those_of_sonic_and_known_to_pystemmer() -> None:
    stemmed = " ".join(language.code for language in LANGUAGES if language.stemmer)
    assert stemmed == (
        "ara cat dan deu ell eng epo est fin fra hin hun hye ind ita "
        "lit nep nld nob por ron rus spa srp swe tam tur yid"
    )
    for language in LANGUAGES:
        if language.stemmer:
            assert Stemmer.Stemmer(language.stemmer).stemWord("a") is not None


def test_rows_are_whole() -> None:
    names = {language.name for language in LANGUAGES}
    assert len(names) == len(LANGUAGES)
    for language in LANGUAGES:
        assert language.scripts, language
    assert [row.code for row in LANGUAGES if "Devanagari" in row.scripts] == ["hin", "mar", "nep"]
