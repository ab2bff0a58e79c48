"""The guessed language of a text, and the table by which it is guessed."""

import importlib
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.language import UNCLEAR, ClearTexts, Detector
from sonicpy.data import LANGUAGE_PROFILES
from sonicpy.evaluation.language_scores import BORROWED, accuracy, cut_pieces
from sonicpy.lexer.language import MAX_BYTES, MIN_BYTES, SURE_LEAD, LanguageGuesser
from sonicpy.lexer.languages import by_code
from tests.reference import language as reference
from tests.support.language_samples import ACCURACY_MIN, chat_lines, sentences
from tests.support.shared_data import shared_data

GUESSER = LanguageGuesser()
DETECTOR = Detector(LANGUAGE_PROFILES)

TEXTS = [
    ("the cat sat on a mat", "eng", "20 bytes are enough"),
    ("The quick brown fox jumps over the lazy dog", "eng", "the pangram, which Sonic takes for Danish"),
    ("THE CAT SAT ON THE MAT", "eng", "letter case plays no part"),
    ("guys i have a question", "eng", "chat: a small i is no Catalan"),
    ("run http://paste.ubuntu.com/27293/ and read the output", "eng", "addresses are left out"),
    ("Der Hund schläft unter dem Tisch", "deu", "profile"),
    ("Le chat dort sur la table de la cuisine", "fra", "profile"),
    ("El perro duerme debajo de la mesa", "spa", "profile"),
    ("O cachorro dorme debaixo da mesa grande", "por", "profile"),
    ("Il cane dorme sotto il tavolo della cucina", "ita", "profile"),
    ("De hond slaapt onder de tafel in de keuken", "nld", "profile"),
    ("Koira nukkuu pöydän alla keittiössä", "fin", "profile"),
    ("Köpek mutfakta masanın altında uyuyor", "tur", "profile"),
    ("Con chó ngủ dưới bàn trong bếp", "vie", "profile"),
    ("Co\u0302\u0301 ga\u0306\u0301ng le\u0302n nhe\u0301 ca\u0301c ba\u0323n o\u031bi", "vie", "decomposed letters"),
    ("Köpək mətbəxdə masanın altında yatır", "aze", "borrowed profile"),
    ("Kare yana barci a karkashin teburi a cikin kicin", "hau", "borrowed profile"),
    ("Asu iku turu ing sangisore meja ing pawon", "jav", "borrowed profile"),
    ("Ajá náà ń sùn lábẹ́ tábìlì nínú ilé ìdáná", "yor", "borrowed profile, combining marks"),
    ("Kûçik di bin maseyê de li metbexê radizê", "kur", "borrowed profile"),
    ("Собака спить під столом на кухні", "ukr", "Cyrillic"),
    ("Сабака спіць пад сталом на кухні", "bel", "Cyrillic, borrowed profile"),
    ("Кучето спи под масата в кухнята", "bul", "Cyrillic"),
    ("Пас спава испод стола у кухињи", "srp", "Cyrillic, Croatian in other letters"),
    ("الكلب ينام تحت الطاولة في المطبخ", "ara", "Arabic"),
    ("سگ زیر میز آشپزخانه می خوابد", "pes", "Arabic"),
    ("کتا باورچی خانے میں میز کے نیچے سوتا ہے", "urd", "Arabic"),
    ("सगळ्यांना समान संधी मिळाली पाहिजे असे त्याने सांगितले", "mar", "Devanagari"),
    ("कुत्ता रसोई में मेज के नीचे सोता है", "hin", "Devanagari"),
    ("הכלב ישן מתחת לשולחן במטבח", "heb", "Hebrew"),
    ("דער הונט שלאָפט אונטער דעם טיש אין קיך", "yid", "Hebrew, borrowed profile"),
    ("狗在厨房的桌子下面睡觉呢", "cmn", "Han"),
    ("犬は台所のテーブルの下で眠っています", "jpn", "Han and kana"),
    ("개가 부엌 식탁 아래에서 자고 있어요", "kor", "the script decides"),
    ("สุนัขนอนอยู่ใต้โต๊ะในครัว", "tha", "the script decides"),
    ("ძაღლს სამზარეულოში სძინავს", "kat", "the script decides"),
    ("Շունը քնած է խոհանոցում", "hye", "the script decides"),
    ("Ο σκύλος κοιμάται στην κουζίνα", "ell", "the script decides"),
    ("ውሻው በኩሽና ውስጥ ተኝቷል", "amh", "the script decides"),
    ("ဒီခွေး အိပ်နေတယ်", "mya", "the script decides"),
    ("ឆ្កែកំពុងគេងនៅក្នុងផ្ទះបាយ", "khm", "the script decides"),
    ("установить Ubuntu Linux server на ноутбук", "rus", "a Cyrillic letter weighs two Latin ones"),
    ("Qen po fle nën tryezë në kuzhinë", None, "Albanian is not in the table"),
    ("Mbwa analala chini ya meza jikoni", None, "Swahili is not in the table"),
    ("ཁྱི་ཐབ་ཚང་གི་ཅོག་ཙེའི་འོག་ཏུ་ཉལ་ཡོད།", None, "no language of the table is written so"),
    ("12345 67890 12345 67890", None, "no letters"),
    ("https://help.ubuntu.com/community/", None, "nothing but an address"),
]


