"""META arguments: every shape and value, and which error is reported."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.channel.meta import READERS, Meta, read_meta
from sonicpy.errors import CommandError
from sonicpy.langcodes import LANG_CODES, SONIC_LANG_CODES, language_code
from sonicpy.langcodes import TAGS as TAGS_TO_CODES

ALL_KEYS = frozenset(READERS)


def read(text: str, allowed: frozenset[str] = ALL_KEYS) -> Meta:
    return read_meta(text.split(), allowed, LANG_CODES)


VALUES = [
    ("", Meta(None, 0, None), "nothing given"),
    ("LIMIT(1)", Meta(limit=1), "a number"),
    ("LIMIT(+3)", Meta(limit=3), "a plus sign"),
    ("LIMIT(003)", Meta(limit=3), "leading zeros"),
    ("LIMIT(0)", Meta(limit=0), "bounds are not checked here"),
    ("LIMIT(65535)", Meta(limit=65535), "the largest of 16 bits"),
    (f"LIMIT({'0' * 9000}7)", Meta(limit=7), "more digits than int() takes"),
    ("OFFSET(4294967295)", Meta(offset=4294967295), "the largest of 32 bits"),
    ("OFFSET(+0)", Meta(offset=0), "zero"),
    ("LANG(eng)", Meta(lang="eng"), "a code"),
    ("LANG(EnG)", Meta(lang="eng"), "in any case"),
    ("LANG(none)", Meta(lang="none"), "no language"),
    ("LANG(hau)", Meta(lang="hau"), "a code that the rules allow"),
    ("SCORES(1)", Meta(scores=True), "yes"),
    ("SCORES(1) SCORES(0)", Meta(scores=False), "no"),
    ("TOTAL(1)", Meta(total=True), "yes"),
    ("PREFIX(a(b)c) AFTER(:)", Meta(prefix="a(b)c", after=":"), "names may hold brackets"),
    ("AFTER(a) AFTER())", Meta(after=")"), "even nothing else"),
    ("POSITION(7)", Meta(position=7), "a number"),
    ("POSITION(9007199254740991)", Meta(position=2**53 - 1), "the highest position"),
    ("LIMIT(2) LIMIT(3)", Meta(limit=3), "the last value holds"),
    ("LIMIT(0) OFFSET(9) LANG(deu) LIMIT(5)", Meta(5, 9, "deu"), "any order"),
]

FAULTS = [
    ("LIMIT", "invalid_meta_value(LIMIT[])", "a key without a value"),
    ("LIMIT()", "invalid_meta_value(LIMIT[])", "an empty value"),
    ("LIMIT(x)", "invalid_meta_value(LIMIT[x])", "letters"),
    ("LIMIT(-1)", "invalid_meta_value(LIMIT[-1])", "a minus sign"),
    ("LIMIT(+)", "invalid_meta_value(LIMIT[+])", "a sign alone"),
    ("LIMIT(++1)", "invalid_meta_value(LIMIT[++1])", "two signs"),
    ("LIMIT(1.0)", "invalid_meta_value(LIMIT[1.0])", "a fraction"),
    ("LIMIT(0x1)", "invalid_meta_value(LIMIT[0x1])", "another base"),
    ("LIMIT(1_0)", "invalid_meta_value(LIMIT[1_0])", "what int() would take"),
    ("LIMIT(٣)", "invalid_meta_value(LIMIT[٣])", "other digits"),
    ("LIMIT(²)", "invalid_meta_value(LIMIT[²])", "digits that int() refuses"),
    ("LIMIT(65536)", "invalid_meta_value(LIMIT[65536])", "17 bits"),
    (f"LIMIT({'9' * 5000})", f"invalid_meta_value(LIMIT[{'9' * 5000}])", "more digits than int() takes"),
    ("OFFSET(4294967296)", "invalid_meta_value(OFFSET[4294967296])", "33 bits"),
    ("SCORES()", "invalid_meta_value(SCORES[])", "neither yes nor no"),
    ("SCORES(2)", "invalid_meta_value(SCORES[2])", "more than yes"),
    ("AFTER()", "invalid_meta_value(AFTER[])", "no name"),
    ("AFTER(x", "invalid_meta_key(?[AFTER(x])", "not closed"),
    ("LANG()", "invalid_meta_value(LANG[])", "an empty code"),
    ("LANG(NONE)", "invalid_meta_value(LANG[NONE])", "none is lower case"),
    ("LANG(en)", "invalid_meta_value(LANG[en])", "two letters"),
    ("LANG(zho)", "invalid_meta_value(LANG[zho])", "not one of the codes"),
    ("junk", "invalid_meta_key(junk[])", "a word is a key without a value"),
    ("LIMIT)", "invalid_meta_key(LIMIT)[])", "so is a word that ends in a bracket"),
    (")", "invalid_meta_key()[])", "or is one"),
    ('"x"', 'invalid_meta_key("x"[])', "quotes do not matter"),
    ("limit(1)", "invalid_meta_key(limit[1])", "keys are upper case"),
    ("FOO(1)", "invalid_meta_key(FOO[1])", "unknown"),
    ("()", "invalid_meta_key([])", "no key"),
    ("(", "invalid_meta_key(?[(])", "never closed"),
    (")(", "invalid_meta_key(?[)(])", "ends in the wrong bracket"),
    (")(x)", "invalid_meta_key()[x])", "a bracket in the key"),
    ("LIMIT(1", "invalid_meta_key(?[LIMIT(1])", "not closed"),
    ("LIMIT(1)x", "invalid_meta_key(?[LIMIT(1)x])", "something behind it"),
    ("LIMIT((1))", "invalid_meta_key(LIMIT[(1)])", "a bracket in the value makes the key wrong"),
    ("LIMIT(1))", "invalid_meta_key(LIMIT[1)])", "either bracket"),
    ("LIMIT(1)OFFSET(1)", "invalid_meta_key(LIMIT[1)OFFSET(1])", "glued"),
    ("LIMIT( 1)", "invalid_meta_key(1)[])", "white space separates"),
    ("junk LANG(xx)", "invalid_meta_value(LANG[xx])", "the last error is reported"),
    ("LANG(xx) junk LANG(eng)", "invalid_meta_key(junk[])", "and right parts behind it hide nothing"),
]


@pytest.mark.parametrize(("text", "expected", "why"), VALUES)
def test_values(text: str, expected: Meta, why: str) -> None:
    assert read(text) == expected, why


@pytest.mark.parametrize(("text", "expected", "why"), FAULTS)
def test_faults(text: str, expected: str, why: str) -> None:
    with pytest.raises(CommandError) as caught:
        read(text)
    assert str(caught.value) == expected, why


TAGS = [
    ("en", "eng"), ("EN", "eng"), ("eng", "eng"), ("en-GB", "eng"), ("en_gb", "eng"), ("zh-Hant-TW", "cmn"),
    ("zho", "cmn"),
    ("pt-BR", "por"), ("nb", "nob"), ("iw", "heb"), ("fa", "pes"), ("sr-Latn", "srp"), ("none", "none"),
    ("xx", None), ("en-", None), ("en--GB", None), ("-", None), ("", None), ("en-GBGBGBGBG", None), ("en-é", None),
    ("None", None), ("english", None), ("e", None), ("x-en", None), (f"en{'-a' * 20}", None),
]  # fmt: skip


@pytest.mark.parametrize(("tag", "code"), TAGS)
def test_tags_of_languages(tag: str, code: str | None) -> None:
    def read_tag(tag: str) -> str | None:
        return read_meta([f"LANG({tag})"], frozenset({"LANG"}), LANG_CODES, has_tags=True).lang

    assert language_code(tag) == code
    if code is not None:
        assert read_tag(tag) == code
        return
    with pytest.raises(CommandError, match="invalid_meta"):
        read_tag(tag)


def test_every_code_of_two_letters_leads_to_a_language() -> None:
    assert set(TAGS_TO_CODES.values()) == LANG_CODES
    assert all(code in LANG_CODES for code in TAGS_TO_CODES.values())
    assert sum(len(tag) == 2 for tag in TAGS_TO_CODES) >= 70


def test_every_field_has_a_reader() -> None:
    assert {key.lower() for key in READERS} == set(Meta._fields)


def test_a_key_of_another_command_is_unknown() -> None:
    with pytest.raises(CommandError, match=r"^invalid_meta_key\(OFFSET\[1\]\)$"):
        read("LIMIT(1) OFFSET(1)", frozenset({"LIMIT"}))


@given(st.integers(0, 2**33))
def test_every_number_is_taken_or_too_large(number: int) -> None:
    try:
        assert read(f"OFFSET({number})").offset == number < 2**32
    except CommandError as error:
        assert number >= 2**32
        assert error.code == "invalid_meta_value"


def test_codes() -> None:
    assert len(SONIC_LANG_CODES) == 70
    assert {"hau", "kur", "som", "yor"} == LANG_CODES - SONIC_LANG_CODES
    assert all(len(code) == 3 and code.isascii() and code.islower() for code in LANG_CODES)
