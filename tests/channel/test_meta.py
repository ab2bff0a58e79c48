"""Tests of META arguments: every shape and value, and the error that is reported."""

import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.channel.meta_arguments import read_meta
from sonicpy.errors import CommandError
from sonicpy.langcodes import LANG_CODES, OTHERS, SONIC_LANG_CODES, language_code
from sonicpy.langcodes import TAGS as TAGS_TO_CODES
from sonicpy.option_kinds import Languages
from sonicpy.options import OPTIONS, Option, written

EVERY_OPTION = {option.key: option for options in OPTIONS.values() for option in options}


def read(text: str, options: Mapping[str, Option] = EVERY_OPTION) -> dict[str, Any]:
    return read_meta(text.encode(), 0, options, Languages(LANG_CODES))


VALUES = [
    ("", {}, "nothing given"),
    ("LIMIT(1)", {"limit": 1}, "a number"),
    ("LIMIT(+3)", {"limit": 3}, "a plus sign"),
    ("LIMIT(003)", {"limit": 3}, "leading zeros"),
    ("LIMIT(0)", {"limit": 0}, "bounds are not checked here"),
    ("LIMIT(65535)", {"limit": 65535}, "the largest of 16 bits"),
    (f"LIMIT({'0' * 9000}7)", {"limit": 7}, "more digits than int() takes"),
    ("OFFSET(4294967295)", {"offset": 4294967295}, "the largest of 32 bits"),
    ("OFFSET(+0)", {"offset": 0}, "zero"),
    ("LANG(eng)", {"lang": "eng"}, "a code"),
    ("LANG(EnG)", {"lang": "eng"}, "in any case"),
    ("LANG(none)", {"lang": "none"}, "no language"),
    ("LANG(hau)", {"lang": "hau"}, "a code that the rules allow"),
    ("SCORES(1)", {"scores": True}, "yes"),
    ("SCORES(1) SCORES(0)", {"scores": False}, "no"),
    ("TOTAL(1)", {"total": True}, "yes"),
    ("PREFIX(a(b)c) AFTER(:)", {"prefix": "a(b)c", "after": ":"}, "names may hold brackets"),
    ("AFTER(a) AFTER())", {"after": ")"}, "even nothing else"),
    ("POSITION(7)", {"position": 7}, "a number"),
    ("POSITION(9007199254740991)", {"position": 2**53 - 1}, "the highest position"),
    ('AFTER("two words")', {"after": "two words"}, "white space in quotes"),
    ('AFTER("a) b(c), LIMIT(3)") LIMIT(2)', {"after": "a) b(c), LIMIT(3)", "limit": 2}, "everything in quotes"),
    (r'PREFIX("say \"x\" \\ \n\r")', {"prefix": 'say "x" \\ \n\r'}, "escapes"),
    (r'PREFIX("\t\x")', {"prefix": r"\t\x"}, "other pairs stay"),
    ('PREFIX("  a\u00a0 b ")', {"prefix": "  a\u00a0 b "}, "white space stays as it is"),
    ('PREFIX("x"y)', {"prefix": '"x"y'}, "a quote that does not end the value is a letter"),
    ('PREFIX("x)', {"prefix": '"x'}, "so is one that is not closed"),
    (
        'PREFIX("a"b") AFTER("c")',
        {"prefix": '"a"b"', "after": "c"},
        "quotes in between are escaped",
    ),
    ("LIMIT(2) LIMIT(3)", {"limit": 3}, "the last value holds"),
    ("LIMIT(0) OFFSET(9) LANG(deu) LIMIT(5)", {"limit": 5, "offset": 9, "lang": "deu"}, "any order"),
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
    ('AFTER("")', "invalid_meta_value(AFTER[])", "no name in quotes"),
    ('AFTER("a b"x)', 'invalid_meta_key(b"x)[])', "quotes that do not end the value hold no white space"),
    ('AFTER("a b")x', 'invalid_meta_key(b")x[])', "something is glued to it: the last part is wrong"),
    ('LIMIT("1")', 'invalid_meta_value(LIMIT["1"])', "numbers have no quotes"),
    ('LANG("e ng")', 'invalid_meta_key(ng")[])', "languages neither"),
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
def test_values(text: str, expected: dict[str, Any], why: str) -> None:
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
    ("is", "isl"), ("nn-NO", "nno"), ("und", "und"), ("yue", "yue"), ("xx", "xx"), ("XX-yy", "xx"),
    ("en-", None), ("en--GB", None), ("-", None), ("", None), ("en-GBGBGBGBG", None), ("en-é", None),
    ("None", None), ("english", None), ("e", None), ("x-en", None), ("e1", None), ("éé", None), ("12", None),
    ("abcd", None), (f"en{'-a' * 20}", None),
]  # fmt: skip


