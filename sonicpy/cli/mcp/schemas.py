"""JSON schemas of the arguments of tools: names, and options of commands as `sonicpy.options` declares them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sonicpy.option_kinds import Choice, Decimals, LanguageCode, Name, Number, Spec, Switch
from sonicpy.options import ARGUMENTS, Option
from sonicpy.tags import TAGS_MAX, TagList
from sonicpy.values import ValueList

TEXT = {"type": "string"}

NAMES: dict[str, str] = {
    "collection": "the collection; the tool collections lists them",
    "bucket": "the bucket of the collection; the tool buckets lists them",
    "object": "the name of the object",
    "text": "the text",
    "word": "a word or its first letters; of several words the last one is completed, the others stand before it",
}
"""Name of an argument that is not an option -> its description."""

OF_SEVERAL = frozenset(("QUERY", "FACETS", "SUGGEST", "EXPLAIN"))
"""Commands that also take a list of buckets."""

BUCKETS = {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}
SEVERAL = "; or a list of buckets, which are searched as one: forum:* in a list means all that begin so"

SENTENCES: dict[str, str] = {
    "filter": "only objects whose tags and values meet the conditions: red AND price < 2500, NOT size:xl, "
    "tag IN (red, blue), HAS price, place WITHIN 5km OF 47.21,-1.55",
    "of": "count the tags that begin so, such as size:*, color:*; with * all tags",
    "ranges": "count values by the bounds of ranges, such as price: 0,1000,5000",
    "tags": f"all tags of the object, at most {TAGS_MAX}, in place of those before",
    "values": 'named whole numbers or points, such as {"price": 1999, "place": "47.21/-1.55"}; null takes one away',
}
"""Option -> its description, in place of the one that shows its form on the wire."""

OF_VECTORS = frozenset(("vector", "meaning", "depth"))
"""Options that no tool takes, because an assistant has no vectors."""

ELSEWHERE = frozenset((("UPSERT", "field"),))
"""(command, option) that the methods of Index and Client lack: `upsert` names fields by its text."""

KINDS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Number: lambda kind: {"type": "integer", "minimum": 0, "maximum": kind.ceiling},
    Decimals: lambda kind: {"type": "number", "minimum": 0, "maximum": kind.ceiling},
    Switch: lambda kind: {"type": "boolean"},
    Choice: lambda kind: {**TEXT, "enum": list(kind.words)},
    LanguageCode: lambda kind: dict(TEXT),
    Name: lambda kind: dict(TEXT),
    Spec: lambda kind: dict(TEXT),
    TagList: lambda kind: {"type": "array", "items": TEXT, "maxItems": TAGS_MAX},
    ValueList: lambda kind: {"type": "object", "additionalProperties": {"type": ["integer", "string", "null"]}},
}
"""Kind of an option -> function that makes its schema."""


def offered(verb: str) -> dict[str, Option]:
    """Return the options of a command that a tool takes, by name.

    Args:
        verb: the command, a key of OPTIONS; "": none.
    """
    options = ARGUMENTS.get(verb, {}).items()
    return {name: option for name, option in options if name not in OF_VECTORS and (verb, name) not in ELSEWHERE}


def schema(names: Iterable[str], defaults: Mapping[str, str | None], verb: str) -> dict[str, Any]:
    """Return the schema of the arguments of a tool.

    Args:
        names: the arguments that are not options, keys of NAMES.
        defaults: argument that may be left out -> its default.
        verb: as in `offered`.
    """
    named = {name: _described(dict(TEXT), NAMES[name], defaults.get(name)) for name in names}
    if verb in OF_SEVERAL:
        named["bucket"] = _described(BUCKETS, NAMES["bucket"] + SEVERAL, defaults.get("bucket"))
    options = {name: _of_option(option) for name, option in offered(verb).items()}
    return {
        "type": "object",
        "properties": {**named, **options},
        "required": [name for name in named if name not in defaults],
        "additionalProperties": False,
    }


def _of_option(option: Option) -> dict[str, Any]:
    sentence = SENTENCES.get(option.name, option.sentence).replace("`", "")
    return _described(KINDS[type(option.kind)](option.kind), sentence, option.default)


def _described(found: dict[str, Any], sentence: str, default: Any) -> dict[str, Any]:
    return {**found, "description": sentence, **({} if default is None else {"default": default})}