@pytest.mark.parametrize(("text", "language", "why"), TEXTS)
def test_guess(text: str, language: str | None, why: str) -> None:
    assert GUESSER.guess(text) == language, why


@pytest.mark.parametrize(
    ("text", "language", "why"),
    [
        ("", None, "nothing"),
        ("the cat sat on a ma", None, "19 bytes"),
        ("the cat sat on a mat", "eng", "20 bytes"),
        ("привет мир", None, "10 characters, 19 bytes"),
        ("привет, мир", "rus", "11 characters, 20 bytes"),
        ("日本語の文", None, "5 characters, 15 bytes"),
        ("日本語の文章だ", "jpn", "7 characters, 21 bytes"),
        ("\ud800" * 20, None, "lone surrogates are no letters"),
        ("\x00" * 20, None, "nor are control characters"),
    ],
)
def test_length_is_counted_in_bytes(text: str, language: str | None, why: str) -> None:
    assert GUESSER.guess(text) == language, why


def test_bytes_after_the_first_200_play_no_part() -> None:
    english = "the cat sat on the mat and looked at the door " * 5
    french = " le chat dort sur la table de la cuisine" * 100
    assert GUESSER.guess(english[:200] + french) == "eng"
    assert GUESSER.guess(english[:20] + french) == "fra"
    russian = "Собака спит под столом, и кошка тоже хочет спать на этом месте. " * 2
    assert len(russian) < 200 < len(russian.encode())
    assert GUESSER.guess(russian + french) == "rus", "200 bytes, not 200 characters"


@given(st.text(min_size=200, max_size=260), st.text(max_size=30))
def test_only_a_beginning_is_examined(head: str, tail: str) -> None:
    assert GUESSER.guess(head + tail) == GUESSER.guess(head)


@settings(deadline=None)
@given(st.text(max_size=300))
def test_every_text_has_one_answer_of_the_table(text: str) -> None:
    language = GUESSER.guess(text)
    assert language is None or language in by_code
    assert LanguageGuesser().guess(text) == language


def test_words_decide_where_letters_are_unsure() -> None:
    """Every letter of this Spanish line looks Catalan, but two of its words are not."""
    text = "ofe a nivel provincial”, comentó Aulia Arriani, portavoz"
    language, lead = DETECTOR.guess(text)
    assert (language, lead < 10) == ("cat", True)
    assert GUESSER.guess(text) == "spa"


CLEAR = ClearTexts(LANGUAGE_PROFILES, by_code.keys(), MIN_BYTES, MAX_BYTES, SURE_LEAD)


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("the cat sat on the mat and looked at the door", "eng", "letters"),
        ("the cat sat on a ma", None, "19 bytes"),
        ("Собака спить під столом на кухні", "ukr", "letters"),
        ("привет мир", None, "19 bytes"),
        ("12345678901234567890", None, "no letters"),
        ("Der Hund schläft unter dem Tisch", "deu", "letters that no normal form changes"),
        ("ofe a nivel provincial, Aulia Arriani, portavoz", UNCLEAR, "the lead is too small"),
        ("Der Hund schla\u0308ft unter dem Tisch", UNCLEAR, "a mark"),
        ("un été à la mer " * 15 + "\u0301", "fra", "behind 200 bytes marks play no part"),
        ("x" + "é" * 100 + "\u0301", "fra", "nor half a letter before them"),
        ("狗在厨房的桌子下面睡觉呢", UNCLEAR, "letters that may have another normal form"),
        ("Nataka kusoma kitabu hiki kizuri sana leo jioni nyumbani kwangu", None, "Swahili is not known"),
    ],
)
def test_clear_texts_are_guessed_at_once(text: str, expected: str | None, why: str) -> None:
    assert CLEAR.guess(text) == expected, why


