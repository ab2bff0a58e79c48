"""The rules of texts: those of version 1.0, and the newer ones, which prepare a text and find more words."""

import sys
import unicodedata

import pytest

from sonicpy._native.terms import PART, STOP
from sonicpy.config import Config, NormalizationConfig
from sonicpy.lexer.lexer import Lexer
from sonicpy.rules import FIRST as FIRST_RULES
from sonicpy.rules import NEWEST as NEWEST_RULES
from tests.support.examples import examples

CONFIG = Config()


def lexer(rules: int = NEWEST_RULES, form: str = "nfkc") -> Lexer:
    normalization = NormalizationConfig(unicode_normalization=form)  # type: ignore[arg-type]
    return Lexer(normalization, CONFIG.tokenization, CONFIG.stopwords, compat=False, rules=rules)


NEWER, FIRST = lexer(), lexer(FIRST_RULES)


def words(text: str, cut: Lexer = NEWER) -> str:
    """Return the words of a text, without hidden ones."""
    terms = cut.lex_push(text, "none")
    shown = [word for word, flags in zip(terms.words, terms.flags, strict=True) if not flags & (STOP | PART)]
    return " ".join(word.decode() for word in shown)


def hidden(text: str, cut: Lexer = NEWER) -> list[str]:
    terms = cut.lex_push(text, "none")
    return [word.decode() for word, flags in zip(terms.words, terms.flags, strict=True) if flags & (STOP | PART)]


@pytest.mark.parametrize(
    ("text", "newer", "first"),
    [
        ("H₂O, CO₂", "h2o co2", "h 2 o co"),
        ("50 m² or m2", "50 m2 or", "50 m 2 or m2"),
        ("№5", "no5", "5"),
        ("5㎏", "5kg", "5"),
        ("㍻", "平成", ""),
        ("㈱テスト", "株 テスト", "テスト"),
        ("10⁶ x³", "106 x3", "10 6 x 3"),
        ("२०२४ ২০২৪ ٢٠٢٤ ２０２４", "2024", "२०२४ ২০২৪ ٢٠٢٤ 2024"),
        ("٣٫١٤", "3 14", "٣ ١٤"),
        ("ａ＠ｂ．ｄｅ", "a b.de", "a b.de"),
        ("葛\U000e0100 1\ufe0f\u20e3", "葛 1", "葛\U000e0100 1\ufe0f\u20e3"),
        ("ന്\u200d", "ൻ", "ന്\u200d"),
        # cut as before
        ("end…Next", "end next", "end next"),
        ("Windows™ Mark℠", "windows mark", "windows mark"),
        ("1½ cups", "1 1⁄2 cups", "1 1⁄2 cups"),
        ("①テスト ②한글", "1 テスト 2 한글", "1 テスト 2 한글"),
        ("⒈2019", "1 2019", "1. 2019"),
        ("ﬁn Straße ﷺ", "fin strasse صلى الله عليه وسلم", "fin strasse صلى الله عليه وسلم"),
        # emoji
        ("great🔥launch 🎉🎉", "great 🔥 launch 🎉", "great launch"),
        ("👍🏽 👍", "👍", ""),
        ("👩\u200d💻 🇫🇷 ➡\ufe0f ★ ❤\ufe0f\u200d🔥", "👩\u200d💻 🇫🇷 ➡ ★ ❤\u200d🔥", ""),
        ("© 2024 ● ■ 25 °C", "2024 25 c", "2024 25 c"),
        # signs
        ("C++, C# and F#.", "c c++ c# and f f#", "c and f"),
        ("Notepad++ (.NET) .gitignore", "notepad notepad++ net .net gitignore .gitignore", "notepad net gitignore"),
        ("issue#5 a+b c+++ x++y #tag", "issue 5 a b c x y tag", "issue 5 a b c x y tag"),
        ("one. Two ...three", "one two three", "one two three"),
        ("ASP.NET C++17", "asp.net c c++ 17", "asp.net c 17"),
        ("精通C++、Java", "精通 c c++ java", "精通 c java"),
        ("“C++”, C#，Go—C+…", "c c++ c# go c+", "c go"),
        ("「.NET」 “.gitignore” 使用.NET", "net .net gitignore .gitignore 使用", "net gitignore 使用"),
        ("学习C++编程", "学习 c c++ 编程", "学习 c 编程"),
        ("foo 日本+ 🎉+ day", "foo 日本 🎉 day", "foo 日本 day"),
        # numbers before addresses
        ("port 443 10.0.0.17, 1.5 10.0.0.17:8080", "port 443 10.0.0.17 1 5 8080", "port 443 10 0 17 1 5 8080"),
        ("06 12.34.56.78.90 and +49 30.12.34.56", "06 12 34 56 78 90 and 49 30", "06 12 34 56 78 90 and 49 30"),
        ("C++é C#é ∑.NET é.net C+\u0301", "c é net .net é.net", "c é net é.net"),
        # invisible characters
        ("\u2068Anna\u2069 wrote \ufeffC++\u2060", "anna wrote c c++", "anna\u2069 wrote c"),
        ("שלום\u200f \u202bעולם\u202c l\u200er", "שלום עולם lr", "שלום\u200f עולם\u202c l\u200er"),
    ],
)
def test_how_the_rules_cut(text: str, newer: str, first: str) -> None:
    assert (words(text), words(text, FIRST)) == (newer, first)


