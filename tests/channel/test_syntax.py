"""Tests of the reading of lines: one table per outcome, and rules for all rows of COMMANDS."""

import pytest

from sonicpy._native.quoting import split_head
from sonicpy.channel import commands
from sonicpy.channel.commands import Mode
from sonicpy.channel.syntax import (
    COMMANDS,
    COMMANDS_OF_MODE,
    SONIC_COMMANDS_OF_MODE,
    SYNONYMS,
    Limits,
    LineRules,
    parse,
)
from sonicpy.errors import CommandError
from sonicpy.langcodes import LANG_CODES
from sonicpy.option_kinds import Languages
from sonicpy.options import OPTIONS

RULES = LineRules(
    Limits(query_default=9, query_maximum=50, suggest_default=3, suggest_maximum=7), Languages(LANG_CODES)
)


def read(line: str) -> tuple[object, ...]:
    raw = line.encode()
    word, offset = split_head(raw)
    return parse(COMMANDS[word], raw, offset, RULES)


READ = [
    ('QUERY c b "two words"', commands.Query("c", "b", "two words", 9, 0, None), "defaults"),
    ('QUERY c b "x" OFFSET(5) LANG(FRA) LIMIT(50)', commands.Query("c", "b", "x", 50, 5, "fra"), "all META"),
    ('QUERY c b "x" SCORES(1)', commands.Query("c", "b", "x", 9, 0, None, True), "with scores"),
    ('QUERY c b "x" TOTAL(1) STEM(0)', commands.Query("c", "b", "x", 9, 0, None, False, False, True), "with the total"),
    ('QUERY c b "x" SCORES(0) LIMIT(2)', commands.Query("c", "b", "x", 2, 0, None), "without"),
    ('EXPLAIN c b "two words"', commands.Explain("c", "b", "two words", 9, 0, None), "the limits of QUERY"),
    ('EXPLAIN c b "x" LANG(none) LIMIT(50)', commands.Explain("c", "b", "x", 50, 0, "none"), "all META"),
    (
        r'QUERY c b "" FILTER("red AND \"a b\" AND (x OR y)") SORT(-price) AFTER(o)',
        commands.Query("c", "b", "", 9, 0, None, filter='red AND "a b" AND (x OR y)', sort="-price", after="o"),
        "a filter in quotes",
    ),
    (
        'QUERY c b "" PHRASE("two words")',
        commands.Query("c", "b", "", 9, 0, None, phrase="two words"),
        "a phrase alone",
    ),
    (
        'QUERY c b "" AFTER("a SORT(b)") SORT(newest)',
        commands.Query("c", "b", "", 9, 0, None, sort="newest", after="a SORT(b)"),
        "an order behind another option",
    ),
    ('QUERY c b "x" FILTER(price<2000)', commands.Query("c", "b", "x", 9, 0, None, filter="price<2000"), "without"),
    ('FACETS c b ""', commands.CountFacets("c", "b", "", 100, None), "all objects"),
    ('FACETS c b "" LIMIT(7)', commands.CountFacets("c", "b", "", 7, None), "all objects, with an option"),
    (
        'FACETS c b "x" OF("size:*, color:*") RANGES("price: 0,1000; time: 5") APART(1)',
        commands.CountFacets(
            "c", "b", "x", 100, None, of="size:*, color:*", ranges="price: 0,1000; time: 5", apart=True
        ),
        "facets",
    ),
    ('SUGGEST c b "wo"', commands.Suggest("c", "b", "wo", 3), "its own default"),
    ('SUGGEST c b "wo" LIMIT(7)', commands.Suggest("c", "b", "wo", 7), "its own maximum"),
    ("LIST c b", commands.List("c", "b", 100, 0), "no text"),
    ("LIST c LIMIT(1)", commands.List("c", "LIMIT(1)", 100, 0), "the second word is a name, whatever it looks like"),
    ("LIST c b OFFSET(3) LIMIT(2)", commands.List("c", "b", 2, 3), "META straight behind the names"),
    ("LIST c b PREFIX(a(b) AFTER(x)", commands.List("c", "b", 100, 0, "a(b", "x"), "words may hold brackets"),
    ("COLLECTIONS", commands.Collections(100, None), "no names"),
    ("COLLECTIONS AFTER(c) LIMIT(500)", commands.Collections(500, "c"), "a page"),
    ("BUCKETS c", commands.Buckets("c", 100, None), "one name"),
    ("BUCKETS c LIMIT(1) AFTER(b)", commands.Buckets("c", 1, "b"), "a page"),
    ("OBJECTS c b", commands.Objects("c", "b", 100, "", None, None), "two names"),
    ("OBJECTS c b PREFIX(é:) AFTER(o(1)) LIMIT(9)", commands.Objects("c", "b", 9, "é:", "o(1)", None), "any name"),
    ("OBJECTS c b POSITION(0)", commands.Objects("c", "b", 100, "", None, 0), "where to go on"),
    ("EXISTS c b o", commands.Exists("c", "b", "o"), ""),
    ("SIMILAR c b o", commands.Similar("c", "b", "o", 9, 0), "defaults"),
    ("SIMILAR c b o LIMIT(3) OFFSET(2) SCORES(1)", commands.Similar("c", "b", "o", 3, 2, True), "all META"),
    ('PUSH c b o "x"', commands.Push("c", "b", "o", "x", None), "language to be guessed"),
    ('PUSH c b LIMIT(1) "x" LANG(none)', commands.Push("c", "b", "LIMIT(1)", "x", "none"), "no language"),
    ('UPSERT c b o "x"', commands.Upsert("c", "b", "o", "x", None, 0), "a whole text"),
    ('UPSERT c b o "x" LANG(eng) MORE(2)', commands.Upsert("c", "b", "o", "x", "eng", 2), "a piece"),
    ('PUSH é "b" o "a\\nb" ', commands.Push("é", '"b"', "o", "a\nb", None), "names are not judged here"),
    (
        'PUSH c b o "x" TAGS(red,size:xl) SET(price=1999)',
        commands.Push("c", "b", "o", "x", None, None, ["red", "size:xl"], {"price": 1999}),
        "",
    ),
    (
        'PUSH c b o "x" TAGS("Ben & Jerry\'s, (new)", b) LANG(eng)',
        commands.Push("c", "b", "o", "x", "eng", None, ["Ben & Jerry's, (new)", "b"]),
        "quotes",
    ),
    ('PUSH c b o "x" TAGS("a\\"b\\\\",a)', commands.Push("c", "b", "o", "x", None, None, ["a", 'a"b\\']), "escapes"),
    ("TAG c b o", commands.Tag("c", "b", "o"), "the index refuses it"),
    ("TAG c b o TAGS() SET(price=)", commands.Tag("c", "b", "o", [], {"price": None}), "takes away"),
    (
        'TAG c b o SET(place=47.21/-1.55,t=-5) TAGS("AND","é","e\u0301")',
        commands.Tag("c", "b", "o", ["AND", "é"], {"place": "47.21/-1.55", "t": -5}),
        "NFC",
    ),
    ('POP c b o "x"', commands.Pop("c", "b", "o", "x"), ""),
    ("COUNT c", commands.Count("c"), "one name"),
    ("COUNT c b", commands.Count("c", "b"), "two"),
    ("COUNT c b o", commands.Count("c", "b", "o"), "three"),
    ("COUNTC c", commands.CountC("c"), ""),
    ("COUNTB c b", commands.CountB("c", "b"), ""),
    ("COUNTO c b o", commands.CountO("c", "b", "o"), ""),
    ("FLUSHC c", commands.FlushC("c"), ""),
    ("FLUSHB c b", commands.FlushB("c", "b"), ""),
    ("FLUSHO c b o", commands.FlushO("c", "b", "o"), ""),
    ("FLUSHV c b", commands.FlushV("c", "b"), "all columns"),
    ('CLAIM c b "a \\\\ b"', commands.Claim("c", "b", "a \\\\ b"), "all names"),
    ('CLAIM c b "shop" PREFIX(s:)', commands.Claim("c", "b", "shop", "s:"), "some names"),
    ("SYNONYMS c", commands.Synonyms("c"), "its rules"),
    ("SYNONYMS c LIST 500", commands.Synonyms("c", 500), "from a position on"),
    ("SYNONYMS c set", commands.SetSynonyms("c", ()), "none any more"),
    (
        'SYNONYMS c SET "ny, new york" "tv => television"',
        commands.SetSynonyms("c", ("ny, new york", "tv => television")),
        "rules",
    ),
    ('SYNONYMS c ADD "a, b"', commands.SetSynonyms("c", ("a, b",), True), "one more"),
    ("FLUSHV c b m/1", commands.FlushV("c", "b", "m/1"), "one column"),
    (
        'PUSH c b o "x" VECTOR(m/1:/w==,n:AAA=)',
        commands.Push("c", "b", "o", "x", None, "m/1:/w==,n:AAA="),
        "two vectors",
    ),
    (
        'QUERY c b "x" VECTOR(AQIDBAUGBwg=) MEANING(.25) DEPTH(7)',
        commands.Query("c", "b", "x", 9, 0, None, vector="AQIDBAUGBwg=", meaning=0.25, depth=7),
        "a vector",
    ),
    ("FLUSH c b FILTER(red)", commands.FlushPassing("c", "b", "red"), ""),
    ("TRIGGER", commands.Actions(), "which actions there are"),
    ("TRIGGER consolidate", commands.Trigger("consolidate"), "no argument"),
    ("TRIGGER BackUp /Tmp/X", commands.Trigger("backup", "/Tmp/X"), "only the action may be in any case"),
    ("TRIGGER restore p", commands.Trigger("restore", "p"), ""),
    ("INFO", commands.Info(), ""),
    ("STATS", commands.Stats(), "no name"),
    ("STATS c", commands.Stats("c"), "one name"),
    ("STATS c b", commands.Stats("c", "b"), "two"),
    ("VERIFY", commands.Verify(), ""),
    ("PING \t ", commands.Ping(), "white space is no argument"),
    ("HELP", commands.Help(), ""),
    ("HELP commands", commands.Help("commands"), ""),
    ("QUIT", commands.Quit(), ""),
]

