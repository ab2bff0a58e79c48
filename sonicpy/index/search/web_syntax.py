"""The syntax of search boxes: a text is read as items with signs. Every text is valid.

"a phrase"   all of these words               -word   objects with it are refused
word*        words that begin with it         +word   an object has to hold it
*part*       words with these letters         a OR b  one of both is enough
title:word   in this field                    title:"a phrase"  all of these words in this field
a AND b      as +a +b                         NOT word     as -word

A sign counts only behind a blank or at the start, and before a letter, a quote or `*`: `C++`, `-5` and `e-mail` are
words. OR, AND and NOT count only in capitals: OR and AND between two items, NOT before one without a sign. OR beside a
refused item is left out.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

WORDS, PHRASE, BEGUN, PART = "words", "phrase", "begun", "part"
"""The kinds of items."""
MANY = (BEGUN, PART)
"""The kinds of items that represent many words."""
REQUIRED, REFUSED = "+", "-"
"""The signs of items."""

ITEMS_MAX, MANY_MAX = 64, 4
"""A text with more than ITEMS_MAX items that are not plain words, or with more than MANY_MAX items that represent many
words, has no syntax: all of it is words.
"""

PHRASE_IS_WORDS = (
    "quotes mean all of these words, in any order, where the bucket does not keep the order of words (store.order)"
)
PHRASE_BESIDE_OR = "quotes beside OR mean all of these words, in any order"
MANY_ITEMS = f"more than {ITEMS_MAX} signs, or {MANY_MAX} with *: all of the text counts as words"

_QUOTES = str.maketrans("\u201c\u201d\u201e\u00ab\u00bb\uff02", '""""""')
_ITEM = re.compile(
    r"""
    (?P<sign>[+-](?=["*]?[^\W\d_]))?       # a sign, before a letter
    (?:
        (?:(?P<field>[^\W\d_]\w*):)?"(?P<phrase>[^"]*)"  # a phrase, perhaps in a field
      | \*(?P<part>[^\s*"]+)\*(?!\S)       # letters inside of words
      | (?P<begun>[^\s*"]+)\*(?!\S)        # the beginning of words
      | (?P<words>\S+)                     # anything else
    )
    """,
    re.VERBOSE,
)
_FIELD = re.compile(r"([^\W\d_]\w*):(?=[^\W_]|\")")
_RUN = re.compile(r"\S+")
_OR, _AND, _NOT = "OR", "AND", "NOT"


class WebItem(NamedTuple):
    """A part of a text.

    Attributes:
        kind: WORDS, PHRASE, BEGUN or PART.
        text: its words, without signs.
        sign: REQUIRED, REFUSED, or empty.
        start, end: its place in the text.
        field: the name of the text in which it is searched; "": the whole object.
        is_option: whether it is the value of the option PHRASE, not a part of the text.
    """

    kind: str
    text: str
    sign: str
    start: int
    end: int
    field: str = ""
    is_option: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the item is words and nothing else."""
        return self.kind == WORDS and not self.sign and not self.field


class WebQuery(NamedTuple):
    """A text as items.

    Attributes:
        items: lists of alternative items, in the order of the text; most lists have one item.
        text: the text that the items came from.
        notes: sentences about signs whose meaning here differs from that elsewhere, or none.
    """

    items: list[list[WebItem]]
    text: str
    notes: tuple[str, ...]

    @property
    def is_plain(self) -> bool:
        """Whether all items are plain words."""
        return all(len(either) == 1 and either[0].is_plain for either in self.items)

    def wanted(self) -> str:
        """Return the text without signs, refused items, and items that represent many words; it ends in a blank unless
        its last word may be unfinished.
        """
        kept = [item for either in self.items for item in either if item.sign != REFUSED and item.kind not in MANY]
        last = max((item.end for either in self.items for item in either), default=0)
        is_open = bool(kept) and kept[-1].end == len(self.text) == last and kept[-1].kind == WORDS
        return " ".join([*(item.text for item in kept), *([] if is_open else [""])])


def read_web(text: str, fields: Container[str] = ()) -> WebQuery:
    """Return the items of a text.

    Args:
        fields: the names of texts that the bucket has.
    """
    items = [_in_field(item, fields) for item in _items(text.translate(_QUOTES), fields)]
    eithers = _eithers(items)
    signed = sum(len(either) for either in eithers if len(either) > 1 or not either[0].is_plain)
    if signed > ITEMS_MAX or sum(item.kind in MANY for item in items) > MANY_MAX:
        return WebQuery([[WebItem(WORDS, text, "", 0, len(text))]], text, (MANY_ITEMS,))
    return WebQuery(eithers, text, tuple(dict.fromkeys(_notes(eithers))))


def with_phrase(web: WebQuery, phrase: str) -> WebQuery:
    """Return a text with the phrase of the option PHRASE behind it."""
    start = len(web.text) + 1
    item = WebItem(PHRASE, phrase, REQUIRED, start, start + len(phrase), is_option=True)
    return WebQuery([*web.items, [item]], web.text, web.notes)


def plain_web(text: str) -> WebQuery:
    """Return a text that is read without syntax as items: all of it is words."""
    return WebQuery([[WebItem(WORDS, text, "", 0, len(text))]] if text else [], text, ())


def wanted_text(text: str, syntax: str, fields: Container[str] = ()) -> str:
    """Return the text of a query without refused items and without signs, by a value of the option SYNTAX; `fields` as
    in `read_web`."""
    if syntax != "web" or (web := read_web(text, fields)).is_plain:
        return text
    return web.wanted()


def notes_of(
    text: str, syntax: str, fields: Container[str] = (), unordered: int | None = None, phrase: str | None = None
) -> tuple[str, ...]:
    """Return the notes on a text that is read by a value of the option SYNTAX, and on the phrase of the option PHRASE.

    Args:
        unordered: how many objects have no order of words; None: the order is not kept, or this is not known.
        phrase: the value of the option PHRASE.
        fields: as in `read_web`.
    """
    notes = read_web(text, fields).notes if syntax == "web" else ()
    if unordered is None:
        return notes
    late = f"{unordered} objects have no order of words: no phrase finds them"
    if phrase is not None and unordered and PHRASE_IS_WORDS not in notes:
        notes = (*notes, late)
    changed = (late if note == PHRASE_IS_WORDS else note for note in notes)
    return tuple(note for note in changed if unordered or note != late)


def _items(text: str, fields: Container[str]) -> Iterator[WebItem]:
    """Yield the items of a text."""
    at = 0
    while (run := _RUN.search(text, at)) is not None:
        start, at = run.span()
        found = _ITEM.match(text, start)
        is_glued = start > 0 and not text[start - 1].isspace()  # to a quote that ends a phrase
        if found is None or is_glued or not _is_meant(found, fields):
            yield WebItem(WORDS, run[0], "", start, at)
        else:
            kind, at = found.lastgroup or WORDS, found.end()
            yield WebItem(kind, found[kind], found["sign"] or "", start, at, found["field"] or "")


def _in_field(item: WebItem, fields: Container[str]) -> WebItem:
    """Return an item with the name of its field cut off its words, if it begins with one."""
    found = _FIELD.match(item.text) if item.kind in (WORDS, BEGUN) else None
    if found is None or found[1] not in fields:
        return item
    return item._replace(text=item.text[found.end() :], field=found[1])


def _is_meant(found: re.Match[str], fields: Container[str]) -> bool:
    """Return whether an item with * is meant as one, a beginning ends in a letter or digit, a part has one; and whether
    the field of a phrase exists."""
    if found["field"] is not None:
        return found["field"] in fields
    begun, part = found["begun"], found["part"]
    return (begun is None or _ends_in_letter(begun)) and (part is None or any(map(str.isalnum, part)))


def _ends_in_letter(begun: str) -> bool:
    """Return whether the last character that is no mark is a letter or digit: vowel signs and accents may follow it."""
    return next((char.isalnum() for char in reversed(begun) if unicodedata.category(char)[0] != "M"), False)


class _Term(NamedTuple):
    """An item that is no operator.

    Attributes:
        item: the item, with its sign.
        join: the operator between the item before and this one: OR, AND, or empty.
    """

    item: WebItem
    join: str


def _eithers(items: list[WebItem]) -> list[list[WebItem]]:
    """Return items as lists of alternatives, which OR joins; AND and NOT become signs of the items beside them."""
    terms = list(_terms(items))
    found: list[list[WebItem]] = []
    for place, (item, join) in enumerate(terms):
        behind = terms[place + 1].join if place + 1 < len(terms) else ""
        if _AND in (join, behind) and _OR not in (join, behind) and not item.sign:
            item = item._replace(sign=REQUIRED)
        if join == _OR:
            found[-1].append(item)
        else:
            found.append([item])
    return found


def _terms(items: list[WebItem]) -> Iterator[_Term]:
    """Yield the items that are no operators, with the operators before them.

    Of several operators between two items the last counts, and AND before NOT.
    """
    run: list[WebItem] = []
    before: WebItem | None = None
    for item in items:
        if _is_operator(item):
            run.append(item)
            continue
        last = run[-1].text if run else ""
        is_refused = last == _NOT and not item.sign and item.text[:1].isalpha()
        if run and not is_refused and (last == _NOT or before is None):
            yield from (_Term(word, "") for word in run)
            run = []
        if is_refused:
            item = item._replace(sign=REFUSED)
        join = ""
        if run and before is not None:
            join = last if last != _NOT else _AND if any(one.text == _AND for one in run) else ""
            if join == _OR and REFUSED in (before.sign, item.sign):
                join = ""
        yield _Term(item, join)
        run, before = [], item
    yield from (_Term(word, "") for word in run)


def _is_operator(item: WebItem) -> bool:
    return item.is_plain and item.text in (_OR, _AND, _NOT)


def _notes(eithers: Iterable[list[WebItem]]) -> Iterator[str]:
    for item, is_beside_or in ((item, len(either) > 1) for either in eithers for item in either):
        if item.kind == PHRASE and len(item.text.split()) > 1:
            is_refused = item.sign == REFUSED
            yield only_one_word(item) if is_refused else PHRASE_BESIDE_OR if is_beside_or else PHRASE_IS_WORDS
        elif item.kind == WORDS and not item.field and (field := _FIELD.match(item.text)) is not None:
            yield f"{field[1]}: is no field of the bucket: the words count as typed"


def only_one_word(item: WebItem) -> str:
    """Return the note on a refused item of several words."""
    return f"-{item.text} is left out: only a single word can be refused"