@pytest.mark.parametrize(("tag", "code"), TAGS)
def test_tags_of_languages(tag: str, code: str | None) -> None:
    def read_tag(tag: str) -> str | None:
        languages = Languages(LANG_CODES, has_tags=True)
        code: str = read_meta(f"LANG({tag})".encode(), 0, EVERY_OPTION, languages)["lang"]
        return code

    assert language_code(tag) == code
    if code is not None:
        assert read_tag(tag) == code
        return
    with pytest.raises(CommandError, match="invalid_meta"):
        read_tag(tag)


def test_none_of_the_other_languages_has_a_table() -> None:
    assert not LANG_CODES & set(OTHERS.values()) - {"srp"}
    assert not OTHERS.keys() & TAGS_TO_CODES.keys()


def test_every_code_of_two_letters_leads_to_a_language() -> None:
    assert set(TAGS_TO_CODES.values()) == LANG_CODES
    assert all(code in LANG_CODES for code in TAGS_TO_CODES.values())
    assert sum(len(tag) == 2 for tag in TAGS_TO_CODES) >= 70


def test_a_key_of_another_command_is_unknown() -> None:
    with pytest.raises(CommandError, match=r"^invalid_meta_key\(OFFSET\[1\]\)$"):
        read("LIMIT(1) OFFSET(1)", {"LIMIT": EVERY_OPTION["LIMIT"]})


@given(st.sampled_from(["PREFIX", "AFTER"]), st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_text_comes_as_it_was_written(key: str, text: str) -> None:
    option = EVERY_OPTION[key]
    line = written(option, text)
    assert "\n" not in line and "\r" not in line
    assert read(f"{line} LIMIT(7){line}") == {option.name: text, "limit": 7}


@given(st.text('AFTER("\\ )xn', max_size=24))
def test_parts_are_read_or_refused(text: str) -> None:
    try:
        values = read(f"AFTER({text}")
    except CommandError as error:
        assert error.code in ("invalid_meta_key", "invalid_meta_value")
    else:
        assert values["after"]
        assert read(written(EVERY_OPTION["AFTER"], values["after"]))["after"] == values["after"]


@given(st.integers(0, 2**33))
def test_every_number_is_taken_or_too_large(number: int) -> None:
    try:
        assert read(f"OFFSET({number})")["offset"] == number < 2**32
    except CommandError as error:
        assert number >= 2**32
        assert error.code == "invalid_meta_value"


def test_codes() -> None:
    assert len(SONIC_LANG_CODES) == 70
    assert {"hau", "kur", "som", "yor"} == LANG_CODES - SONIC_LANG_CODES
    assert all(len(code) == 3 and code.isascii() and code.islower() for code in LANG_CODES)


@pytest.mark.parametrize("wrong", ["a", "=", "a=,", "a,"])
def test_a_long_list_of_values_that_is_none_is_refused_at_once(wrong: str) -> None:
    """100,000 letters without a sign of equality took 5 * 10^9 steps."""
    long, began = wrong * 100_000, time.process_time()
    with pytest.raises(CommandError, match=r"^invalid_meta_value\(SET"):
        read(f"SET({long})")
    assert time.process_time() - began < 2
