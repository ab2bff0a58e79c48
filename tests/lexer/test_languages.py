"""The table of languages."""

import pytest
import Stemmer

from sonicpy.langcodes import LANG_CODES
from sonicpy.lexer.languages import LANGUAGES, by_code, by_script, parse_code


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("eng", "eng", "as it stands in the table"),
        ("ENG", "eng", "any letter case"),
        ("sRp", "srp", "any letter case"),
        ("hau", "hau", "a language of Sonic's first edition"),
        ("none", None, "a word of the channel"),
        ("en", None, "ISO 639-1"),
        ("zho", None, "the macro-language of cmn"),
        ("swa", None, "has a profile, but is not in the table"),
        ("eng ", None, "no blanks"),
        ("", None, "nothing"),
        ("\u212aan", None, "the Kelvin sign becomes a small k"),
    ],
)
def test_parse_code(text: str, code: str | None, why: str) -> None:
    assert parse_code(text) == code, why


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
        assert all(language in by_script[script] for script in language.scripts)
    assert [language.code for language in by_script["Devanagari"]] == ["hin", "mar", "nep"]
