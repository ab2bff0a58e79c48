"""Languages written without blanks, and the words that Sonic accepts as completions in each script."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.errors import StoreError
from sonicpy.index.search.scripts import RANGES, continues_in_script, script_of
from tests.index.extras import hide, needs_extras, opened
from tests.index.shorthand import B, C, found, open_index, push

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


WAYS = [pytest.param(True, id="dictionary", marks=needs_extras), pytest.param(False, id="pairs")]


def fill(index: Index) -> Index:
    """Push every sentence three times: with its language, with a guessed one, and with none; return the index."""
    for number, (lang, sentence, _) in enumerate(SENTENCES):
        push(index, f"given{number}", sentence, None if lang == "lao" else lang)
        push(index, f"guessed{number}", f"{sentence}。", None)
        push(index, f"none{number}", f"「{sentence}」", "none")
    return index


def oids(number: int) -> set[str]:
    """Return the objects that hold a sentence."""
    return {f"given{number}", f"guessed{number}", f"none{number}"}


@pytest.fixture(scope="module", params=WAYS)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with opened(tmp_path_factory.mktemp("runs"), request.param) as index:
        yield fill(index)


class TestWithoutBlanks:
    @pytest.mark.parametrize(("lang", "sentence", "word"), INSIDE, ids=[f"{row[0]} {row[2]}" for row in INSIDE])
    def test_a_word_inside_a_sentence_finds_it(self, filled: Index, lang: str, sentence: str, word: str) -> None:
        number = [row[1] for row in SENTENCES].index(sentence)
        for asked in (None, "none", None if lang == "lao" else lang):
            assert set(found(filled, word, limit=3, lang=asked)) == oids(number)

    @pytest.mark.parametrize("letter", ["京", "学", "友", "ウ", "る", "ค", "ຂ້", "យ", "စ"])
    def test_a_single_letter_finds_it(self, filled: Index, letter: str) -> None:
        holders = [number for number, row in enumerate(SENTENCES) if letter in letters_of(row[1])]
        assert holders
        assert set(found(filled, letter)) == set().union(*map(oids, holders))

    def test_a_whole_sentence_finds_itself_first(self, filled: Index) -> None:
        for number, (_, sentence, _) in enumerate(SENTENCES):
            assert set(found(filled, sentence, limit=3)) == oids(number)


@pytest.mark.parametrize("with_extras", WAYS)
def test_all_of_a_word_stands_in_what_newest_finds(tmp_path: Path, with_extras: bool) -> None:
    with fill(opened(tmp_path, with_extras, search__ranking="newest")) as index:
        assert found(index, "京北") == found(index, "議都") == [], "letters that are there, but apart"
        answers = {word: set(found(index, word)) for _, _, word in INSIDE}
        expected = {
            word: set().union(*(oids(number) for number, row in enumerate(SENTENCES) if word in row[1]))
            for word in answers
        }
        missed = {word for word in answers if not expected[word] <= answers[word]}
        assert not missed, f"{len(missed)} of {len(answers)} words"
        assert answers == expected


def letters_of(sentence: str) -> list[str]:
    """Return the letters of a run, each with its marks."""
    letters: list[str] = []
    for char in sentence:
        if letters and unicodedata.category(char) in ("Mn", "Mc", "Cf"):
            letters[-1] += char
        else:
            letters.append(char)
    return letters


MIXED = ["我有3个iPhone", "iPhone", "3", "个", "我有", "有", "IPHONE", "我"]


@pytest.mark.parametrize("with_extras", WAYS)
@pytest.mark.parametrize("ranking", ["bm25", "newest"])
def test_mixed_runs(tmp_path: Path, with_extras: bool, ranking: str) -> None:
    with opened(tmp_path, with_extras, search__ranking=ranking) as index:
        push(index, "o", "我有3个iPhone", None)
        for typed in MIXED:
            assert found(index, typed, lang=None) == ["o"], typed
        assert found(index, "我有4个iPhone") == ["o"], "a number that no object holds"
        push(index, "other", "4", None)
        assert found(index, "我有4个iPhone") == ([] if ranking == "newest" else ["o", "other"]), "held apart"
        push(index, "both", "4 iPhone", None)
        assert found(index, "我有4个iPhone") == ([] if ranking == "newest" else ["both", "other"]), (
            "a number is required"
        )
        index.flush_object(C, B, "both")
        index.flush_object(C, B, "other")
        assert {"3", "iphone"} <= set(index.words(C, B))
        assert index.suggest(C, B, "iph") == ["iphone"]
        assert index.pop(C, B, "o", "我有3个iPhone") == index_words_of("我有3个iPhone", tmp_path / "again", with_extras)
        assert index.count_objects(C, B) == 0


def index_words_of(text: str, folder: Path, with_extras: bool) -> int:
    """Return the number of words that COUNTO returns for a text."""
    with opened(folder, with_extras) as index:
        push(index, "o", text)
        return index.count_object_words(C, B, "o")


@needs_extras
class TestExtrasThatChange:
    @pytest.mark.parametrize(
        ("packages", "key"),
        [(("fugashi",), "extras.ja"), (("unidic_lite",), "extras.ja")],
    )
    @pytest.mark.parametrize("at_first", [True, False])
    def test_the_store_is_not_opened(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packages: tuple[str, ...], key: str, at_first: bool
    ) -> None:
        """With other extras than at its creation, a store is not opened: queries would look for words that it does not
        hold.
        """
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
        assert f"{key} = {str(not at_first).lower()}, not {str(at_first).lower()}" in message
        assert "export and import" in message
        assert "\n" not in message


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


def test_a_word_is_of_the_script_of_most_of_its_letters() -> None:
    assert len(RANGES) == 25
    for name, ranges in RANGES.items():
        letters = "".join(filter(str.isalpha, map(chr, range(ord(ranges[0]), ord(ranges[2]) + 1))))
        assert script_of(letters) == name
        assert script_of("12") == script_of("") == "Latin"


def test_marks_of_direction_are_no_letters(tmp_path: Path) -> None:
    """Words beside them are found also where enough objects hold a word, so that others are not looked for."""
    with open_index(tmp_path) as index:
        for number in range(12):
            push(index, f"o{number}", "שלום עולם")
        push(index, "marked", "\u2067שלום\u2069 עולם\u200f")
        for text in ("שלום עולם", "\u202bשלום\u202c עולם\u200e"):
            hits = index.query(C, B, text, match="all", limit=100, lang="none", total=True)
            assert ("marked" in hits, hits.total) == (True, 13)
