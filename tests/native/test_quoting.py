"""Words and quoted texts of a line, compared with tables and with the reference implementation."""

import sys
import time
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonicpy._native.quoting import split_head, take_text, take_words
from tests.reference.channel import WHITE_SPACE, quoted_text, words_of
from tests.support.examples import examples
from tests.support.patience import is_below

HEADS = [
    (b"PING", ("PING", 4), "one word"),
    (b"  PING  \r", ("PING", 9), "white space around it"),
    (b"QUERY c b", ("QUERY", 6), "the offset is that of the second word"),
    (b"QUERY \t\xc2\xa0 c", ("QUERY", 10), "a mixed run is one separator"),
    (b"", ("", 0), "empty"),
    (b" \t\x0b\x0c\r", ("", 5), "blank"),
    (b"a\x1cb\x1d\x1e\x1f\x00\x7f c", ("a\x1cb\x1d\x1e\x1f\x00\x7f", 9), "control characters are no white space"),
    ("\ufeffPING\u200b\u180e x".encode(), ("\ufeffPING\u200b\u180e", 14), "nor are invisible ones"),
    ("日本 語".encode(), ("日本", 7), "bytes above ASCII"),
]

TEXTS = [
    (r'"hello world"', "hello world", "", "plain"),
    (r'"a \" b"', 'a " b', "", "an escaped quote ends nothing"),
    (r'"a\"b"', 'a"b', "", "also inside a word"),
    (r'"abc"def"', 'abc"def', "", "only the last byte of a part can end the text"),
    (r'"""', '"', "", "three quotes"),
    (r'""""', '""', "", "four quotes"),
    (r'""abc""', '"abc"', "", "doubled quotes"),
    (r'"abc" def', "abc", "def", "what follows is left"),
    (r'"abc" "def"', "abc", '"def"', "even if it is quoted"),
    (r'"abc", "def"', 'abc", "def', "", "a comma keeps the text open"),
    (r'"abc\"', "abc\\", "", "the parts ran out"),
    (r'"abc\" LANG(none)', None, None, "the parts ran out behind LANG"),
    (r'"abc\" more"', 'abc" more', "", "goes on to the next quote"),
    (r'"abc\\"', r"abc\\", "", "a pair of backslashes leaves the quote alone"),
    (r'"abc \\" LANG(none)', r"abc \\", "LANG(none)", "the same within its part"),
    (r'"abc \" LANG(x)"', r'abc " LANG(x)', "", "backslashes are counted within the part"),
    ('"', None, None, "one quote"),
    ('""', None, None, "nothing between the quotes"),
    ('" "', None, None, "only white space between them"),
    ('"abc', None, None, "not closed"),
    ('abc"', None, None, "not opened"),
    ("abc", None, None, "no quotes"),
    ("", None, None, "nothing there"),
    (r'" \" "', '"', "", "one escaped quote"),
    (r'"\n"', "\n", "", "one line feed"),
    (r'"\r"', None, None, "a dropped carriage return leaves nothing"),
    (r'"a\r\nb"', "a\nb", "", "only the line feed of an escaped CR LF stays"),
    ('"  one \t  two \u3000"', "one two", "", "runs become one blank, outer ones go"),
    ('"a\\\u00a0b"', "a\\ b", "", "a backslash before white space stays"),
    (r'"foo\\nbar"', r"foo\\nbar", "", "the second of a pair escapes nothing"),
    (r'"foo\\\nbar"', "foo\\\\\nbar", "", "the third does"),
    (r'"C:\temp\new"', "C:\\temp\new", "", "unknown escapes stay"),
    ('"\\é"', "\\é", "", "also before a character of several bytes"),
    ('"abc\\ "', "abc\\", "", "a backslash at the very end stays"),
    ("'abc'", None, None, "another kind of quote"),
    ('"abc”', None, None, "a typographic quote closes nothing"),
]


@pytest.mark.parametrize(("line", "expected", "why"), HEADS)
def test_split_head(line: bytes, expected: tuple[str, int], why: str) -> None:
    assert split_head(line) == expected, why


@pytest.mark.parametrize(
    "line", [b"\xff", b"PING \xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xa0", b"x" * 99 + b"\xe2\x80"]
)
def test_split_head_refuses_what_is_not_utf8(line: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        split_head(line)


@pytest.mark.parametrize(("written", "text", "rest", "why"), TEXTS)
def test_take_text(written: str, text: str | None, rest: str | None, why: str) -> None:
    line = f"PUSH {written}".encode()
    got, offset = take_text(line, 5)
    assert got == text, why
    assert line[offset:].decode() == (written if text is None else rest), why


def test_take_words() -> None:
    line = b"COUNT  a b\tc "
    assert take_words(line, 5, 2) == (["a", "b"], 11)
    assert take_words(line, 5, 0) == ([], 7)
    assert take_words(line, 5, 9) == (["a", "b", "c"], 13)
    assert take_words(line, 11) == (["c"], 13)
    assert take_words(line, 13) == ([], 13)


def test_white_space_is_what_unicode_says() -> None:
    # Unicode's own category names all of them, besides the six controls that the standard adds by hand.
    by_category = {code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Zs", "Zl", "Zp")}
    assert set(WHITE_SPACE) == by_category | {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85}


@pytest.mark.full
def test_every_character_separates_or_does_not() -> None:
    for code in range(sys.maxunicode + 1):
        if 0xD800 <= code < 0xE000:
            continue
        separates = split_head(f"a{chr(code)}b".encode())[0] == "a"
        assert separates == (code in WHITE_SPACE), f"U+{code:04X}"


@pytest.mark.parametrize("offset", [-1, 5, 2**62])
def test_offsets_outside_the_line_are_refused(offset: int) -> None:
    with pytest.raises(ValueError, match="outside a line of 4 bytes"):
        take_words(b"PING", offset)
    with pytest.raises(ValueError, match="outside a line of 4 bytes"):
        take_text(b"PING", offset)


TRICKY = st.lists(
    st.sampled_from(['"', "\\", " ", "\t", "\u00a0", "\u2003", "n", "r", "a", "é", "\x1c", "("]), max_size=30
)
LINES = TRICKY.map("".join) | st.text(max_size=40)


@settings(max_examples=examples(1_000))
@given(LINES)
@example('" \\" \\\\" "')
def test_same_as_the_twin(line: str) -> None:
    raw = line.encode()
    words = words_of(line)
    head, offset = split_head(raw)
    assert ([head] if head else []) + take_words(raw, offset)[0] == words
    text, offset = take_text(raw, 0)
    expected, rest = quoted_text(words)
    assert text == expected
    if text is not None:
        assert take_words(raw, offset)[0] == rest


@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_are_cut_or_refused_as_not_utf8(line: bytes, offset: int) -> None:
    offset = min(offset, len(line))
    for take in (take_words, take_text):
        try:
            _, after = take(line, offset)
        except UnicodeDecodeError:
            continue
        assert offset <= after <= len(line)


@pytest.mark.parametrize(
    "line",
    [
        b'"' + b"\\" * 4_000_000 + b'"',
        b'"' + b'\\" ' * 1_300_000,
        b'"' + b" " * 4_000_000 + b'"',
        "\u3000\u2003".encode() * 700_000,
        b"x" * 4_000_000,
    ],
    ids=["backslashes", "escaped quotes", "blanks", "wide blanks", "one word"],
)
def test_time_is_linear_in_the_line(line: bytes) -> None:
    start = time.thread_time()
    split_head(line)
    take_text(line, 0)
    assert is_below(time.thread_time() - start, 2.0), "4 MB take some milliseconds; a quadratic pass would take an hour"