@given(st.text(max_size=220) | st.text(alphabet="etaoin shrdlu é Ñ //:@ жяЂ\u0301\u0482", max_size=220))
def test_what_is_guessed_at_once_is_what_the_long_way_guesses(text: str) -> None:
    assert CLEAR.guess(text) in (UNCLEAR, GUESSER.explain(text)[0])
    assert GUESSER.guess(text) == GUESSER.explain(text)[0]


def test_what_is_guessed_at_once_of_real_texts_is_what_the_long_way_guesses() -> None:
    lines = shared_data("multilingual/sentences.tsv").read_text(encoding="utf-8").splitlines()[::20]
    texts = [line.split("\t", 3)[3] for line in lines]
    found = [(CLEAR.guess(text), GUESSER.explain(text)[0]) for text in texts]
    assert all(clear in (UNCLEAR, slow) for clear, slow in found)
    assert sum(clear != UNCLEAR for clear, _ in found) > len(texts) // 3
    assert [GUESSER.guess(text) for text in texts] == [slow for _, slow in found]


def test_letters_that_no_normal_form_changes_stay_as_they_are_next_to_each_other() -> None:
    letters = [chr(point) for point in (*range(0x300), *range(0x400, 0x483))]
    assert not any(unicodedata.combining(letter) for letter in letters)
    for first in letters:
        pairs = "".join(f"{first}{second}" for second in letters)
        assert unicodedata.normalize("NFC", pairs) == pairs


@pytest.mark.parametrize("text", [None, b"the cat sat on a mat", 7])
def test_only_str_is_guessed_at_once(text: object) -> None:
    with pytest.raises(TypeError):
        CLEAR.guess(text)  # type: ignore[arg-type]


EVIDENCE = st.lists(st.tuples(st.sampled_from([*by_code, "swa", "?"]), st.floats(-50, 50)), max_size=20)


@given(st.text(alphabet="etaoin shrdluñ", max_size=60) | st.text(alphabet="жњўіқ ивано") | st.text(), EVIDENCE)
def test_evidence_is_added_to_what_n_grams_say(text: str, evidence: list[tuple[str, float]]) -> None:
    nats = DETECTOR.scores(text)
    for code, more in evidence:
        if code in nats:
            nats[code] += more
    assert DETECTOR.guess_with(text, evidence) == max(nats, key=nats.__getitem__, default=None)


@pytest.mark.full
def test_every_n_gram_of_a_long_text_counts() -> None:
    """Sums of 16 bits are added to larger ones before they overflow."""
    for text in ("e" * 1024, "the " * 256, "а" * 1024, "ب" * 1024):
        check_against_reference(text)


def test_kana_above_one_in_twenty_make_han_japanese() -> None:
    assert DETECTOR.guess("漢" * 19 + "の") == ("cmn", float("inf"))
    assert DETECTOR.guess("漢" * 18 + "の") == ("jpn", float("inf"))


@pytest.mark.parametrize(
    "text",
    [
        "日@b本 foo",
        "日本http://x.y日本",
        "a@b c",
        "é@é ü",
        "é\u0301@x y",
        "x ://y",
        "://",
        "::://a b",
        "@",
        "aа bб",
        "İstanbul ﬁ ß Ǆ",
        "ẹ ọ ể ș ț",
        "عربی عربي",
        "क़लम",
    ],
)
def test_scores_of_odd_texts_agree_with_the_reference(text: str) -> None:
    check_against_reference(text)


LETTERS = "eé ñi'ǆßẹể\u0301 7_@:/.\tжњўіқ עװאָ نیەپ हळू क़ 漢字かなカー한ελཀ\u2003"


@given(st.text(alphabet=LETTERS, max_size=80))
def test_scores_of_mixed_letters_agree_with_the_reference(text: str) -> None:
    check_against_reference(text)


@given(st.text(max_size=60))
def test_scores_of_any_text_agree_with_the_reference(text: str) -> None:
    check_against_reference(text)


