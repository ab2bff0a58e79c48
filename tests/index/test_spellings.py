"""Words with several spellings: a word pushed in one spelling is found, suggested and popped in every other."""

import unicodedata
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy import Index
from tests.index.shorthand import B, C, open_index
from tests.support.examples import examples

buckets = count()

LATIN = "abcdefghijklmnopqrstuvwxyz"
ACCENTED = "àéîõüçñåžőąșğơưạếỗ"
GREEK = "άέήίόύώαβγδεζηθικλμνξοπρστυφχψω"
CYRILLIC = "абвгдежзийёїўѓ"
JAMO = "각낙닭궰힣한글"
INDIC = "कखग\u0958\u095b\u0929\u09dc\u09dd\u0a36क\u0a33"
KANA = "がぎぐばびぷへほガギヴパピ"

spelled = st.one_of([st.text(alphabet, min_size=1, max_size=12) for alphabet in (
    LATIN + ACCENTED, GREEK, CYRILLIC, JAMO, INDIC,
)])  # fmt: skip
plain = st.text(LATIN + LATIN.upper(), min_size=1, max_size=12)


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def full_width(text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) for char in text)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with open_index(tmp_path_factory.mktemp("spellings")) as opened:
        yield opened


@pytest.fixture(scope="module")
def folding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    chosen: dict[str, Any] = {"normalization__diacritic_folding_enabled": True}
    with open_index(tmp_path_factory.mktemp("folding"), **chosen) as opened:
        yield opened


def check_one_word(index: Index, *spellings: str, suggested: bool = True, lang: str = "none") -> None:
    """Push each spelling and find it by every other; pop words that were pushed in another spelling.

    Without `suggested`, suggestions are not checked: a dictionary may cut the text into several words, or find a word
    twice.
    """
    for pushed in spellings:
        bucket = f"b{next(buckets)}"
        index.push(C, bucket, "o", pushed, lang)
        shown = index.words(C, bucket)
        for typed in spellings:
            assert index.query(C, bucket, typed, lang=lang) == ["o"], (pushed, typed)
            if suggested:
                assert index.suggest(C, bucket, typed) == shown, (pushed, typed)
        index.pop(C, bucket, "o", spellings[0])
        assert index.count_objects(C, bucket) == 0, (pushed, spellings[0])


@settings(deadline=None, max_examples=examples(150))
@given(spelled)
def test_composed_and_decomposed(index: Index, text: str) -> None:
    check_one_word(index, nfc(text), nfd(text))


@settings(deadline=None, max_examples=examples(60))
@given(st.text(KANA, min_size=1, max_size=12))
@example("ウェールズの人がパンダ")
def test_composed_and_decomposed_kana(index: Index, text: str) -> None:
    """File names of macOS hold decomposed kana; both forms have to give the same words of the dictionary."""
    check_one_word(index, nfc(text), nfd(text), suggested=False)


@pytest.mark.parametrize("text", ["ガッコウ", "パソコンショップ", "ドイツ"])
def test_half_width_kana(index: Index, text: str) -> None:
    half = {unicodedata.normalize("NFKC", chr(point)): chr(point) for point in range(0xFF66, 0xFF9E)}
    narrow = "".join(half.get(char, "\uff9e" if char == "\u3099" else "\uff9f") for char in nfd(text))
    assert unicodedata.normalize("NFKC", narrow) == text
    check_one_word(index, text, narrow, suggested=False)


@settings(deadline=None, max_examples=examples(60))
@given(plain)
def test_full_width(index: Index, text: str) -> None:
    check_one_word(index, text, full_width(text), full_width(text.swapcase()))


@settings(deadline=None, max_examples=examples(60))
@given(st.text("aäsßtr", min_size=1, max_size=8))
@example("Straße")
def test_sharp_s(index: Index, text: str) -> None:
    check_one_word(index, text, text.replace("ß", "ss"), text.upper(), text.replace("ß", "ẞ"))


@settings(deadline=None, max_examples=examples(60))
@given(st.text("αβγσόο", min_size=1, max_size=8))
def test_final_sigma(index: Index, text: str) -> None:
    check_one_word(index, f"{text}ς", f"{text}σ", f"{text}σ".upper(), f"{text}ς".title())


@settings(deadline=None, max_examples=examples(60))
@given(st.sampled_from(("tur", "aze")), st.text("ıisparğüşöç", min_size=1, max_size=8))
@example("tur", "ısparta")
@example("tur", "istanbul")
def test_dotless_i(index: Index, lang: str, text: str) -> None:
    capitals = text.replace("i", "İ").replace("ı", "I").upper()
    check_one_word(index, capitals, nfd(capitals), text, nfd(text), suggested=False, lang=lang)