BOUNDS = "policy_reject(LIMIT out of minimum/maximum bounds)"
QUERY_USAGE = f"invalid_format({COMMANDS['QUERY'].usage})"

REFUSED = [
    ("QUERY", QUERY_USAGE, "nothing"),
    ("QUERY c", QUERY_USAGE, "a name is missing"),
    ("QUERY c b", QUERY_USAGE, "the text is missing"),
    ("QUERY c b x LIMIT(0) junk", QUERY_USAGE, "format comes first"),
    ('QUERY c b "x" LIMIT(0) junk', "invalid_meta_key(junk[])", "then META"),
    ('QUERY c b "x" LIMIT(0)', BOUNDS, "then bounds"),
    ('QUERY c b "x" LIMIT(51)', BOUNDS, "above the maximum"),
    ('EXPLAIN c b "x" LIMIT(51)', BOUNDS, "the maximum of QUERY"),
    ('EXPLAIN c b "x" OFFSET(1)', "invalid_meta_key(OFFSET[1])", "not a key of EXPLAIN"),
    ("EXPLAIN c b", f"invalid_format({COMMANDS['EXPLAIN'].usage})", "the text is missing"),
    ('QUERY c b "x" SCORES(2)', "invalid_meta_value(SCORES[2])", "neither yes nor no"),
    ('QUERY c b "x" TOTAL(2)', "invalid_meta_value(TOTAL[2])", "neither yes nor no"),
    ('QUERY c b "x" VECTOR(/w==)', "invalid_meta_value(VECTOR[/w==])", "a byte is one number, not eight"),
    (
        'PUSH c b o "x" TAGS(東京\u3000都)',
        "invalid_meta_value(TAGS[東京\u3000都])",
        "a tag that needs quotes",
    ),
    ('PUSH c b o "x" VECTOR(é:/w==)', "invalid_meta_value(VECTOR[é:/w==])", "the name of a column is ASCII"),
    ('PUSH c b o "x" VECTOR(a:/w==,a:/w==)', "invalid_meta_value(VECTOR[a:/w==,a:/w==])", "the same column twice"),
    ('PUSH c b o "x" VECTOR(/w=)', "invalid_meta_value(VECTOR[/w=])", "no base 64"),
    ('QUERY c b "x" MEANING(-1)', "invalid_meta_value(MEANING[-1])", "below 0"),
    ('QUERY c b "x" MEANING(.)', "invalid_meta_value(MEANING[.])", "no number"),
    ('QUERY c b "x" DEPTH(1001)', "invalid_meta_value(DEPTH[1001])", "the maximum"),
    ('EXPLAIN c b "x" TOTAL(1)', "invalid_meta_key(TOTAL[1])", "not a key of EXPLAIN"),
    ('SUGGEST c b "x" SCORES(1)', "invalid_meta_key(SCORES[1])", "not a key of SUGGEST"),
    ('SUGGEST c b "x" LIMIT(8)', BOUNDS, "its own maximum"),
    ("LIST c b LIMIT(501)", BOUNDS, "its own maximum"),
    ("LIST c b AFTER()", "invalid_meta_value(AFTER[])", "no word"),
    ("OBJECTS c b LIMIT(501)", BOUNDS, "the limits of LIST"),
    ("OBJECTS c b OFFSET(5)", "invalid_meta_key(OFFSET[5])", "no place is counted"),
    ("OBJECTS c b POSITION(x)", "invalid_meta_value(POSITION[x])", "no number"),
    ("BUCKETS", "invalid_format(BUCKETS <collection> [LIMIT(<count>)]? [AFTER(<bucket>)]?)", "of which collection"),
    ('QUERY c b ""', QUERY_USAGE, "no text"),
    ('QUERY c b "" AFTER(SORTED)', QUERY_USAGE, "no order"),
    ('QUERY c b "" AFTER("a SORT(b)")', QUERY_USAGE, "an order in quotes"),
    ('QUERY c b "" LIMIT(1)SORT(newest)', QUERY_USAGE, "glued"),
    ('QUERY c b "" SORT', QUERY_USAGE, "no value"),
    ('QUERY c b "" SORT(newest', "invalid_meta_key(?[SORT(newest])", "no end"),
    ('SUGGEST c b "" SORT(newest)', f"invalid_format({COMMANDS['SUGGEST'].usage})", "an option of other commands"),
    ("EXISTS c b", "invalid_format(EXISTS <collection> <bucket> <object>)", "which object"),
    ("EXISTS c b o p", "invalid_format(EXISTS <collection> <bucket> <object>)", "one object"),
    ('SUGGEST c b "x" LANG(eng)', "invalid_meta_key(LANG[eng])", "not a key of SUGGEST"),
    ('UPSERT c b o "x" MORE(3)', "invalid_meta_value(MORE[3])", "0 to 2"),
    ('PUSH c b o "x" LIMIT(1)', "invalid_meta_key(LIMIT[1])", "not a key of PUSH"),
    ('POP c b o "x" LANG(eng)', 'invalid_format(POP <collection> <bucket> <object> "<text>")', "POP takes no META"),
    (
        'QUERY c b "x" FILTER("price < x")',
        "at letter 9 of the filter is 'x', compared with 'price'; allowed is a whole number",
        "a filter that cannot be read",
    ),
    (
        'FACETS c b "x" OF(size)',
        "of is 'size'; allowed are beginnings of tags with a star, such as size:*, color:*",
        "no star",
    ),
    ("TAG c b o TAGS(AND)", "invalid_meta_value(TAGS[AND])", "a word of filters"),
    ("TAG c b o TAGS(a,)", "invalid_meta_value(TAGS[a,])", "a comma too many"),
    ("TAG c b o TAGS(a b)", "invalid_meta_value(TAGS[a b])", "a blank"),
    ('TAG c b o TAGS("a"b)', 'invalid_meta_value(TAGS["a"b])', "glued"),
    ('TAG c b o TAGS("")', 'invalid_meta_value(TAGS[""])', "empty"),
    ("TAG c b o TAGS(a)SET(b=1)", "invalid_meta_value(TAGS[a)SET(b=1])", "glued"),
    ("TAG c b o SET(price=1.5)", "invalid_meta_value(SET[price=1.5])", "no whole number"),
    ("TAG c b o SET(1x=1)", "invalid_meta_value(SET[1x=1])", "no name"),
    ("TAG c b o SET(a=1,a=2)", "invalid_meta_value(SET[a=1,a=2])", "twice"),
    ("TAG c b o SET(a=9223372036854775808)", "invalid_meta_value(SET[a=9223372036854775808])", "too large"),
    ("TAG c b o SET(p=91/0)", "invalid_meta_value(SET[p=91/0])", "no latitude"),
    ("TAG c b o LIMIT(1)", "invalid_meta_key(LIMIT[1])", "not a key of TAG"),
    ("COUNT", "invalid_format(COUNT <collection> [<bucket> [<object>]?]?)", "too few"),
    ("COUNT a b c d", "invalid_format(COUNT <collection> [<bucket> [<object>]?]?)", "too many"),
    ("COUNTC a b", "invalid_format(COUNTC <collection>)", "too many"),
    (f"SYNONYMS c LIST {'9' * 5_000}", f"invalid_format({SYNONYMS})", "no position has as many digits"),
    ("FLUSHO a b", "invalid_format(FLUSHO <collection> <bucket> <object>)", "too few"),
    ("TRIGGER flush", "not_found", "no such action"),
    ("TRIGGER flush x y z", "not_found", "whatever follows"),
    ("TRIGGER consolidate x", "invalid_format(TRIGGER consolidate)", "takes nothing"),
    ("TRIGGER BACKUP", "invalid_format(TRIGGER backup <path>)", "takes one word"),
    ("TRIGGER restore a b c d", "invalid_format(TRIGGER restore <path>)", "only one"),
    ("INFO x", "invalid_format(INFO)", ""),
    ("STATS c b o", "invalid_format(STATS [<collection> [<bucket>]?]?)", "objects have none"),
    ("VERIFY x", "invalid_format(VERIFY)", ""),
    ("PING x", "invalid_format(PING)", ""),
    ("QUIT x", "invalid_format(QUIT)", ""),
    ("HELP a b", "invalid_format(HELP [<manual>]?)", ""),
]