@pytest.mark.full
def test_scores_of_real_sentences_agree_with_the_reference() -> None:
    lines = shared_data("multilingual/sentences.tsv").read_text(encoding="utf-8").splitlines()[::50]
    for line in lines:
        check_against_reference(line.split("\t", 3)[3][:1024])


def check_against_reference(text: str) -> None:
    """Compare the scores with fractions: a weight is rounded to 1/25 nat, and a letter is the end of up to three
    n-grams.
    """
    expected = reference.scores(text)
    found = DETECTOR.scores(text)
    assert found.keys() == expected.keys()
    for code, nats in found.items():
        assert abs(nats - expected[code]) <= 0.02 * 3 * (len(text) + 1)
    language, lead = DETECTOR.guess(text)
    if found:
        first, second = sorted(found.values(), reverse=True)[:2]
        assert found[str(language)] == first
        assert lead == pytest.approx(first - second)
    else:
        assert language == reference.only_language(text)


def test_no_more_than_1024_characters_are_read() -> None:
    text = "the cat sat on a mat " * 100
    assert DETECTOR.scores(text) == DETECTOR.scores(text[:1024])
    assert DETECTOR.scores("é" * 5_000_000) == DETECTOR.scores("é" * 1024)


@pytest.mark.parametrize("text", [None, b"the cat sat on a mat", 7])
def test_only_str_is_accepted(text: object) -> None:
    with pytest.raises(TypeError):
        DETECTOR.guess(text)  # type: ignore[arg-type]


PACKED = LANGUAGE_PROFILES.read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a language table: it begins with b''"),
        (PACKED[:30], "not a language table"),
        (b"something else entirely" * 10, "not a language table: it begins with b'somethin'"),
        (PACKED[:8] + b"\xff" + PACKED[9:], "version"),
        (PACKED[:-1], "damaged"),
        (PACKED + b"\x00", "damaged"),
        (PACKED[:1_000_000] + b"\xff\x00" + PACKED[1_000_002:], "damaged"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "languages.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Detector(path)


def test_a_missing_table_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Detector(tmp_path / "none")


def test_texts_that_are_too_short_need_no_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sonicpy.lexer.language.LANGUAGE_PROFILES", tmp_path / "none")
    guesser = LanguageGuesser()
    assert (guesser.guess("sunny weather"), guesser.counted("снег")) == (None, None)
    assert guesser.explain("snow") == (None, "short")
    for needs in (guesser.guess, guesser.counted, guesser.explain):
        with pytest.raises(FileNotFoundError):
            needs("the cat sat on a mat")
    with pytest.raises(FileNotFoundError):
        guesser.prepare()


@pytest.mark.full
def test_a_build_packs_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "ext")
    assert importlib.import_module("tables.languages").pack() == PACKED


@pytest.mark.parametrize("size_bytes", ACCURACY_MIN)
def test_accuracy_on_cuts_of_real_sentences(size_bytes: int) -> None:
    texts = sentences(shared_data("multilingual/sentences.tsv"))
    usual = cut_pieces((text for text in texts if text[0] not in BORROWED), size_bytes)
    assert accuracy(GUESSER.guess, usual[::4]) >= ACCURACY_MIN[size_bytes]


@pytest.mark.parametrize(("size_bytes", "bar"), [(20, 0.45), (60, 0.75), (200, 0.9)])
def test_accuracy_of_borrowed_profiles(size_bytes: int, bar: float) -> None:
    texts = sentences(shared_data("multilingual/sentences.tsv"))
    assert accuracy(GUESSER.guess, cut_pieces((text for text in texts if text[0] in BORROWED), size_bytes)) >= bar


@pytest.mark.parametrize(("source", "bar"), [("u", 0.96), ("s", 0.99)])
def test_chat_is_english(source: str, bar: float) -> None:
    assert accuracy(GUESSER.guess, chat_lines(shared_data("messages/messages.tsv"), source)) >= bar


def test_no_data_package_is_loaded() -> None:
    """Only the build reads the data packages; importing them in the server would cost 60 MB."""
    program = (
        "import sys\n"
        "from sonicpy.lexer.language import LanguageGuesser\n"
        "print(LanguageGuesser().guess('no creo que se pueda hablar'), *sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert answer[0] == "spa"
    assert not {"langdetect", "stopwordsiso", "numpy"} & set(answer)