def test_dotless_i_is_another_letter(index: Index) -> None:
    """Keyboards without ı type i, so a word with either letter finds the other word, ranked below an exact match."""
    index.push(C, "dots", "sick", "HASTA KIL", "tur")
    for text, whole in (("kıl", 1), ("KIL", 1), ("kil", 0), ("KİL", 0)):
        hits = index.query(C, "dots", text, lang="tur", total=True)
        assert (hits.objects, hits.whole) == (["sick"], whole), text
    index.push(C, "dots", "clay", "KİL", "tur")
    assert index.query(C, "dots", "kıl", lang="tur") == ["sick", "clay"]
    assert index.query(C, "dots", "kil", lang="tur") == ["clay", "sick"]
    index.push(C, "dots", "mail", "INFO@EXAMPLE.ORG", "tur")
    for lang in (None, "tur"):
        assert index.query(C, "dots", "info@example.org", lang=lang) == ["mail"]
    index.push(C, "dots", "plain", "IBM")
    assert index.query(C, "dots", "ibm") == ["plain"]


@settings(deadline=None, max_examples=examples(100))
@given(st.one_of(st.text(LATIN + ACCENTED, min_size=1, max_size=10), st.text(GREEK, min_size=1, max_size=10)))
def test_accents_are_folded_when_asked(folding: Index, text: str) -> None:
    bare = "".join(char for char in nfd(text) if not unicodedata.combining(char))
    check_one_word(folding, nfc(text), nfd(text), bare)


ARABIC = ("كتبمدرس", "\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0670")
HEBREW = ("אבגדשלום", "\u05b0\u05b1\u05b4\u05b5\u05b6\u05b7\u05b8\u05b9\u05bb\u05bc\u05c1\u05c2")
VIETNAMESE = ("aeiouy", "\u0300\u0301\u0303\u0309\u0323\u0302\u0306\u031b")


@settings(deadline=None, max_examples=examples(100))
@given(st.sampled_from((ARABIC, HEBREW, VIETNAMESE)), st.data())
def test_points_are_folded_when_asked(folding: Index, script: tuple[str, str], data: st.DataObject) -> None:
    letters, marks = script
    text = data.draw(st.text(letters, min_size=1, max_size=8))
    pointed = "".join(char + data.draw(st.text(marks, max_size=2)) for char in text)
    check_one_word(folding, text, pointed, nfc(pointed))


def test_accents_stay_apart_otherwise(index: Index) -> None:
    index.push(C, "accents", "o", "café סֵפֶר", "none")
    for typed in ("cafe", "ספר"):
        assert index.query(C, "accents", typed, stem=False) == []
        assert index.query(C, "accents", typed) == ["o"], "a word of the family"


def test_a_run_is_as_long_as_its_normal_form(tmp_path: Path) -> None:
    """A word of 39 bytes when composed is shown, and is the same word when it is pushed decomposed in 42 bytes."""
    composed = "\u1026" + "\u1000\u1001\u1002\u1003\u1004\u1005\u1006\u1007\u1008\u100a\u100b\u100c"
    assert (len(composed.encode()), len(nfd(composed).encode())) == (39, 42)
    with open_index(tmp_path) as index:
        for bucket, text in (("composed", composed), ("decomposed", nfd(composed))):
            index.push(C, bucket, "o", text, "none")
            assert index.words(C, bucket) == [composed], bucket


TURKISH = "yarın için IBM sunucuları nasıl kurulur bilen var mı"


def test_a_guess_of_turkish_changes_no_letter_of_signed_words() -> None:
    signed = TURKISH.replace("IBM", "+IBM")
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o", "IBM servers")
        assert index.explain(C, B, signed).language.code == "tur"
        for text in (signed, signed.replace("+IBM", '"IBM servers"')):
            assert index.query(C, B, text, syntax="web", stem=False) == ["o"]
        assert index.query(C, B, signed, syntax="web", lang="tur", stem=False) == []


def test_words_of_turkish_texts_are_removed_where_lang_was_given_and_marked_where_not() -> None:
    with sonicpy.open(":memory:", config={"normalization.stemming_enabled": True}) as index:
        index.push(C, B, "given", "IŞIKLAR", lang="tur")
        index.push(C, B, "guessed", TURKISH)
        assert sonicpy.highlight(TURKISH, index.explain(C, B, "ibm")) == TURKISH.replace("IBM", "<mark>IBM</mark>")
        assert index.pop(C, B, "given", "IŞIKLAR") == 1
        assert list(index.iterate_objects(C, B)) == ["guessed"]
