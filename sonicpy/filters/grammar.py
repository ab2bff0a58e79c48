"""The grammar of FILTER, read by recursive descent.

    filter     = either { "OR" either }
    either     = one { "AND" one }
    one        = "NOT" one | "(" filter ")" | condition
    condition  = tag | "HAS" name | name ( "<" | "<=" | "=" | "!=" | ">=" | ">" ) number
               | name "IN" "(" number { "," number } ")" | "tag" "IN" "(" tag { "," tag } ")"
               | name "WITHIN" number ( "m" | "km" ) "OF" latitude "," longitude

A tag or a name is a word of letters, digits and `_ - . : /`, or any text in quotes. Keywords are words in capitals.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any as AnyValue
from typing import NamedTuple, NoReturn
from unicodedata import normalize

from sonicpy._native.brief_filter import BriefFilters
from sonicpy.filters.conditions import (
    INT_MAX,
    INT_MIN,
    TAG_NAME,
    All,
    Among,
    Any,
    Condition,
    HasTag,
    Not,
    Range,
    Within,
    literals,
)
from sonicpy.filters.refusal import refused
from sonicpy.ids import plain_str, shown, shown_part
from sonicpy.tags import GRAMMAR_WORDS, TAG, TAG_BYTES_MAX, TAG_LETTERS_MAX, shown_tag, tag_in
from sonicpy.values import NAME_RULE, is_name, number_in_value

LITERALS_MAX = 64
MEMBERS_MAX = 1_000
DEPTH_MAX = 32
LENGTH_MAX = 256 * 1024
SPHERE_MAX = 20_037_509
"""Half of the way round the earth in metres: every point is within this distance."""

TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<sign><=|>=|!=|[<>=(),])|(?P<word>[\w.:/-]+))""", re.DOTALL
)
LONG = re.compile(rf"[^\x00-\x7f\s]{{{TAG_LETTERS_MAX + 1},}}")
"""Matches more characters without a blank than a tag, or anything else in a filter, may have."""
NUMBER = re.compile(r"-?\d{1,99}")
DISTANCE = re.compile(r"(?=\.?\d)(\d{0,8})(?:\.(\d{1,3}))?(m|km)?")
ANGLE = re.compile(r"(-?)(?=\.?\d)(\d{0,3})(?:\.(\d{1,15}))?")
UNITS = {"m": 1, "km": 1_000}


class Token(NamedTuple):
    """A token of a filter.

    Attributes:
        kind: "word", "quoted", "sign" or "end".
        text: the text of the token, without quotes.
        at: the index of its first character in the filter, from 0.
    """

    kind: str
    text: str
    at: int

    @property
    def is_name(self) -> bool:
        """Whether the token is a tag or a name of values."""
        return self.kind == "quoted" or (self.kind == "word" and self.text not in GRAMMAR_WORDS)

    def is_word(self, keyword: str) -> bool:
        """Return whether the token is this keyword."""
        return self.kind == "word" and self.text == keyword

    def is_sign(self, sign: str) -> bool:
        """Return whether the token is this sign."""
        return self.kind == "sign" and self.text == sign


@lru_cache(maxsize=1024)
def _parse_whole(text: str) -> Condition:
    """Return the condition of a filter, read by the whole grammar. Raises as `parse`."""
    if len(text) > LENGTH_MAX:
        raise refused(f"filter has {len(text):,} letters; allowed are {LENGTH_MAX:,}")
    long = LONG.search(text)
    if long is not None:  # before the text is normalized: sorting n marks takes n * n steps
        raise refused(f"filter has {shown_part(long[0])} as a tag; allowed are {TAG}")
    return _Parser(_tokens(normalize("NFC", text))).whole()


brief_filters = BriefFilters(
    HasTag, Range, Not, All, GRAMMAR_WORDS | {TAG_NAME}, is_name, TAG_BYTES_MAX, LENGTH_MAX, _parse_whole
)
parse: Callable[[str], Condition] = brief_filters.parse
"""Return the condition of a filter. Raises InvalidArgument: the text is not a filter, or is too long, too deep, or of
too many conditions. A filter that joins a few tags and comparisons by AND is read in less time."""


