"""The answer of a query: the objects, best first, and the score of each.

A hit is a str, the name of its object, with the score as an attribute. So code that only needs names can use hits as
names, and JSON of hits is a list of names.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from sonicpy._native.hits import made_hits
from sonicpy.api.held_word import HeldWord, held_json

if TYPE_CHECKING:
    from sonicpy.api.facets import Facets
    from sonicpy.filters.grouping import GroupKey


class Hit(str):
    """One object that answers: its name, with a score.

    Attributes:
        object: its name, as a plain str.
        score: the quality of the match, at most the score of the hit before, except once in a query with a vector:
            behind the first `depth` objects. None: unknown, or the ranking has no scores. With "bm25" the whole number
            is the kind of the match (3: the object holds every word of the query or one of its forms, stop words aside;
            2: some of them; 1: completions; 0: corrections), and the fraction is the share of the best possible score.
        how: the words by which it answers; None: the query did not ask for them.
        bucket: its bucket, if several were searched; else None.
        group: the value or the tag of its group; None: it is a group of its own, or there are no groups.
    """

    __slots__ = ("_bucket", "_group", "_how", "_score")
    _score: float | None
    _how: tuple[HeldWord, ...] | None
    _bucket: str | None
    _group: "GroupKey | None"

    def __new__(
        cls,
        object: str,
        score: float | None = None,
        how: tuple[HeldWord, ...] | None = None,
        bucket: str | None = None,
        group: "GroupKey | None" = None,
    ) -> "Hit":
        hit = super().__new__(cls, object)
        hit._score = score
        hit._how = how
        hit._bucket = bucket
        hit._group = group
        return hit

    @property
    def object(self) -> str:
        """The name of the object."""
        return str.__str__(self)

    @property
    def score(self) -> float | None:
        """The score of the object; None: the ranking has no scores, or the server does not return them."""
        return self._score

    @property
    def how(self) -> tuple[HeldWord, ...] | None:
        """The words by which the object answers, or None if the query did not ask for them."""
        return getattr(self, "_how", None)  # made_hits sets the score alone

    @property
    def bucket(self) -> str | None:
        """The bucket of the object, if several were searched; else None."""
        return getattr(self, "_bucket", None)

    @property
    def group(self) -> "GroupKey | None":
        """The value or the tag of its group, or None if it is a group of its own, or there are no groups."""
        return getattr(self, "_group", None)

    def to_dict(self) -> dict[str, Any]:
        """Return {"object": name, "score": score or None}, "how" if the query asked for it, "bucket" if several
        buckets were searched, and "group" if it has one."""
        found: dict[str, Any] = {} if self.bucket is None else {"bucket": self.bucket}
        found |= {"object": self.object, "score": self._score}
        if self.group is not None:
            found["group"] = self.group
        return found if self.how is None else found | {"how": held_json(self.how)}

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.object, self._score, self.how, self.bucket, self.group

    def __repr__(self) -> str:
        score = None if self._score is None else f"{self._score:.6g}"
        return f"Hit({self.object!r}, {score})"


class Hits(tuple[Hit, ...]):
    """The objects that answer a query, best first; immutable.

    Iterating and `hits[0]` give hits, a slice gives Hits. A hit is the name of its object, with a score. Hits equal
    every list and tuple of the same names, and are a list of names in JSON; `to_dicts` has the scores, too.

    Args:
        objects: their names.
        scores: their scores; None: the ranking has no scores.
        total: the number of objects that answer on all pages together; None: the query did not ask for it.
        whole: how many of these answer by words of the query or their forms, not only by completions or corrections;
            None: it is not known.
        hows: the words by which each object answers; None: the query did not ask for them.
        corrected: the text that the user may have meant; None: it holds no word to correct, or `hows` is None.
        buckets: the bucket of each object, if several were searched; None: one was.
        groups: the value or the tag of the group of each object, or None for a group of its own; None: there are no
            groups.
    """

    _scores: tuple[float, ...] | None = None
    _total: int | None = None
    _whole: int | None = None
    _hows: tuple[tuple[HeldWord, ...], ...] | None = None
    _corrected: str | None = None
    _facets: "Facets | None" = None
    _buckets: tuple[str, ...] | None = None
    _groups: "tuple[GroupKey | None, ...] | None" = None

    def __new__(
        cls,
        objects: Iterable[str] = (),
        scores: Iterable[float] | None = None,
        total: int | None = None,
        whole: int | None = None,
        hows: Iterable[tuple[HeldWord, ...]] | None = None,
        corrected: str | None = None,
        buckets: Iterable[str] | None = None,
        groups: "Iterable[GroupKey | None] | None" = None,
    ) -> "Hits":
        # The tuple holds plain names; hits are made when they are asked for: most answers are only iterated over once.
        hits = tuple.__new__(cls, objects)
        if scores is not None:
            hits._scores = tuple(scores)
            if len(hits._scores) != len(hits):
                raise ValueError(f"{len(hits)} objects need as many scores, not {len(hits._scores)}")
        if total is not None:
            hits._total = total
        if whole is not None:
            hits._whole = whole
        if hows is not None:
            hits._hows, hits._corrected = tuple(hows), corrected
        if buckets is not None:
            hits._buckets = tuple(buckets)
        if groups is not None:
            hits._groups = tuple(groups)
        return hits

    @property
    def objects(self) -> list[str]:
        """The names of the objects."""
        return [str.__str__(name) for name in tuple.__iter__(self)]

    @property
    def scores(self) -> list[float] | None:
        """The scores of the objects, or None if there are none."""
        return None if self._scores is None else list(self._scores)

    @property
    def total(self) -> int | None:
        """The number of all objects that answer, or None if the query did not ask for it."""
        return self._total

    @property
    def whole(self) -> int | None:
        """How many of `total` answer by words of the query or their forms, or None if it is not known."""
        return self._whole

    @property
    def hows(self) -> list[tuple[HeldWord, ...]] | None:
        """The words by which each object answers, or None if the query did not ask for them."""
        return None if self._hows is None else list(self._hows)

    @property
    def corrected(self) -> str | None:
        """The text with likely words in place of those that no object holds ("did you mean"), if `how` was asked for;
        None: there is nothing to correct.
        """
        return self._corrected

    @property
    def facets(self) -> "Facets | None":
        """The counts of facets over all objects that answer, or None if the query did not ask for them."""
        return self._facets

    @property
    def buckets(self) -> list[str] | None:
        """The bucket of each object, or None if only one bucket was searched."""
        return None if self._buckets is None else list(self._buckets)

    @property
    def groups(self) -> "list[GroupKey | None] | None":
        """The value or the tag of the group of each object, or None if the query asked for no groups."""
        return None if self._groups is None else list(self._groups)

    def pairs(self) -> list[tuple[str, float | None]]:
        """Return (object, score) of every hit."""
        scores: Sequence[float | None] = self._scores or [None] * len(self)
        return list(zip(self.objects, scores, strict=True))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return {"object": name, "score": score or None} of every hit, for JSON and for data frames; with "how" if the
        query asked for it, with "bucket" if several buckets were searched, and with "group" if it has one."""
        if not self._is_plain:
            return [hit.to_dict() for hit in self]
        return [{"object": name, "score": score} for name, score in self.pairs()]

    def __iter__(self) -> Iterator[Hit]:
        if self._hows is None and self._buckets is None and self._groups is None:  # each answer comes here
            return iter(made_hits(Hit, "_score", self, self._scores))
        return iter(self._made())

    def __reversed__(self) -> Iterator[Hit]:
        return reversed(self._made())

    @property
    def _is_plain(self) -> bool:
        """Whether hits have nothing but names and scores."""
        return self._hows is None and self._buckets is None and self._groups is None

    def _made(self) -> list[Hit]:
        if self._is_plain:
            return made_hits(Hit, "_score", self, self._scores)
        hows: Sequence[Any] = self._hows or [None] * len(self)
        buckets: Sequence[str | None] = self._buckets or [None] * len(self)
        groups: Sequence[GroupKey | None] = self._groups or [None] * len(self)
        rows = zip(self.pairs(), hows, buckets, groups, strict=True)
        return [Hit(*pair, how, bucket, group) for pair, how, bucket, group in rows]

    @overload
    def __getitem__(self, place: SupportsIndex) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> "Hits": ...
    def __getitem__(self, place: SupportsIndex | slice) -> "Hit | Hits":
        if isinstance(place, slice):
            names, scores, *rest = self.__getnewargs__()
            total, whole, hows, corrected, buckets, groups = rest
            scores, hows, buckets, groups = (
                None if each is None else each[place] for each in (scores, hows, buckets, groups)
            )
            found = Hits(names[place], scores, total, whole, hows, corrected, buckets, groups)
            found._facets = self._facets  # of the whole answer, as the total
            return found
        parts = (self._scores, self._hows, self._buckets, self._groups)
        each: Any = (None if some is None else some[place] for some in parts)
        return Hit(tuple.__getitem__(self, place), *each)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list):
            other = tuple(other)
        return tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __getnewargs__(self) -> tuple[Any, ...]:
        extras = self._hows, self._corrected, self._buckets, self._groups
        return self.objects, self._scores, self._total, self._whole, *extras

    def __repr__(self) -> str:
        total = "" if self._total is None else f", total={self._total}"
        return f"Hits({self.objects!r}{total})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        from sonicpy.api.html import html_table  # noqa: PLC0415  loaded when it is needed

        caption = "" if self._total is None else f"{len(self)} of {self._total} objects"
        columns: dict[str, Sequence[Any] | None] = {
            "": range(1, len(self) + 1),
            "bucket": self._buckets,
            "object": self.objects,
            "score": self._scores,
            "group": self._groups,
        }
        there = {name: column for name, column in columns.items() if column is not None}
        return html_table(tuple(there), zip(*there.values(), strict=True), caption)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return pydantic's schema of a field of this type: a list of names."""
        from pydantic_core import core_schema  # noqa: PLC0415  needed only where pydantic is used with hits

        names = core_schema.list_schema(core_schema.str_schema())
        return core_schema.no_info_after_validator_function(
            lambda given: given if isinstance(given, cls) else cls(given),
            core_schema.union_schema([core_schema.is_instance_schema(cls), names]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda hits: hits.objects, return_schema=names
            ),
        )


plain_hits: Callable[[list[str]], Hits] = partial(tuple.__new__, Hits)
"""Return hits that have only names, in less time than the constructor takes."""


def with_facets(hits: Hits, facets: "Facets") -> Hits:
    """Return the same hits with facets."""
    found = Hits(*hits.__getnewargs__())
    found._facets = facets
    return found


def with_groups(hits: Hits, groups: "Sequence[GroupKey | None]") -> Hits:
    """Return the same hits with the group of each."""
    found = Hits(*hits.__getnewargs__())
    found._groups = tuple(groups)
    return found


def with_hows(hits: Hits) -> Hits:
    """Return hits that say by which words each answers: by no known ones, if the ranking or the order knows none."""
    if hits.hows is None:
        hits._hows = ((),) * len(hits)
    return hits
