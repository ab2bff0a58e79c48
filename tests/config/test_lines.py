"""Lines of keys: every way to write a key in TOML, between texts that look like keys."""

import json
import re
import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy.config.key_lines import KeyPath, lines_of
from tests.support.examples import examples

# Each key that counts holds the number of its line.
TRICKY = [
    ("a = 1", "no line end"),
    ("\n\n  a = 3\n\tb = 4 # c = 9", "blank lines, indents, a comment that looks like a key"),
    ("a = 1\r\nb = 2\r\n\r\n[c]\r\nd = 5", "line ends of Windows"),
    ("a.b = 1\na . c = 2\na.\td.e = 3", "dotted keys, with blanks around the dots"),
    ('"a.b" = 1\n\'c d\'."e\\u0066" = 2\n"" = 3\n"x=y" = 4\n"#" = 5', "quoted keys"),
    ("1 = 1\n-_- = 2\n3.5 = 3", "bare keys that look like numbers"),
    ("[a]\nb = 2\n[ c . 'd.e' ] # ]\nf = 4\n[a.g]\nh = 6", "section headers"),
    ("a = { b = 1, c.d = 1, e = { f = 1 }, 'g}' = 1 }\nh = 2", "inline tables"),
    ("a = { b = 1, t = '}', u = \"}, c = 9\" }\nd = 2", "brackets in texts of inline tables"),
    ('t = """\na = 9\n[b]\n"""\nc = 5', "a text of several lines"),
    ("t = '''\na = 9\n''' # '''\nb = 4", "a literal text of several lines"),
    ('t = """x\\""" y = 9\n"""\nb = 3', "an escaped quote in three quotes"),
    ('t = """x"""""\nu = """"""\nv = """a""b"""\nb = 4', "quotes at the end of three quotes"),
    ("t = '''x'''''\nu = ''''''\nb = 3", "the same with apostrophes"),
    ('t = """\\\\"""\nb = 2', "a backslash before three quotes"),
    ("t = '\\'\nb = 2", "a backslash in a literal text escapes nothing"),
    ("t = [ # ]\n  'a = 9', # b = 9\n  [ '[c]', \"]\" ],\n\n]\nd = 6", "an array of several lines"),
    ("t = [ { a = 9 }, { a = 9 } ]\nb = 2", "tables in an array"),
    ("t = 1979-05-27 07:32:00\nu = -1.5e+3 # v = 9\nb = 3", "values of several parts"),
    ("[a.b]\nc = 2\n[a]\nd = 4\n\n[e]\n[f]", "a section after its child, and empty ones"),
]

HEADERS = [
    ("[a]\nb = 1\n\n[c.d]", {("a",): 1, ("a", "b"): 2, ("c", "d"): 4}),
    ("\n[[a.b]]\nc = 1\n[[a.b]]\nc = 2", {("a", "b"): 2, ("a", "b", "c"): 3}),
]


def numbers(table: dict[str, object], path: KeyPath = ()) -> dict[KeyPath, int]:
    found: dict[KeyPath, int] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= numbers(value, (*path, name))
        elif isinstance(value, int):
            found[*path, name] = value
    return found


def test_every_key_has_its_line() -> None:
    for text, why in TRICKY:
        expected = numbers(tomllib.loads(text))
        lines = lines_of(text)
        assert {path: lines[path] for path in expected} == expected, why


def test_headers_have_lines_too() -> None:
    for text, expected in HEADERS:
        assert lines_of(text) == expected


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=5)
TEXTS = st.text(st.sampled_from("ab=[]{}\"'#\\,.\n \t"), max_size=12)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def in_three_quotes(text: str) -> str:
    return '"""' + re.sub(r'(["\\])', r"\\\1", text) + '"""'


WRITTEN_TEXTS = st.one_of(
    TEXTS.map(quoted),
    TEXTS.map(in_three_quotes),
    TEXTS.filter(lambda text: "'" not in text).map(lambda text: f"'''\n{text}'''"),
    TEXTS.filter(lambda text: not set("'\n") & set(text)).map(lambda text: f"'{text}'"),
)
VALUES = st.recursive(
    st.one_of(WRITTEN_TEXTS, st.sampled_from(["0", "-1.5", "true", "1979-05-27 07:32:00Z"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: "[ # ]\n" + " ,\n".join(parts) + "]"),
        st.lists(st.tuples(NAMES, inner), max_size=3, unique_by=lambda pair: pair[0]).map(
            lambda pairs: "{" + ", ".join(f"{quoted(name)} = {value}" for name, value in pairs) + "}"
        ),
    ),
    max_leaves=6,
)
SECTIONS = st.lists(
    st.tuples(NAMES, st.lists(st.tuples(NAMES, VALUES), max_size=4, unique_by=lambda pair: pair[0])),
    max_size=4,
    unique_by=lambda section: section[0],
)


@settings(max_examples=examples(50))
@given(SECTIONS)
def test_any_text_is_walked_to_its_end(sections: list[tuple[str, list[tuple[str, str]]]]) -> None:
    text, expected = "", {}
    for section, pairs in sections:
        text += f"\n[{quoted(section)}] # x = 1\n"
        for name, value in pairs:
            expected[section, name] = text.count("\n") + 1
            text += f"{quoted(name)} = {value} # [y]\n"
    tomllib.loads(text)
    lines = lines_of(text)
    assert {path: lines[path] for path in expected} == expected