def filter_text(value: AnyValue) -> str:
    """Return the text of a filter that a program gave: a str, or a dict of conditions by name.

    In a dict, the key `tag` has a tag, or a list of tags of which one is enough. Any other key is the name of values,
    with a number, a list of numbers, or (low, high), both included, of which either may be None.

    Raises:
        InvalidArgument: the value has another type, or is not a filter.
    """
    if type(value) is str:  # first: each query with a filter comes here
        parse(value)
        return value
    if isinstance(value, Mapping):
        if not value:
            raise refused("filter is an empty dict; allowed are None for no filter, and a dict with a condition")
        value = " AND ".join(_clause(name, wanted) for name, wanted in value.items())
    if not isinstance(value, str):
        raise refused(f"filter is {shown(value)}; allowed are a str and a dict")
    text = plain_str(value)
    parse(text)
    return text


def condition_of(value: AnyValue) -> Condition:
    """Return the condition of a filter that a program gave. Raises the errors of `filter_text`."""
    return parse(filter_text(value))


# -- text --------------------------------------------------------------------------------------------------------------


def _tokens(text: str) -> list[Token]:
    tokens = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = TOKEN.match(text, at)
        if found is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            why = "a quote without an end" if text[start] == '"' else shown(text[start])
            raise refused(
                f"at letter {start + 1} of the filter is {why}; allowed are words, quoted tags and conditions"
            )
        kind = found.lastgroup or ""
        tokens.append(Token(kind, _unquoted(found) if kind == "quoted" else found[kind], found.start(kind)))
        at = found.end()
    return [*tokens, Token("end", "", len(text))]


def _unquoted(found: re.Match[str]) -> str:
    try:
        return str(json.loads(found["quoted"], strict=False))
    except ValueError:
        reason = f"at letter {found.start('quoted') + 1} of the filter is a quoted tag with an escape that JSON lacks"
        raise refused(f"{reason}; allowed are the escapes of JSON") from None