@pytest.mark.parametrize("space", "\t\x0b\x85\xa0\u1680\u2003\u2028\u205f\u3000")
def test_signs_beside_any_white_space(space: str) -> None:
    text = "C++ C# .NET (.gitignore 1 C#"
    assert words(text.replace(" ", space)) == words(text)


@pytest.mark.parametrize("piece", ["中+", "🎉+", "ก+ ", "中+中 +"])
def test_signs_behind_other_characters_than_words_add_nothing(piece: str) -> None:
    assert max(map(len, words(piece * 1_000).split())) < 10


def test_the_last_word_is_the_one_with_its_signs() -> None:
    last = [NEWER.lex(text, "none") for text in ("learn c++", "use .net", "in 👍🏽", "c+ ")]
    assert [terms.words[terms.last] if terms.last >= 0 else None for terms in last] == [
        b"c++",
        b".net",
        "👍".encode(),
        None,
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("getElementById", ["get element by id"]),
        ("iPhone", ["i phone"]),
        ("HTTPServer XMLHttpRequest", ["http server", "xml http request"]),
        ("self.assertEqual(os.path)", ["self.assert equal"]),
        ("ÜberRaschung МояСумка", ["über raschung", "моя сумка"]),
        ("PDFs IDs Iphone CAPITALS H2O sha256sum ΛΟΓΟΣ 東京Tower", []),
        ("getElementById again getElementById", ["get element by id"]),
    ],
)
def test_joints_of_camel_case(text: str, parts: list[str]) -> None:
    terms = NEWER.lex_push(text, None)
    joints = {word: count for word, count in zip(terms.words, terms.counts, strict=True) if word.startswith(b"\2")}
    assert joints == {"".join("\2" + each for each in part.split()).encode(): 0 for part in parts}
    assert all(b"".join(word.split(b"\2")) in terms.words for word in joints)
    assert not any(word.startswith(b"\2") for word in NEWER.lex(text, None).words + FIRST.lex_push(text, None).words)
    assert set(joints) <= set(NEWER.lex_every_way(text))


def test_a_half_is_found_by_its_numbers() -> None:
    assert hidden("½ cup") == ["1", "2"]
    assert hidden("⅟ 3") == ["1"]


def test_symbols_are_hidden_words() -> None:
    assert hidden("∑ → x") == ["∑", "→"]
    assert list(NEWER.lex("∑", "none").flags) == [STOP]


def test_turkish_capitals_have_no_joints() -> None:
    assert NEWER.lex_push("ISIK IRAK", "tur").words == ["ısık".encode(), "ırak".encode()]


def test_a_digit_of_any_script_is_one_of_ascii() -> None:
    digits = [chr(point) for point in range(sys.maxunicode + 1) if unicodedata.category(chr(point)) == "Nd"]
    assert len(digits) > 600
    for digit in digits:
        assert words(digit) == str(unicodedata.digit(digit))


def test_a_form_gives_the_words_of_the_letters_it_stands_for() -> None:
    """Every compatibility form behind a letter is cut as the letters that it represents, except forms that are still
    cut as before.
    """
    apart = "\u2122\u2120"
    step = max(1, 4 // examples(4))
    for point in range(0x80, 0x20000, step):
        char = chr(point)
        kind = unicodedata.decomposition(char).partition(" ")[0]
        form = unicodedata.normalize("NFKC", char)
        if kind[:1] != "<" or kind in ("<fraction>", "<circle>") or char in apart or not form.isalnum():
            continue
        assert words(f"ab{char}") == words(f"ab{form}"), hex(point)


def test_ascii_is_cut_as_before() -> None:
    text = "Mail to max@example.net: 3.14 apples, don't (see 10.0.0.1) snake_case https://a.b/c?d=5 covid-19"
    newer, first = NEWER.lex_push(text, None), FIRST.lex_push(text, None)
    assert newer == first


def test_other_normal_forms_prepare_nothing() -> None:
    assert words("m² ２", lexer(form="nfc")) == "m ² ２"


def test_lexers_of_other_rules() -> None:
    assert NEWER.under(FIRST_RULES).lex_push("m²", None) == FIRST.lex_push("m²", None)
    assert NEWER.under(FIRST_RULES) is NEWER.under(FIRST_RULES)
    assert NEWER.under(NEWEST_RULES) is NEWER
    with pytest.raises(KeyError):
        NEWER.under(9)
