"""The options of commands: each one is declared here, and nowhere else.

An option has one name: it is a parameter of the library, of the clients and of HTTP, a field of the command, and a flag
of the command line; in capital letters it is the key of a META argument on the wire. OPTIONS lists the options of each
command. The parser of the channel, the lines of the clients, the HTTP models, the flags and the tables of the
documentation are made from it; `tests/test_options.py` compares the rest with it.
"""

from collections.abc import Callable, Container, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sonicpy.arguments import not_unicode, text_of
from sonicpy.errors import InvalidArgument
from sonicpy.ids import object_name
from sonicpy.late import late
from sonicpy.option_kinds import (
    BucketNames,
    Choice,
    Decimals,
    Kind,
    LanguageCode,
    Name,
    Number,
    Spec,
    Switch,
    VectorBits,
    VectorNumbers,
)
from sonicpy.tags import TagList
from sonicpy.text_names import name_of_text, weights_text
from sonicpy.values import ValueList

if TYPE_CHECKING:
    from sonicpy.filters.grammar import filter_text
    from sonicpy.filters.grouping import group_text
    from sonicpy.filters.sorting import boost_text, of_text, ranges_text, sort_text
else:
    filter_text = late("sonicpy.filters.grammar", "filter_text", __name__)
    group_text = late("sonicpy.filters.grouping", "group_text")
    boost_text = late("sonicpy.filters.sorting", "boost_text")
    of_text = late("sonicpy.filters.sorting", "of_text")
    ranges_text = late("sonicpy.filters.sorting", "ranges_text")
    sort_text = late("sonicpy.filters.sorting", "sort_text", __name__)

LIMIT_CEILING = 2**16 - 1
OFFSET_CEILING = 2**32 - 1
DEPTH_CEILING = 1_000
MEANING_CEILING = 100.0
POSITION_CEILING = 2**53 - 1
"""The largest position: JSON contains positions, and every reader of JSON takes whole numbers up to this one."""

Method = TypeVar("Method", bound=Callable[..., Any])


def _behind(value: Any) -> str:
    """Return the name of the object that a page follows. Raises InvalidArgument if it is empty, or not Unicode."""
    name = object_name(value, "after")
    if not name:
        raise InvalidArgument("after is empty; allowed is the name of an object")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise not_unicode("after", error) from error
    return name


def phrase_text(value: Any) -> str:
    """Return the text of a phrase that a program gave. Raises InvalidArgument if it has no words."""
    phrase = text_of("phrase", value)
    if not any(map(str.isalnum, phrase)):
        raise InvalidArgument(f"phrase is {phrase!r}; allowed are words")
    return phrase


class Option(NamedTuple):
    """An option of a command.

    Attributes:
        name: the name in lower case.
        kind: the kind of its values.
        default: the value if a program gives none. The default of LIMIT on the wire is a setting of the server.
        usage: the META argument as usage texts show it.
        sentence: a description for the documentation and for help texts.
        is_ours: whether Sonic lacks the option: compat mode refuses it, and usage texts of Sonic's commands omit it.
        is_argument: whether methods of the library and the clients take it.
        is_dropped: whether a client omits it for a server that lacks it, because that server answers as if it were
            given.
        wire: the key of the META argument; "": `name` in capital letters.
    """

    name: str
    kind: Kind
    default: Any
    usage: str
    sentence: str
    is_ours: bool = False
    is_argument: bool = True
    is_dropped: bool = False
    wire: str = ""

    @property
    def key(self) -> str:
        """The key of the META argument."""
        return self.wire or self.name.upper()