class _Parser:
    """Reads the tokens of a filter by recursive descent."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    def whole(self) -> Condition:
        condition = self._filter()
        if self._next.kind != "end":
            self._fail("AND, OR or the end")
        count = sum(1 for _ in literals(condition))
        if count > LITERALS_MAX:
            raise refused(f"filter has {count:,} conditions; allowed are {LITERALS_MAX}: `tag IN (...)` is one")
        return condition

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._next
        self._place += 1
        return token

    def _takes_word(self, keyword: str) -> bool:
        is_there = self._next.is_word(keyword)
        self._place += is_there
        return is_there

    def _takes_sign(self, sign: str) -> bool:
        is_there = self._next.is_sign(sign)
        self._place += is_there
        return is_there

    def _fail(self, allowed: str, subject: str = "") -> NoReturn:
        token = self._next
        if token.kind == "end":
            raise refused(f"the filter ends too early; allowed at letter {token.at + 1} is {allowed}{subject}")
        raise refused(f"at letter {token.at + 1} of the filter is {shown(token.text)}{subject}; allowed is {allowed}")

    def _filter(self) -> Condition:
        conditions = [self._either()]
        while self._takes_word("OR"):
            conditions.append(self._either())
        return conditions[0] if len(conditions) == 1 else Any(_flat(conditions, Any))

    def _either(self) -> Condition:
        conditions = [self._one()]
        while self._takes_word("AND"):
            conditions.append(self._one())
        return conditions[0] if len(conditions) == 1 else All(_flat(conditions, All))

    def _one(self) -> Condition:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise refused(f"filter is nested more than {DEPTH_MAX} times; allowed are {DEPTH_MAX}")
        if self._takes_word("NOT"):
            inner = self._one()
            condition: Condition = inner.condition if isinstance(inner, Not) else Not(inner)
        elif self._takes_sign("("):
            condition = self._filter()
            if not self._takes_sign(")"):
                self._fail("AND, OR or a closing bracket")
        else:
            condition = self._condition()
        self._depth -= 1
        return condition

    def _condition(self) -> Condition:
        if self._takes_word("HAS"):
            start = self._next
            return Range(self._of_values(start, self._name("a name of values after HAS")))
        start = self._next
        name = self._name("a tag, a name of values, NOT or an opening bracket")
        if self._next.kind == "sign" and self._next.text in _COMPARISONS:
            sign = self._take().text
            if name == TAG_NAME and sign in ("=", "!="):
                tagged = HasTag((tag_in("filter", self._name("a tag")),))
                return tagged if sign == "=" else Not(tagged)
            return _COMPARISONS[sign](self._of_values(start, name), self._number(name))
        if self._takes_word("IN"):
            return self._members(name if name == TAG_NAME else self._of_values(start, name))
        if self._takes_word("WITHIN"):
            return self._within(self._of_values(start, name))
        return HasTag((tag_in("filter", name),))

    def _name(self, allowed: str) -> str:
        if not self._next.is_name:
            self._fail(allowed)
        return self._take().text

    def _of_values(self, token: Token, name: str) -> str:
        """Return a name of values. Raises InvalidArgument if no values can have that name."""
        if is_name(name):
            return name
        raise refused(
            f"at letter {token.at + 1} of the filter is {shown(name)} as a name of values; allowed are {NAME_RULE}"
        )

    def _number(self, name: str) -> int:
        if self._next.kind != "word" or not NUMBER.fullmatch(self._next.text):
            self._fail("a whole number", f", compared with {shown(name)}")
        value = int(self._next.text)
        if not INT_MIN <= value <= INT_MAX:
            self._fail("a number of 64 bits", f", compared with {shown(name)}")
        self._place += 1
        return value

    def _members(self, name: str) -> Condition:
        if not self._takes_sign("("):
            self._fail(f"an opening bracket after {name} IN")
        found: list[str] | list[int]
        if name == TAG_NAME:
            found = self._listed(lambda: tag_in("filter", self._name("a tag")))
        else:
            found = self._listed(lambda: self._number(name))
        if len(found) > MEMBERS_MAX:
            raise refused(f"{shown(name)} IN lists {len(found):,} members; allowed are {MEMBERS_MAX:,}")
        return _membership(name, found)

    def _listed(self, member: AnyValue) -> list[AnyValue]:
        found = [member()]
        while self._takes_sign(","):
            found.append(member())
        if not self._takes_sign(")"):
            self._fail("a comma or a closing bracket")
        return found

    def _within(self, name: str) -> Condition:
        found = DISTANCE.fullmatch(self._next.text) if self._next.kind == "word" else None
        if found is None:
            self._fail("a distance such as 500m or 2.5km", f", after {shown(name)} WITHIN")
        self._place += 1
        unit = found[3]
        if unit is None:
            unit = (
                self._take().text if self._next.kind == "word" and self._next.text in UNITS else self._fail("m or km")
            )
        meters = (int(found[1] or 0) * 1_000 + int((found[2] or "").ljust(3, "0"))) * UNITS[unit] // 1_000
        if not self._takes_word("OF"):
            self._fail("OF")
        latitude, longitude = self._point(name)
        return Within(name, min(meters, SPHERE_MAX), latitude, longitude)

    def _point(self, name: str) -> tuple[int, int]:
        latitude = self._angle(name, 90)
        if not self._takes_sign(","):
            self._fail("a comma between latitude and longitude")
        return latitude, self._angle(name, 180)

    def _angle(self, name: str, most: int) -> int:
        found = ANGLE.fullmatch(self._next.text) if self._next.kind == "word" else None
        units = None if found is None else _units(*found.groups(default=""))
        if units is None or abs(units) > most * 10**7:
            self._fail(f"a number of degrees from -{most} to {most}", f", as a place of {shown(name)}")
        self._place += 1
        return units


def _units(sign: str, whole: str, part: str) -> int:
    units = int(whole or 0) * 10**7 + int(part[:7].ljust(7, "0"))
    return -units if sign else units


def _flat(conditions: list[Condition], kind: type[All] | type[Any]) -> tuple[Condition, ...]:
    found: list[Condition] = []
    for condition in conditions:
        found.extend(condition.conditions if isinstance(condition, kind) else [condition])
    return tuple(found)


def _membership(name: str, members: Iterable[AnyValue]) -> Condition:
    if name == TAG_NAME:
        return HasTag(tuple(dict.fromkeys(members)))
    return Among(name, tuple(sorted(set(members))))


def _below(name: str, number: int) -> Condition:
    return Range(name, INT_MAX, INT_MIN) if number == INT_MIN else Range(name, high=number - 1)


def _above(name: str, number: int) -> Condition:
    return Range(name, INT_MAX, INT_MIN) if number == INT_MAX else Range(name, low=number + 1)


def _other(name: str, number: int) -> All:
    return All((Range(name), Not(Range(name, number, number))))


_COMPARISONS = {
    "<": _below,
    "<=": lambda name, number: Range(name, high=number),
    "=": lambda name, number: Range(name, number, number),
    "!=": _other,
    ">=": lambda name, number: Range(name, low=number),
    ">": _above,
}


# -- dicts -------------------------------------------------------------------------------------------------------------


def _clause(name: AnyValue, wanted: AnyValue) -> str:
    """Return the text of one condition of a dict, given its key and its value. Raises InvalidArgument if the key or the
    value is not allowed.
    """
    if not is_name(name):
        raise refused(f"filter has {shown_part(name)} as a key; allowed are `tag` and names of values")
    if name == TAG_NAME:
        return _dict_tags(wanted)
    shown_name = shown_tag(plain_str(name))
    if isinstance(wanted, tuple):
        return _dict_range(name, shown_name, wanted)
    members = list(wanted) if isinstance(wanted, set | frozenset) else wanted
    if not isinstance(members, list):
        return f"{shown_name} = {_dict_number(name, members)}"
    return f"{shown_name} IN ({', '.join(str(_dict_number(name, each)) for each in _counted(name, members))})"


def _dict_tags(wanted: AnyValue) -> str:
    members = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(members, list | tuple | set | frozenset) or not all(isinstance(each, str) for each in members):
        raise refused(f"filter has {shown_part(wanted)} for 'tag'; allowed are a tag and a list of tags")
    ordered = sorted(members) if isinstance(members, set | frozenset) else list(members)
    tags = [shown_tag(tag_in("filter", each)) for each in _counted(TAG_NAME, ordered)]
    return f"{TAG_NAME} IN ({', '.join(tags)})"


def _counted(name: str, members: list[AnyValue]) -> list[AnyValue]:
    if not 1 <= len(members) <= MEMBERS_MAX:
        raise refused(f"filter lists {len(members):,} members for {shown(name)}; allowed are 1 to {MEMBERS_MAX:,}")
    return members


def _dict_range(name: str, shown_name: str, wanted: tuple[AnyValue, ...]) -> str:
    if len(wanted) != 2:
        raise refused(f"filter has {len(wanted)} bounds for {shown(name)}; allowed is (low, high), either may be None")
    bounds = [
        f"{shown_name} {sign} {_dict_number(name, bound)}"
        for sign, bound in zip((">=", "<="), wanted, strict=True)
        if bound is not None
    ]
    return " AND ".join(bounds) or f"HAS {shown_name}"


def _dict_number(name: str, value: AnyValue) -> int:
    found = number_in_value(value)
    if found is None:
        raise refused(
            f"filter has {shown_part(value)} for {shown(name)}; allowed are whole numbers of 64 bits (floats only "
            "below 2**53), dates and times, a list of them, and (low, high)"
        )
    return found
