"""Scripts and languages: words inside sentences without blanks, one word in several spellings, POP of what was PUSHed,
and which words Sonic takes for completions."""

import random
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sonicpy import Index
from sonicpy.errors import CommandError, StoreError
from sonicpy.index.scripts import RANGES, continues_in_script, script_of
from sonicpy.lexer import segmenters
from sonicpy.lexer.languages import LANGUAGES
from sonicpy.lexer.segmenters import Segmenters
from tests.index.shorthand import B, C, found, open_index, push
from tests.shared_data import shared_data

EXTRAS = ("rjieba", "fugashi", "unidic_lite")
has_extras = Segmenters().has_zh and Segmenters().has_ja
needs_extras = pytest.mark.skipif(not has_extras, reason="needs the extras [zh] and [ja]")
buckets = count()


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Let packages look absent to what is opened from now on."""
    seen = segmenters.find_spec
    monkeypatch.setattr(segmenters, "find_spec", lambda name: None if name in packages else seen(name))


# -- languages without blanks -----------------------------------------------------------------------------------------

SENTENCES = [
    ("cmn", "我来到北京清华大学学习物理", ["北京", "清华", "清华大学", "大学", "物理", "学习物理"]),
    ("cmn", "威尔士国民议会议员担心看起来像笨蛋", ["威尔士", "议会", "议员", "笨蛋"]),
    ("jpn", "東京都に住んでいる友達と話しました", ["東京", "東京都", "友達", "住んでいる", "話しました"]),
    ("jpn", "ウェールズ議会議員の呼称を変える", ["ウェールズ", "議会", "議員", "呼称", "変える"]),
    ("tha", "สมาชิกสมัชชาของเวลล์มีความกังวลมาก", ["สมาชิก", "สมัชชา", "ความกังวล", "มาก"]),
    ("khm", "ខ្ញុំនិយាយភាសាខ្មែរបានតិចតួច", ["ភាសា", "ខ្មែរ", "ភាសាខ្មែរ", "តិចតួច"]),
    ("lao", "ຂ້ອຍເວົ້າພາສາລາວໄດ້ໜ້ອຍໜຶ່ງ", ["ພາສາ", "ລາວ", "ພາສາລາວ"]),
    ("mya", "ကျွန်တော်မြန်မာစကားပြောတတ်ပါတယ်", ["မြန်မာ", "စကား", "မြန်မာစကား"]),
]
INSIDE = [(lang, sentence, word) for lang, sentence, words in SENTENCES for word in words]


@contextmanager
def opened(folder: Path, with_extras: bool, **chosen: object) -> Iterator[Index]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        if not with_extras:
            hide(monkeypatch, *EXTRAS)
        with open_index(folder, **chosen) as index:
            yield index


class TestWithoutBlanks:
    @pytest.fixture(
        scope="class",
        params=[
            pytest.param(("bm25", True), id="dictionary", marks=needs_extras),
            pytest.param(("bm25", False), id="pairs"),
            pytest.param(("newest", True), id="newest, dictionary", marks=needs_extras),
            pytest.param(("newest", False), id="newest, pairs"),
        ],
    )
    def filled(self, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
        ranking, with_extras = request.param
        with opened(tmp_path_factory.mktemp("runs"), with_extras, search__ranking=ranking) as index:
            for number, (lang, sentence, _) in enumerate(SENTENCES):
                push(index, f"given{number}", sentence, None if lang == "lao" else lang)
                push(index, f"guessed{number}", f"{sentence}。", None)
                push(index, f"none{number}", f"「{sentence}」", "none")
            yield index

    @pytest.mark.parametrize(("lang", "sentence", "word"), INSIDE, ids=[f"{row[0]} {row[2]}" for row in INSIDE])
    def test_a_word_inside_a_sentence_finds_it(self, filled: Index, lang: str, sentence: str, word: str) -> None:
        number = [row[1] for row in SENTENCES].index(sentence)
        expected = {f"given{number}", f"guessed{number}", f"none{number}"}
        for asked in (None, "none"):
            assert set(found(filled, word, limit=3, lang=asked)) == expected

    @pytest.mark.parametrize("letter", ["京", "学", "友", "ウ", "る", "ค", "ຂ້", "ត", "စ"])
    def test_a_single_letter_finds_it(self, filled: Index, letter: str) -> None:
        expected = {
            f"{name}{number}"
            for number, row in enumerate(SENTENCES)
            for name in ("given", "guessed", "none")
            if letter in letters_of(row[1])
        }
        assert expected
        assert set(found(filled, letter)) == expected

    def test_a_whole_sentence_finds_itself_first(self, filled: Index) -> None:
        for number, (_, sentence, _) in enumerate(SENTENCES):
            expected = {f"given{number}", f"guessed{number}", f"none{number}"}
            assert set(found(filled, sentence, limit=3)) == expected

    def test_letters_that_stand_apart_are_no_pair(self, filled: Index) -> None:
        for word in ("京北", "議都", "าส"):
            assert word not in "".join(sentence for _, sentence, _ in SENTENCES)
        if filled.config.search.ranking == "newest":
            assert found(filled, "京北") == found(filled, "議都") == []


def letters_of(sentence: str) -> list[str]:
    """The letters of a run, each with the marks upon it."""
    letters: list[str] = []
    for char in sentence:
        if letters and unicodedata.category(char) in ("Mn", "Mc", "Cf"):
            letters[-1] += char
        else:
            letters.append(char)
    return letters


MIXED = ["我有3个iPhone", "iPhone", "3", "个", "我有", "有", "IPHONE", "我"]


@pytest.mark.parametrize("with_extras", [pytest.param(True, marks=needs_extras), False])
@pytest.mark.parametrize("ranking", ["bm25", "newest"])
def test_mixed_runs(tmp_path: Path, with_extras: bool, ranking: str) -> None:
    with opened(tmp_path, with_extras, search__ranking=ranking) as index:
        push(index, "o", "我有3个iPhone", None)
        for typed in MIXED:
            assert found(index, typed, lang=None) == ["o"], typed
        assert found(index, "我有4个iPhone") == [], "a number is required"
        assert {"3", "iphone"} <= set(index.words(C, B))
        assert index.suggest(C, B, "iph") == ["iphone"]
        assert index.pop(C, B, "o", "我有3个iPhone") == index_words_of("我有3个iPhone", tmp_path / "again", with_extras)
        assert index.count_objects(C, B) == 0


def index_words_of(text: str, folder: Path, with_extras: bool) -> int:
    """How many words COUNTO tells of a text."""
    with opened(folder, with_extras) as index:
        push(index, "o", text)
        return index.count_object_words(C, B, "o")


@needs_extras
class TestExtrasThatChange:
    @pytest.mark.parametrize(
        ("packages", "key"),
        [(("rjieba",), "extras.zh"), (("fugashi",), "extras.ja"), (("unidic_lite",), "extras.ja")],
    )
    @pytest.mark.parametrize("at_first", [True, False])
    def test_the_store_is_not_opened(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packages: tuple[str, ...], key: str, at_first: bool
    ) -> None:
        """A store made with other extras would be searched for other words than it holds."""
        with monkeypatch.context() as hidden:
            if at_first:
                hide(hidden, *packages)
            open_index(tmp_path).close()
        with monkeypatch.context() as hidden:
            if not at_first:
                hide(hidden, *packages)
            with pytest.raises(StoreError) as caught:
                open_index(tmp_path)
        message = str(caught.value)
        assert f"{key} = {not at_first}, not {at_first}" in message
        assert "export and import" in message
        assert "\n" not in message


# -- one word in several spellings ------------------------------------------------------------------------------------

LATIN = "abcdefghijklmnopqrstuvwxyz"
ACCENTED = "àéîõüçñåžőąșğơưạếỗ"
GREEK = "άέήίόύώαβγδεζηθικλμνξοπρστυφχψω"
CYRILLIC = "абвгдежзийёїўѓ"
JAMO = "각낙닭궰힣한글"
INDIC = "कखगक़फ़ড়ঢ়ਸ਼"
KANA = "がぎぐばびぷへほガギヴパピ"

spelled = st.one_of([st.text(alphabet, min_size=1, max_size=12) for alphabet in (
    LATIN + ACCENTED, GREEK, CYRILLIC, JAMO, INDIC, KANA,
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


def check_one_word(index: Index, *spellings: str) -> None:
    """Push each spelling and find it by each; pop what was pushed by another."""
    for pushed in spellings:
        bucket = f"b{next(buckets)}"
        index.push(C, bucket, "o", pushed, "none")
        shown = index.words(C, bucket)
        for typed in spellings:
            assert index.query(C, bucket, typed, lang="none") == ["o"], (pushed, typed)
            if len(shown) == 1:
                assert index.suggest(C, bucket, typed) == shown, (pushed, typed)
        index.pop(C, bucket, "o", spellings[0])
        assert index.count_objects(C, bucket) == 0, (pushed, spellings[0])


@settings(deadline=None, max_examples=150)
@given(spelled)
@example("がっこう")
@example("ウェールズの人がパンダ")
def test_composed_and_decomposed(index: Index, text: str) -> None:
    check_one_word(index, nfc(text), nfd(text))


@settings(deadline=None, max_examples=60)
@given(plain)
def test_full_width(index: Index, text: str) -> None:
    check_one_word(index, text, full_width(text), full_width(text.swapcase()))


@settings(deadline=None, max_examples=60)
@given(st.text("aäsßtr", min_size=1, max_size=8))
@example("Straße")
def test_sharp_s(index: Index, text: str) -> None:
    check_one_word(index, text, text.replace("ß", "ss"), text.upper(), text.replace("ß", "ẞ"))


@settings(deadline=None, max_examples=60)
@given(st.text("αβγσόο", min_size=1, max_size=8))
def test_final_sigma(index: Index, text: str) -> None:
    check_one_word(index, f"{text}ς", f"{text}σ", f"{text}σ".upper(), f"{text}ς".title())


@settings(deadline=None, max_examples=100)
@given(st.one_of(st.text(LATIN + ACCENTED, min_size=1, max_size=10), st.text(GREEK, min_size=1, max_size=10)))
def test_accents_are_folded_when_asked(folding: Index, text: str) -> None:
    bare = "".join(char for char in nfd(text) if not unicodedata.combining(char))
    check_one_word(folding, nfc(text), nfd(text), bare)


ARABIC = ("كتبمدرس", "\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0670")
HEBREW = ("אבגדשלום", "\u05b0\u05b1\u05b4\u05b5\u05b6\u05b7\u05b8\u05b9\u05bb\u05bc\u05c1\u05c2")
VIETNAMESE = ("aeiouy", "\u0300\u0301\u0303\u0309\u0323\u0302\u0306\u031b")


@settings(deadline=None, max_examples=100)
@given(st.sampled_from((ARABIC, HEBREW, VIETNAMESE)), st.data())
def test_points_are_folded_when_asked(folding: Index, script: tuple[str, str], data: st.DataObject) -> None:
    letters, marks = script
    text = data.draw(st.text(letters, min_size=1, max_size=8))
    pointed = "".join(char + data.draw(st.text(marks, max_size=2)) for char in text)
    check_one_word(folding, text, pointed, nfc(pointed))


def test_accents_stay_apart_otherwise(index: Index) -> None:
    index.push(C, "accents", "o", "café סֵפֶר", "none")
    assert index.query(C, "accents", "cafe") == index.query(C, "accents", "ספר") == []


# -- POP of what was PUSHed -------------------------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "stemming": {"normalization__stemming_enabled": True},
    "diacritics": {"normalization__diacritic_folding_enabled": True},
    "drop": {"stopwords__mode": "drop"},
    "whole patterns": {"tokenization__compat_split_special_patterns": False},
    "compat": {"server__compat": "sonic"},
    "compat, stemming": {"server__compat": "sonic", "normalization__stemming_enabled": True},
    "compat, diacritics": {"server__compat": "sonic", "normalization__diacritic_folding_enabled": True},
}
CODES = [language.code for language in LANGUAGES]


def real_sentences(each: int) -> list[tuple[str | None, str]]:
    """Return (code or None, sentence) of all languages, spread over the files."""
    by_language: dict[str, list[str]] = {}
    for line in shared_data("multilingual/sentences.tsv").read_text(encoding="utf-8").splitlines():
        language, _, _, text = line.split("\t")
        by_language.setdefault(language, []).append(text)
    for name, language in (("ja", "jpn"), ("ko", "kor"), ("th", "tha"), ("zh", "cmn"), ("zh_hant", "cmn")):
        lines = shared_data(f"cjk/{name}.tsv").read_text(encoding="utf-8").splitlines()
        by_language[f"{language}, {name}"] = [line.split("\t")[1] for line in lines]
    chosen = []
    for language, texts in sorted(by_language.items()):
        many = 8 * each if "," in language else each
        code = language[:3] if language[:3] in CODES else None
        chosen += [(code, text) for text in texts[1 :: max(1, len(texts) // many)][:many]]
    return chosen


@pytest.mark.parametrize("with_extras", [pytest.param(True, marks=needs_extras), False], ids=["extras", "bare"])
@pytest.mark.parametrize("chosen", SETTINGS.values(), ids=SETTINGS)
def test_pop_takes_away_what_push_of_the_same_text_stored(
    tmp_path: Path, chosen: dict[str, Any], with_extras: bool
) -> None:
    """Whatever the language of the text is, and whatever it was said or guessed to be."""
    chance = random.Random(1)
    left = []
    with opened(tmp_path, with_extras, **chosen) as index, index.batch():
        for number, (code, text) in enumerate(real_sentences(1)):
            for lang in (code, None, "none", chance.choice(CODES), "cmn"):
                push(index, "o", text, lang)
                index.pop(C, B, "o", text)
                if index.count_objects(C, B) or index.count_object_words(C, B, "o") or found(index, text, lang=lang):
                    left.append((number, lang, text))
                    index.flush_object(C, B, "o")
    assert not left, f"{len(left)} times, for example {left[:2]}"


LETTERS_OF_ALL = "aéñßσς1 .-@_'ñжйا\u064eא\u05b4कि중국中文字かガｶﾞがกำี่ພາ\u1780\u17d2\u1000\u0301\u3099３Ａ"


@pytest.fixture(scope="module", params=["default", "compat", "stemming"])
def any_index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with open_index(tmp_path_factory.mktemp("pop"), **SETTINGS[request.param]) as opened:
        yield opened


@settings(deadline=None, max_examples=120)
@given(st.text(LETTERS_OF_ALL, max_size=30), st.sampled_from([None, "none", "eng", "cmn", "jpn", "tha", "deu", "heb"]))
@example("don't", "cmn")
def test_pop_takes_away_any_text(any_index: Index, text: str, lang: str | None) -> None:
    bucket = f"b{next(buckets)}"
    any_index.push(C, bucket, "o", text, lang)
    words = any_index.count_object_words(C, bucket, "o")
    assume(words)
    assert any_index.pop(C, bucket, "o", text) == words
    assert any_index.count_objects(C, bucket) == 0
    assert any_index.words(C, bucket) == []


@pytest.mark.parametrize("lang", ["xyz", "en", "", "None"])
@pytest.mark.parametrize("chosen", [{}, SETTINGS["stemming"]], ids=["default", "stemming"])
def test_a_language_that_is_none_is_refused(tmp_path: Path, chosen: dict[str, Any], lang: str) -> None:
    with open_index(tmp_path, **chosen) as index:
        with pytest.raises(CommandError):
            push(index, "o", "the dogs", lang)
        with pytest.raises(CommandError):
            found(index, "the dogs", lang=lang)
        assert index.count_objects(C, B) == 0


# -- completions in compat mode ---------------------------------------------------------------------------------------

CONTINUED = [
    ("app", "apple", True, "Latin"),
    ("app", "apple10", True, "digits are of the Latin range"),
    ("app", "appĺe\u024f", True, "up to 024F"),
    ("vi", "vi\u1ec7t", False, "not 1Exx"),
    ("é", "ével", True, "an accent is Latin too"),
    ("a", "aб", False, "another script"),
    ("12", "123", True, "digits have no script: Latin"),
    ("12", "12б", False, "and only Latin"),
    ("при", "привет", True, "Cyrillic"),
    ("при", "приv", False, "mixed"),
    ("аб", "абв1", False, "digits are not of the range"),
    ("κα", "καλημέρα", True, "Greek"),
    ("κα", "καὶ", True, "Greek, 1Fxx"),
    ("של", "שלום", True, "Hebrew"),
    ("شُ", "شُكر", True, "Arabic, marks are of the range"),
    ("նա", "նամակ", True, "Armenian"),
    ("გა", "გამარჯობა", True, "Georgian"),
    ("नम", "नमस्ते", True, "Devanagari"),
    ("서울", "서울특별시", False, "syllables are not of the Hangul range"),
    ("서울", "서울\u1100\u1161", True, "its letters are"),
    ("สวั", "สวัสดี", True, "Thai"),
    ("カタ", "カタカナ", True, "Katakana"),
    ("カタ", "カタかな", False, "Hiragana is another"),
    ("中", "中文", True, "Han"),
    ("中", "中か", False, "without kana"),
    ("caf", "cafe\u0301", False, "combining marks are of no range"),
    ("appl", "appl", True, "nothing to add"),
]


@pytest.mark.parametrize(("word", "longer", "continues", "why"), CONTINUED)
def test_completions_keep_to_the_script(word: str, longer: str, continues: bool, why: str) -> None:
    assert continues_in_script(word.encode(), longer.encode()) is continues, why


def test_all_scripts_of_chapter_8() -> None:
    assert len(RANGES) == 25
    borders: Callable[[str], list[str]] = lambda ranges: [ranges[0], ranges[2]]  # noqa: E731
    for name, ranges in RANGES.items():
        first, last = borders(ranges)
        assert first < last, name
        if name not in ("Latin", "Han"):
            letters = [char for char in map(chr, range(ord(first), ord(last) + 1)) if char.isalpha()]
            assert script_of("".join(letters)) == name
