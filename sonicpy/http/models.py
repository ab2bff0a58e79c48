"""The JSON of requests and answers."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Query
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    create_model,
)
from pydantic_core import PydanticCustomError

from sonicpy.ids import EXACT_MAX
from sonicpy.langcodes import TAG_MAX
from sonicpy.option_kinds import Choice, Decimals, LanguageCode, Name, Number, Spec, Switch, VectorNumbers
from sonicpy.options import APART, ARGUMENTS, DEPTH_CEILING, MEANING_CEILING, OF, RANGES
from sonicpy.tags import TAG_BYTES_MAX, TAGS_MAX
from sonicpy.values import VALUES_MAX
from sonicpy.vectors import NUMBERS_MAX

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

LIMIT_MAX = 1000
"""The most items in one answer; clients read more page by page."""
OFFSET_MAX = 2**31
TEXT_MAX = 200_000
QUERY_TEXT_MAX = 10_000
"""The most characters of a text in an address."""
QUERY_BODY_MAX = 20_000
"""The most characters of a text in a body: those of a line of the channel."""
NAME_MAX = 128
RULES_MAX = 10_000
"""The most rules of synonyms of a request: as many as a collection may have."""
VECTOR_MAX = 3_000
"""The most characters of vectors in base 64, for two vectors with the names of their columns."""


def _named(value: object) -> object:
    """Return the name of an object. Raises an error that pydantic reports if the library does not accept it."""
    if type(value) in (str, int):
        return value
    if not isinstance(value, float) or not value.is_integer():
        raise PydanticCustomError("object_type", "the value is no name of an object")
    if abs(value) >= EXACT_MAX:
        raise PydanticCustomError("object_inexact", "the value may mean several whole numbers")
    return int(value)


def _exact(value: object) -> object:
    """Return a value. Raises an error that pydantic reports if it is a float that may mean several whole numbers."""
    if isinstance(value, float) and abs(value) >= EXACT_MAX:
        raise PydanticCustomError("value_inexact", "the value may mean several whole numbers")
    return value


LEFT_OUT: Any = None
"""The default of a key that may be left out, but may not be null."""
FieldOfName = Annotated[str, Field(min_length=1, max_length=NAME_MAX, examples=["messages"])]
FieldOfObject = Annotated[FieldOfName | StrictInt, BeforeValidator(_named)]
"""The name of an object. The number is strict: else a name of digits that is too long would be read as a number."""
CollectionName = Annotated[str, Query(min_length=1, max_length=NAME_MAX, description="name of the collection")]
BucketName = Annotated[str, Query(min_length=1, max_length=NAME_MAX, description="name of the bucket")]
NameOfObject = Annotated[str, Query(min_length=1, max_length=NAME_MAX)]
OptionalName = Annotated[str | None, Query(min_length=1, max_length=NAME_MAX)]
QueryText = Annotated[str, Query(max_length=QUERY_TEXT_MAX, description="text to search for")]
Of = Annotated[str | None, Query(max_length=QUERY_TEXT_MAX, description=OF.sentence)]
Ranges = Annotated[str | None, Query(max_length=QUERY_TEXT_MAX, description=RANGES.sentence)]
Apart = Annotated[bool, Query(description=APART.sentence)]
PageLimit = Annotated[int, Query(ge=0, le=LIMIT_MAX, description="maximum number of items")]
Prefix = Annotated[str, Query(max_length=NAME_MAX, description="only names with this beginning")]
OtherBuckets = Annotated[
    str,
    Query(
        max_length=QUERY_TEXT_MAX,
        description="other buckets, which are searched together with it, as BUCKETS of the channel: `b2,forum:*`",
    ),
]
After = Annotated[str | None, Query(max_length=NAME_MAX, description="only names after this one, the last of a page")]

BOUNDS: dict[type, tuple[Any, dict[str, Any]]] = {
    Number: (int, {"ge": 0, "le": OFFSET_MAX}),
    Switch: (bool, {}),
    LanguageCode: (str | None, {"max_length": TAG_MAX}),
    Name: (str | None, {"max_length": NAME_MAX}),
    Choice: (Annotated[str, BeforeValidator(lambda given: str(given) if type(given) is int else given)], {}),
    Decimals: (float, {"ge": 0, "le": MEANING_CEILING}),
    VectorNumbers: (str | None, {"max_length": VECTOR_MAX}),
    Spec: (str | None, {"max_length": QUERY_TEXT_MAX}),
}
"""Kind of an option -> its type in JSON, and the bounds of its values."""
CORRECTED = "with how: the text with the likeliest words for those that no object holds"
NOTES = "sentences about signs of the text that have another meaning here than elsewhere, or none"
LIMITED = {"limit": {"le": LIMIT_MAX}, "depth": {"le": DEPTH_CEILING}}
"""Option -> bounds of its values that only it has."""


def parameters_of(verb: str, make: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return the options of a command as parameters: the type, and the result of `make` for the default and the bounds.

    Args:
        verb: the command, a key of OPTIONS.
        make: `Query` of FastAPI, or `Field` of pydantic.
    """
    made = {}
    for option in ARGUMENTS[verb].values():
        kind, bounds = BOUNDS[type(option.kind)]
        bounds = {**bounds, **LIMITED.get(option.name, {})}
        if isinstance(option.kind, Choice):
            bounds["pattern"] = f"^({'|'.join(option.kind.words)})$"
        made[option.name] = kind, make(option.default, description=option.sentence, **bounds)
    return made