LIMIT = Option("limit", Number(LIMIT_CEILING), 10, "LIMIT(<count>)", "at most this many results")
OFFSET = Option("offset", Number(OFFSET_CEILING), 0, "OFFSET(<count>)", "skip this many of the first results")
LANG = Option(
    "lang", LanguageCode(), None, "LANG(<locale>)",
    "language of the text as ISO 639-1, ISO 639-3 or BCP 47 (`en`, `eng`, `en-GB`), or `none` (default: guessed)",
)  # fmt: skip
SCORES = Option(
    "scores", Switch(), False, "SCORES(1)", "return the score of each object, too", is_ours=True, is_argument=False
)
STEM = Option(
    "stem", Switch(), True, "STEM(0)",
    "words also match their other forms, where `search.stemming` allows it", is_ours=True, is_dropped=True,
)  # fmt: skip
TOTAL = Option("total", Switch(), False, "TOTAL(1)", "also return the number of all objects that answer", is_ours=True)
WHOLE = Option(
    "whole", Switch(), False, "WHOLE(1)", "with TOTAL(1), also return how many of these objects hold whole words",
    is_ours=True, is_argument=False,
)  # fmt: skip
COMPLETE = Option(
    "complete", Switch(), True, "COMPLETE(0)",
    "the last word also finds words that begin with it, unless a blank follows", is_ours=True, is_dropped=True,
)  # fmt: skip
SYNTAX = Option(
    "syntax", Choice(("plain", "web")), "plain", "SYNTAX(web)",
    "`web`: quotes, `-word`, `+word`, `word*`, `*part*` and `OR` have the meaning that search boxes give them",
    is_ours=True,
)  # fmt: skip
MATCH = Option(
    "match", Choice(("all", "any", "auto")), "auto", "MATCH(<which>)",
    "`all`: an object has to hold every word or a form of it, stop words aside; `any`: objects with any word rank by "
    "score alone; `auto`: those that hold every word come first",
    is_ours=True,
)  # fmt: skip
FUZZY = Option(
    "fuzzy", Choice(("0", "1", "2", "3", "auto")), "auto", "FUZZY(<edits>)",
    "words of 4 letters and more also find words at most this many edits away, however many objects hold them; `auto`: "
    "by their length, where few objects hold them",
    is_ours=True,
)  # fmt: skip
HOW = Option(
    "how", Switch(), False, "HOW(1)",
    "each hit has the words by which it answers, and their relation to the words of the query", is_ours=True,
)  # fmt: skip
PREFIX = Option("prefix", Name(), "", "PREFIX(<letters>)", "only those that begin with it", is_ours=True)
AFTER = Option(
    "after", Name(), None, "AFTER(<name>)", "only those after this one, such as the last of the page before",
    is_ours=True,
)  # fmt: skip
POSITION = Option(
    "position", Number(POSITION_CEILING), None, "POSITION(<number>)", "where the page before ended; replaces `after`",
    is_ours=True, is_argument=False,
)  # fmt: skip
TAGS = Option(
    "tags", TagList(), None, "TAGS(<tag>,...)",
    "all tags of the object, at most 64, in place of those before; `TAGS()` takes them away", is_ours=True,
)  # fmt: skip
VALUES = Option(
    "values", ValueList(), None, "SET(<name>=<value>,...)",
    "named values: whole numbers, or points such as `place=47.21/-1.55`; `SET(<name>=)` takes one away", is_ours=True,
    wire="SET",
)  # fmt: skip


def _brief_filters() -> tuple[type, Container[str]]:
    """Return `str`, the type of filters, and the filters that need no other check than that they can be read
    quickly."""
    from sonicpy.filters.grammar import brief_filters  # noqa: PLC0415  loaded when it is needed

    return str, brief_filters


FILTER = Option(
    "filter", Spec(lambda value: filter_text(value), unchecked=_brief_filters), None, "FILTER(<conditions>)",
    "only objects whose tags and values meet the conditions", is_ours=True,
)  # fmt: skip
SORT = Option(
    "sort", Spec(lambda value: sort_text(value)), None, "SORT(<order>)",
    "`score` (default), `newest`, a name of values such as `price`, `-price` for the highest first, or "
    "`distance place 47.21,-1.55`", is_ours=True,
)  # fmt: skip
BOOST = Option(
    "boost", Spec(boost_text), None, "BOOST(<name>)",
    "a higher value of this name raises the score; `time 7d`: a newer time does, with a half-life", is_ours=True,
)  # fmt: skip
OF = Option(
    "of", Spec(of_text), None, "OF(<tags>)", "count the tags that begin so, such as `size:*, color:*`; `*`: all",
    is_ours=True,
)  # fmt: skip
RANGES = Option(
    "ranges", Spec(ranges_text), None, "RANGES(<bounds>)",
    "count values by ranges, such as `price: 0,1000,5000; time: 0`", is_ours=True,
)  # fmt: skip
APART = Option(
    "apart", Switch(), False, "APART(1)", "each count leaves out the conditions of its own tags or values", is_ours=True
)

