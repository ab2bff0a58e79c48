"""The tools for an assistant: a table of them, and their calls of an index."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sonicpy.api.explanation import Explanation
from sonicpy.api.facets import Facets
from sonicpy.api.hits import Hits
from sonicpy.api.shown import Show
from sonicpy.cli.absent import absent
from sonicpy.cli.mcp.schemas import offered, schema
from sonicpy.cli.scoped import DEFAULT_BUCKET
from sonicpy.cli.target import Target
from sonicpy.errors import CommandError, InvalidArgument, SonicError
from sonicpy.ids import shown

SCOPE = ("collection", "bucket")
REASONS = {
    "query_error": "the text holds no word, or more than one where one is allowed",
    "internal_error": "the server failed; its log has the reason",
}
"""Code of an error of a server -> a reason, where the code does not explain enough."""
IN_DEFAULT: dict[str, str | None] = {"bucket": DEFAULT_BUCKET}


class Tool(NamedTuple):
    """A tool: one method of an index.

    Attributes:
        name: the name that assistants use.
        sentence: the description of the tool's use.
        method: the method of Index and Client, which takes the values of `names` in their order, and options by name.
        answer: makes a dict for JSON from the result of the method.
        names: the arguments that are not options.
        defaults: argument that may be left out -> its default.
        verb: the command of the channel whose options the tool takes; "": it takes none.
        is_change: whether it changes the index.
        is_erasing: whether it removes words.
        has_hits: whether its answer has hits, which may be shown with titles and texts.
    """

    name: str
    sentence: str
    method: str
    answer: Callable[[Any], dict[str, Any]]
    names: tuple[str, ...] = ()
    defaults: Mapping[str, str | None] = IN_DEFAULT
    verb: str = ""
    is_change: bool = False
    is_erasing: bool = False
    has_hits: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return schema(self.names, self.defaults, self.verb)


def _hits(hits: Hits) -> dict[str, Any]:
    extras = {"total": hits.total, "whole": hits.whole, "corrected": hits.corrected}
    return {"hits": hits.to_dicts(), **{name: value for name, value in extras.items() if value is not None}}


def _explanation(explained: Explanation) -> dict[str, Any]:
    return {"explanation": str(explained), "advice": explained.advice}


def _done(value: Any) -> dict[str, Any]:
    return {"done": True}


def _under(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {name: value}


TOOLS = (
    Tool(
        "search",
        "Find objects by the words of a text, best first. Typing errors, word forms and the beginning of the last word "
        "are found without further ado, so give plain words rather than a question, and fewer words to find more. The "
        "answer has names of objects and scores: of a score the whole number is the kind of match (3: all words, 2: "
        "some, 1: completions, 0: corrections), the rest its quality. The index holds words, not texts: a hit has a "
        "text only where this server was given texts to show; one that ends in \u2026 goes on elsewhere. An empty text "
        "with a filter lists what passes it.",
        "query", _hits, (*SCOPE, "text"), verb="QUERY", has_hits=True,
    ),
    Tool(
        "facets",
        "Count, over all objects that match a text and a filter, how many hold each tag or have a value in each range. "
        "Name the tags in `of` or the values in `ranges`.",
        "facets", Facets.to_dict, (*SCOPE, "text"), {**IN_DEFAULT, "text": ""}, "FACETS",
    ),
    Tool(
        "similar",
        "Find the objects that are most like an object, by its rarest words.",
        "similar", _hits, (*SCOPE, "object"), verb="SIMILAR", has_hits=True,
    ),
    Tool(
        "suggest",
        "Complete or correct a word by the words of a bucket. Useful before a search for a name that may be misspelt.",
        "suggest", _under("words"), (*SCOPE, "word"), verb="SUGGEST",
    ),
    Tool(
        "explain",
        "Explain why a search gives its hits, or none: the words that were searched and those left out, corrections, "
        "and the part of each word in each score.",
        "explain", _explanation, (*SCOPE, "text"), verb="EXPLAIN",
    ),
    Tool(
        "collections",
        "List the collections of the index. Begin here if their names are not known.",
        "collections", _under("collections"), (), {},
    ),
    Tool("buckets", "List the buckets of a collection.", "buckets", _under("buckets"), ("collection",), {}),
    Tool(
        "objects",
        "List names of objects of a bucket, in the order in which they were first pushed, a page at a time.",
        "objects", _under("objects"), SCOPE, verb="OBJECTS",
    ),
    Tool(
        "stats",
        "Return figures about the whole index, or about a collection or a bucket of it: objects, words, sizes.",
        "stats", lambda figures: dict(figures), SCOPE, {"collection": None, "bucket": None},
    ),
    Tool(
        "push",
        "Add the words of a text to an object, which is made if it is new. Choose a name that leads back to the text, "
        "such as a path or a number, because the text itself is not kept.",
        "push", _done, (*SCOPE, "object", "text"), verb="PUSH", is_change=True,
    ),
    Tool(
        "upsert",
        "Give an object just this text, in place of all words that it held.",
        "upsert", _done, (*SCOPE, "object", "text"), verb="UPSERT", is_change=True, is_erasing=True,
    ),
    Tool(
        "flush",
        "Erase one object. Returns how many words it held, 0 if there was none.",
        "flush_object", _under("flushed"), (*SCOPE, "object"), is_change=True, is_erasing=True,
    ),
)  # fmt: skip


class ToolRefused(SonicError):
    """A call of a tool cannot be carried out; the message is a sentence for the assistant."""


class ToolBox:
    """The tools of one index.

    Args:
        index: the index for all calls, which may come from any thread.
        changes: whether to offer the tools that change the index, too.
        show: returns titles, texts and links of hits; None: hits are shown without.
    """

    def __init__(self, index: Target, *, changes: bool = False, show: Show | None = None) -> None:
        self._index = index
        self._changes = changes
        self._show = show
        self.tools = [tool for tool in TOOLS if hasattr(index, tool.method) and (changes or not tool.is_change)]

    def call(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer of a tool, for JSON.

        Args:
            name: the name of the tool.
            given: the arguments of the tool.

        Raises:
            ToolRefused: the tool, an argument or the call is not allowed, or the index cannot answer.
        """
        tool = self._tool(name)
        named, options = self._sorted(tool, given)
        try:
            value = getattr(self._index, tool.method)(*named.values(), **options)
            return self._answer(tool, named, value)
        except InvalidArgument as error:
            raise ToolRefused(str(error)) from error
        except CommandError as error:
            raise ToolRefused(f"{name} is refused: {REASONS.get(error.code, error)}") from error
        except (SonicError, OSError) as error:
            raise ToolRefused(f"{name} failed: {error}") from error

    def _tool(self, name: str) -> Tool:
        for tool in self.tools:
            if tool.name == name:
                return tool
        if not self._changes and any(tool.name == name and tool.is_change for tool in TOOLS):
            raise ToolRefused(f"{name} changes the index, and this server only reads it; sonicpy mcp --write allows it")
        raise ToolRefused(f"there is no tool {shown(name)}; allowed are {_listed([one.name for one in self.tools])}")

    def _sorted(self, tool: Tool, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arguments that are not options, in their order, and the options. Raises ToolRefused if one is
        unknown or missing.
        """
        taken = (*tool.names, *offered(tool.verb))
        unknown = [name for name in given if name not in taken]
        if unknown:
            raise ToolRefused(f"{tool.name} has no argument {shown(unknown[0])}; allowed are {_listed(taken)}")
        named = {**tool.defaults, **{name: value for name, value in given.items() if name in tool.names}}
        missing = [name for name in tool.names if name not in named]
        if missing:
            raise ToolRefused(f"{tool.name} needs the argument {missing[0]}")
        return {name: named[name] for name in tool.names}, {n: v for n, v in given.items() if n not in tool.names}

    def _answer(self, tool: Tool, named: Mapping[str, Any], value: Any) -> dict[str, Any]:
        answer = tool.answer(value)
        if tool.has_hits and self._show is not None:
            self._add_texts(self._show, named, answer["hits"])
        if not value and isinstance(named.get("bucket"), str) and not tool.is_change:
            remark = absent(self._index, named["collection"], named["bucket"])
            answer |= {} if remark is None else {"remark": remark}
        return answer

    def _add_texts(self, show: Show, named: Mapping[str, Any], hits: list[dict[str, Any]]) -> None:
        """Add titles, texts and links to hits; hits in several buckets name their bucket."""
        by_bucket: dict[str, list[dict[str, Any]]] = {}
        for hit in hits:
            by_bucket.setdefault(hit.get("bucket", named["bucket"]), []).append(hit)
        for bucket, found in by_bucket.items():
            try:
                shown_hits = show(named["collection"], bucket, [hit["object"] for hit in found])
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                raise ToolRefused(f"--show, which shows objects, has failed: {reason}") from error
            for hit, made in zip(found, shown_hits, strict=True):
                hit.update({key: each for key, each in made._asdict().items() if each is not None})


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