def takes_options(verb: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator for a handler with `**options`: FastAPI then takes the options of a command as its
    parameters.
    """

    def decorate(handler: Decorated) -> Decorated:
        shown = inspect.signature(handler)
        own = [one for one in shown.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        taken = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in parameters_of(verb, Query).items()
        ]
        handler.__signature__ = shown.replace(parameters=[*own, *taken])  # type: ignore[attr-defined]
        return handler

    return decorate


class Strict(BaseModel):
    """A body that must not have other keys."""

    model_config = ConfigDict(extra="forbid")


class HeldWordJson(BaseModel):
    """A word by which an object answers."""

    how: str = Field(description="word, form, part, completion, correction or synonym")
    typed: str = Field(description="the word of the query, in its normal form")
    word: str = Field(description="the word that the object holds")


class HitJson(BaseModel):
    """One object that answers."""

    object: str
    score: float | None = Field(description="None: the ranking has no scores")
    how: list[HeldWordJson] | None = Field(default=None, description="the words by which it answers, if requested")
    bucket: str | None = Field(default=None, description="its bucket, if several were searched")
    group: int | str | None = Field(default=None, description="the value or the tag of its group, if it has one")


RangeJson = Annotated[list[int | None], Field(min_length=3, max_length=3)]
"""A range with its count: [low, high, objects]; not a tuple, because many generators and checkers of OpenAPI cannot
read `prefixItems`.
"""


class FacetsJson(BaseModel):
    """Counts over all objects that answer."""

    total: int = Field(description="number of all matching objects")
    tags: dict[str, dict[str, int]] = Field(description="by the beginning of tags: objects that hold each, most first")
    ranges: dict[str, list[RangeJson]] = Field(
        description="by the name of values: from, up to (left out), and the number of objects in between"
    )


class HitsJson(BaseModel):
    """The answer of a query, best first."""

    hits: list[HitJson]
    total: int | None = Field(description="number of all matching objects, if requested")
    whole: int | None = Field(description="how many of these hold whole words, not completions or corrections alone")
    corrected: str | None = Field(default=None, description=CORRECTED)
    notes: list[str] = Field(default=[], description=NOTES)
    facets: FacetsJson | None = Field(default=None, description="counts over all matching objects, if requested")


class WordsJson(BaseModel):
    """The words of an answer."""

    words: list[str]


class ShownJson(BaseModel):
    """A title, a text, a link and words of an object."""

    title: str | None
    text: str | None
    link: str | None
    words: list[str] = Field(
        description="its words in the index, the most frequent first; none if the server knows none"
    )


class AboutJson(BaseModel):
    """The version and the address of this server."""

    version: str
    channel: str = Field(description="its address for clients of the channel; empty: it is not known here")
    read_only: bool


class SearchJson(BaseModel):
    """Everything for a search box in one answer."""

    hits: list[HitJson]
    total: int | None
    whole: int | None
    suggestions: list[str] = Field(description="words that complete or correct the last word")
    did_you_mean: str | None = Field(description="the text with corrected words; None: no correction")
    corrected: str | None = Field(default=None, description=CORRECTED)
    notes: list[str] = Field(default=[], description=NOTES)
    took_us: float = Field(description="microseconds until the answer was there")
    facets: FacetsJson | None = Field(default=None, description="counts over all matching objects, if requested")
    shown: list[ShownJson] | None = Field(default=None, description="what each hit is shown as, if it was asked for")


class NamesJson(BaseModel):
    """The names of an answer."""

    names: list[str]


class CountJson(BaseModel):
    """The number of an answer."""

    count: int


class ExistsJson(BaseModel):
    """Whether the object exists."""

    exists: bool


class DoneJson(BaseModel):
    """The answer to a request that is done."""

    done: bool = True


class RemovedJson(BaseModel):
    """The number of removed words, objects or buckets."""

    removed: int


class FaultsJson(BaseModel):
    """The result of a check."""

    faults: list[str]


class HealthJson(BaseModel):
    """Whether requests are answered."""

    status: str


class RefusedJson(BaseModel):
    """A row that was refused."""

    row: int = Field(description="its number, from 1 on; blank lines are not counted")
    reason: str


class BulkJson(BaseModel):
    """The outcome of the rows of a bulk request."""

    pushed: int
    refused: int
    first_refused: list[RefusedJson]


class ProblemJson(BaseModel):
    """The reason why a request failed (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    request_id: str | None = None


class LongText(Strict):
    """A text that is too long for an address, with the names of a bucket."""

    collection: FieldOfName
    bucket: FieldOfName
    text: str = Field(max_length=QUERY_BODY_MAX)
    buckets: str = Field(default="", max_length=QUERY_BODY_MAX, description="other buckets, as `b2,forum:*`")


OneVector = Annotated[str, Field(max_length=VECTOR_MAX)] | Annotated[list[float], Field(max_length=NUMBERS_MAX)]
VectorJson = OneVector | dict[str, OneVector] | None
"""Numbers, or bits or int8 in base 64; or a dict of these by the name of the column."""


class CountedText(LongText):
    """A long text, and the facets to count."""

    of: str | None = Field(default=None, max_length=QUERY_TEXT_MAX, description=OF.sentence)
    ranges: str | None = Field(default=None, max_length=QUERY_TEXT_MAX, description=RANGES.sentence)
    apart: bool = Field(default=False, description=APART.sentence)


QueryBody: Any = create_model(
    "QueryBody",
    __base__=CountedText,
    __doc__="A query whose text is too long for an address.",
    **parameters_of("QUERY", Field)  # type: ignore[call-overload]
    | {"vector": (VectorJson, Field(None, description=ARGUMENTS["QUERY"]["vector"].sentence))},
)


FieldOfTags = Annotated[
    list[Annotated[str, Field(max_length=TAG_BYTES_MAX)]] | None,
    Field(max_length=TAGS_MAX, description="all tags of the object, in place of those before"),
]
FieldOfValues = Annotated[
    dict[str, Annotated[int | str | None, BeforeValidator(_exact)]] | None,
    Field(
        max_length=VALUES_MAX,
        description="whole numbers by name, points such as 47.21/-1.55; null takes one away, the others stay",
    ),
]


FieldOfText = Annotated[str, Field(max_length=TEXT_MAX)]


class TextBody(Strict):
    """A change of an object by a text."""

    collection: FieldOfName
    bucket: FieldOfName
    object: FieldOfObject
    lang: str | None = Field(default=None, max_length=TAG_MAX)
    vector: VectorJson = Field(default=None, description="numbers, or bits in base 64; perhaps by column")
    tags: FieldOfTags = None
    values: FieldOfValues = None
    field: str | None = Field(default=None, max_length=NAME_MAX, description="the name of the text, such as title")


class PushBody(TextBody):
    """A text for an object, with tags and values."""

    text: FieldOfText


class UpsertBody(TextBody):
    """The text of an object, or its texts by name, with tags and values."""

    text: FieldOfText | dict[str, FieldOfText] = Field(description="or texts by the names of fields")


class TagBody(Strict):
    """Tags or values of an object."""

    collection: FieldOfName
    bucket: FieldOfName
    object: FieldOfObject
    tags: FieldOfTags = None
    values: FieldOfValues = None


class TaggedJson(BaseModel):
    """Whether there was an object to change."""

    tagged: bool


class PopBody(Strict):
    """Words to remove from an object."""

    collection: FieldOfName
    bucket: FieldOfName
    object: FieldOfObject
    text: str = Field(max_length=TEXT_MAX)


class FlushBody(Strict):
    """The names of an object, a bucket or a collection to erase; the number of names decides.

    A null is refused: the program that sends it has lost a name, and would erase more than it meant.
    """

    collection: FieldOfName
    bucket: FieldOfName = LEFT_OUT
    object: FieldOfObject = LEFT_OUT
    filter: str = Field(default=LEFT_OUT, max_length=QUERY_TEXT_MAX, description="of the objects of a bucket")


class SynonymsBody(Strict):
    """Rules of synonyms for a collection."""

    collection: FieldOfName
    rules: list[str] = Field(max_length=RULES_MAX, description="`ny, new york` or `tv => television`")
    add: bool = Field(default=False, description="to the rules that are there")


class SynonymsJson(BaseModel):
    """The rules of synonyms of a collection."""

    rules: list[str]


class CountedRulesJson(BaseModel):
    """The number of rules of synonyms that a collection has now."""

    rules: int


class FolderBody(Strict):
    """A folder on the machine of the index."""

    folder: str = Field(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")


AnyJson = dict[str, Any]