@pytest.mark.parametrize(("line", "expected", "why"), READ, ids=[line for line, _, _ in READ])
def test_read(line: str, expected: tuple[object, ...], why: str) -> None:
    got = read(line)
    assert (type(got), got) == (type(expected), expected), why


@pytest.mark.parametrize(("line", "expected", "why"), REFUSED, ids=[line for line, _, _ in REFUSED])
def test_refused(line: str, expected: str, why: str) -> None:
    with pytest.raises(CommandError) as caught:
        read(line)
    assert str(caught.value) == expected, why


def test_every_command_has_a_read_line() -> None:
    assert {line.split()[0] for line, _, _ in READ} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_usage_shows_what_the_row_takes(name: str) -> None:
    row = COMMANDS[name]
    assert row.usage.split()[0] == name
    assert row.has_text == ('"<' in row.usage)
    assert all(
        f"[{option.usage}]?" in row.usage for option in row.options.values() if row.is_ours or not option.is_ours
    )


def test_rows_take_the_options_of_the_table() -> None:
    assert {name: tuple(row.options.values()) for name, row in COMMANDS.items() if row.options} == OPTIONS


USAGES = {
    "QUERY": 'QUERY <collection> <bucket> "<terms>" [LIMIT(<count>)]? [OFFSET(<count>)]? [LANG(<locale>)]?',
    "SUGGEST": 'SUGGEST <collection> <bucket> "<word>" [LIMIT(<count>)]?',
    "LIST": "LIST <collection> <bucket> [LIMIT(<count>)]? [OFFSET(<count>)]?",
    "PUSH": 'PUSH <collection> <bucket> <object> "<text>" [LANG(<locale>)]?',
    "UPSERT": 'UPSERT <collection> <bucket> <object> "<text>" [LANG(<locale>)]? [MORE(1)]? '
    "[VECTOR(<column>:<base64>)]? [TAGS(<tag>,...)]? [SET(<name>=<value>,...)]? [FIELD(<name>)]?",
    "POP": 'POP <collection> <bucket> <object> "<text>"',
    "COUNT": "COUNT <collection> [<bucket> [<object>]?]?",
    "FLUSHO": "FLUSHO <collection> <bucket> <object>",
    "HELP": "HELP [<manual>]?",
    "EXPLAIN": 'EXPLAIN <collection> <bucket> "<terms>" [LIMIT(<count>)]? [LANG(<locale>)]? [STEM(0)]?',
    "OBJECTS": "OBJECTS <collection> <bucket> [LIMIT(<count>)]? [PREFIX(<letters>)]? [AFTER(<object>)]?"
    " [POSITION(<number>)]?",
}
"""The usage texts of commands, which clients show to people: they never change, but those of commands that Sonic
lacks get further options at the end.
"""