MORE = Option(
    "more", Number(2), 0, "MORE(1)",
    "a piece of the text, which goes on in the next UPSERT of the object, after a blank; MORE(2): without one",
    is_ours=True, is_argument=False,
)  # fmt: skip

FIELDS = Option(
    "fields", Spec(weights_text), None, "FIELDS(<name>^<weight>,...)",
    "named texts add to the score, by their weights; names without weights: only these texts are searched",
    is_ours=True,
)  # fmt: skip
FIELD = Option(
    "field", Spec(name_of_text), None, "FIELD(<name>)", "the name of the text, such as `title`", is_ours=True
)

VECTOR = Option(
    "vector", VectorNumbers(), None, "VECTOR(<column>:<base64>)",
    "the vector of the text, which puts the first `depth` objects in order, where objects have vectors", is_ours=True,
)  # fmt: skip
MEANING = Option(
    "meaning", Decimals(MEANING_CEILING), 0.7, "MEANING(<weight>)", "how much likeness to `vector` adds to a score",
    is_ours=True,
)  # fmt: skip
DEPTH = Option(
    "depth", Number(DEPTH_CEILING, is_capped=True), 50, "DEPTH(<count>)",
    "how many of the first objects `vector` puts in order", is_ours=True,
)  # fmt: skip

BUCKETS = Option(
    "buckets", BucketNames(), (), "BUCKETS(<bucket>,<letters>*)",
    "also these buckets of the collection, as one with all objects; with * after them all that begin so", is_ours=True,
    is_argument=False,
)  # fmt: skip

GROUP = Option(
    "group", Spec(group_text), None, "GROUP(<name>)",
    "only the best object of each value of this name; `size:`: of each tag that begins so", is_ours=True,
)  # fmt: skip

PHRASE = Option(
    "phrase", Spec(phrase_text), None, "PHRASE(<words>)",
    "only objects that hold these words next to each other, in buckets that keep the order of words; the words are"
    " words of the query, too, and stand in any one of the texts, whatever `fields` names", is_ours=True,
)  # fmt: skip

PAGE = LIMIT._replace(default=100)

OPTIONS: dict[str, tuple[Option, ...]] = {
    "QUERY": (
        LIMIT,
        OFFSET,
        LANG,
        SCORES,
        STEM,
        TOTAL,
        COMPLETE,
        WHOLE,
        SYNTAX,
        MATCH,
        FUZZY,
        HOW,
        VECTOR,
        MEANING,
        DEPTH,
        FILTER,
        SORT,
        AFTER._replace(
            kind=Spec(_behind),
            usage="AFTER(<object>)",
            sentence="with SORT, only objects after this one, the last of the page before",
        ),
        BOOST,
        BUCKETS,
        FIELDS,
        GROUP,
        PHRASE,
    ),
    "EXPLAIN": (
        LIMIT,
        LANG,
        STEM,
        COMPLETE,
        SYNTAX,
        MATCH,
        FUZZY,
        VECTOR,
        MEANING,
        DEPTH,
        FILTER,
        BUCKETS,
        FIELDS,
        GROUP,
        PHRASE,
    ),
    "SUGGEST": (LIMIT._replace(default=5), FILTER, BUCKETS),
    "LIST": (PAGE, OFFSET, PREFIX, AFTER._replace(usage="AFTER(<word>)"), BUCKETS),
    "COLLECTIONS": (PAGE, AFTER._replace(usage="AFTER(<collection>)")),
    "BUCKETS": (PAGE, AFTER._replace(usage="AFTER(<bucket>)")),
    "OBJECTS": (PAGE, PREFIX, AFTER._replace(usage="AFTER(<object>)"), POSITION),
    "PUSH": (LANG, VECTOR._replace(kind=VectorBits(), sentence="bits of vectors of the object"), TAGS, VALUES, FIELD),
    "UPSERT": (
        LANG,
        MORE,
        VECTOR._replace(kind=VectorBits(), sentence="bits of vectors of the object"),
        TAGS,
        VALUES,
        FIELD,
    ),
    "TAG": (TAGS, VALUES),
    "FLUSH": (FILTER,),
    "CLAIM": (PREFIX._replace(sentence="only the objects whose names begin with it"),),
    "FACETS": (
        PAGE._replace(sentence="at most this many tags of each beginning"),
        LANG,
        STEM,
        COMPLETE,
        FILTER,
        OF,
        RANGES,
        APART,
        BUCKETS,
        SYNTAX,
        MATCH,
        FUZZY,
        FIELDS,
        PHRASE,
    ),
    "COUNT": (BUCKETS,),
    "COUNTB": (BUCKETS,),
    "SIMILAR": (LIMIT, OFFSET, SCORES),
}
"""The options of each command, in the order of its fields."""

ARGUMENTS: dict[str, dict[str, Option]] = {
    verb: {option.name: option for option in options if option.is_argument} for verb, options in OPTIONS.items()
}
"""The options that methods of the library and the clients take, by command and name."""
_DEFAULTS = {verb: {name: option.default for name, option in taken.items()} for verb, taken in ARGUMENTS.items()}


def checked(verb: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every option of a method: the value that a program gave, checked, or the default.

    Args:
        verb: the command, a key of OPTIONS.

    Raises:
        TypeError: the method takes no such option.
        InvalidArgument: a value is not allowed.
    """
    values = _DEFAULTS[verb].copy()
    for name, value in given.items():
        values[name] = checked_value(verb, name, value)
    return values


def checked_value(verb: str, name: str, value: Any) -> Any:
    """Return the checked value of an option that a program gave. Raises the errors of `checked`."""
    option = ARGUMENTS[verb].get(name)
    if option is None:
        raise TypeError(f"{verb.lower()}() got an unexpected keyword argument {name!r}")
    return option.kind.check(name, value)


def written(option: Option, value: Any) -> str:
    """Return the META argument of an option, with a space before it.

    Raises:
        InvalidArgument: the value is not Unicode.
    """
    try:
        text = option.kind.write(value)
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{option.name} is {ascii(value)}; allowed is Unicode", "invalid_format") from error
    return f" {option.key}({text})"


def with_options(verb: str) -> Callable[[Method], Method]:
    """Return a decorator for a method with `**options`: its signature shows the options of a command instead."""

    def decorate(method: Method) -> Method:
        method.__wrapped__ = _with_defaults(method, _DEFAULTS[verb])  # type: ignore[attr-defined]
        return method

    return decorate


def _with_defaults(method: Callable[..., Any], defaults: dict[str, Any]) -> Callable[..., None]:
    """Return a function that does nothing, with the parameters of a method, but named ones instead of its `**options`.

    As the `__wrapped__` of the method, it makes Python show this signature. An `inspect.Signature` would do the same,
    but loading `inspect` takes a tenth of the time in which an index starts.
    """
    code = method.__code__
    names = (*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], *defaults)
    shown = FunctionType(
        (lambda: None).__code__.replace(
            co_argcount=code.co_argcount,
            co_posonlyargcount=code.co_posonlyargcount,
            co_kwonlyargcount=code.co_kwonlyargcount + len(defaults),
            co_varnames=names,
            co_nlocals=len(names),
            co_filename=code.co_filename,
            co_firstlineno=code.co_firstlineno,
        ),
        method.__globals__,
        method.__name__,
        method.__defaults__,
    )
    shown.__kwdefaults__ = {**(method.__kwdefaults__ or {}), **defaults}
    shown.__annotations__ = {name: kind for name, kind in method.__annotations__.items() if name in (*names, "return")}
    shown.__doc__, shown.__module__, shown.__qualname__ = method.__doc__, method.__module__, method.__qualname__
    return shown