@pytest.mark.parametrize("name", USAGES)
def test_usage_texts_stay(name: str) -> None:
    row = COMMANDS[name]
    assert row.usage.startswith(USAGES[name]) if row.is_ours else row.usage == USAGES[name]


def test_commands_of_each_mode_in_the_order_of_help() -> None:
    assert list(COMMANDS_OF_MODE[Mode.SEARCH]) == [
        "QUERY", "EXPLAIN", "FACETS", "SUGGEST", "LIST", "COLLECTIONS", "BUCKETS", "OBJECTS", "EXISTS", "SIMILAR",
        "PING",
        "HELP", "QUIT",
    ]  # fmt: skip
    assert list(COMMANDS_OF_MODE[Mode.CONTROL]) == ["TRIGGER", "INFO", "STATS", "VERIFY", "PING", "HELP", "QUIT"]
    assert list(SONIC_COMMANDS_OF_MODE[Mode.CONTROL]) == ["TRIGGER", "INFO", "PING", "HELP", "QUIT"]
    assert {name for mode in Mode for name in COMMANDS_OF_MODE[mode]} == set(COMMANDS)


def test_sonic_knows_neither_our_commands_nor_our_keys() -> None:
    rows = SONIC_COMMANDS_OF_MODE[Mode.SEARCH]
    assert list(rows) == ["QUERY", "SUGGEST", "LIST", "PING", "HELP", "QUIT"]
    assert rows["QUERY"].options.keys() == {"LIMIT", "OFFSET", "LANG"}
    assert rows["QUERY"].usage == COMMANDS["QUERY"].usage
