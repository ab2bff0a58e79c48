"""The rows whose vectors an embedder makes: of a PUSH all, of an UPSERT those whose text changes or whose object has
none.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeGuard

from sonicpy.api.rows import Refused, Row
from sonicpy.arguments import is_unicode
from sonicpy.index.ingest.given_vectors import Embed, embedded, vector_fields
from sonicpy.index.ingest.held_vectors import forget_vectors, held_vectors
from sonicpy.index.ingest.refused_pushes import refusals
from sonicpy.index.ingest.row_digests import ASKED_ROWS, Changed, Digest
from sonicpy.store.changing.mutations import RulesDiffer, UpsertTerms
from sonicpy.store.fields.all_fields import VECTORS

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine


class EmbeddedRows:
    """Makes the vectors of rows that come without one.

    Args:
        embed: makes vectors; see `embed` of `sonicpy.open`.
        engine: holds the objects.
    """

    def __init__(self, embed: Embed, engine: "Engine") -> None:
        self._embed = embed
        self._column = getattr(embed, "column", "")
        self._engine = engine

    def give(self, rows: list[Row | Refused]) -> None:
        """Give rows the vectors of their texts, except texts that are not Unicode, whose rows are refused."""
        due = [(place, row) for place, row in enumerate(rows) if _is_due(row) and is_unicode(row.text)]
        for (place, row), vector in zip(due, self._made([row for _, row in due]), strict=True):
            rows[place] = row._replace(vector=vector)

    def changed(self, rows: list[Row | Refused], digests: list[Digest], changed: Changed) -> list[int]:
        """Return the places of the rows that `changed` returns, and of those whose objects have no vector, in order."""
        places = changed(rows, digests)
        left = frozenset(places)
        asked = [(place, row) for place, row in enumerate(rows) if place not in left and _is_due(row)]
        without = [place for place, _, vectors in self._held(asked) if not vectors]
        return sorted(places + without) if without else places

    def add(
        self, rows: Sequence[Row], places: Sequence[int], upserts: list[UpsertTerms], made: dict[int, bytes]
    ) -> None:
        """Add the vectors of their texts to replacements.

        Args:
            rows: the rows of `upserts`.
            places: the numbers of these rows.
            made: the packed vectors by the numbers of rows; those that are missing are added.
        """
        before = self._emptied(rows, upserts)[1]
        due = [(at, row) for at, row in enumerate(rows) if _is_due(row) and at not in before]
        due = [(at, row) for at, row in due if places[at] not in made]
        made.update((places[at], vectors) for at, vectors in self._kept(due, upserts))
        due = [(at, row) for at, row in due if places[at] not in made]
        for (at, _), vector in zip(due, self._made([row for _, row in due]), strict=True):
            made[places[at]] = vector_fields(vector)[0][1]
        for at, upsert in enumerate(upserts):
            if (vectors := made.get(places[at])) is not None:
                *fields, digest = upsert.fields
                upserts[at] = upsert._replace(fields=(*fields, (VECTORS.id, vectors), digest))
        self._forget([upserts[at] for at in self._emptied(rows, upserts)[0]])  # with their vectors, others are refused

    def _emptied(self, rows: Sequence[Row], upserts: Sequence[UpsertTerms]) -> tuple[list[int], set[int]]:
        """Return the places of the rows whose objects lose their text for good, and those of the rows before these.
        Rows that are refused change no object.
        """
        emptied, before, last = list[int](), set[int](), dict[tuple[str, str, str], bool]()
        if not any(_is_empty(row) for row in rows):
            return emptied, before
        reasons = refusals(self._engine.read, upserts)
        for at in range(len(rows) - 1, -1, -1):
            names = upserts[at][:3]
            if reasons[at] is not None:
                continue
            if names in last:
                if last[names]:
                    before.add(at)
                continue
            last[names] = _is_empty(rows[at])
            if last[names] and not self._engine.has_digest(*names, upserts[at].fields[-1][1]):
                emptied.append(at)
        return emptied, before

    def _forget(self, upserts: Sequence[UpsertTerms]) -> None:
        """Take away the vectors of objects whose text goes by replacements."""
        for upsert in upserts:
            try:
                forget_vectors(self._engine, upsert, self._column)
            except RulesDiffer:  # the store meets it, too, and the rows come again, cut by the rules of the bucket
                continue

    def _made(self, rows: Sequence[Row]) -> list[str]:
        return embedded(self._embed, [row.text for row in rows]) if rows else []

    def _kept(self, due: list[tuple[int, Row]], upserts: list[UpsertTerms]) -> Iterator[tuple[int, bytes]]:
        """Yield the vectors of objects that hold just the text of their row, which gives them tags or values.

        The vectors are read before the digests, so they are those of these texts whatever other threads change.
        """
        times = Counter(row[:3] for row in upserts)
        asked = [(at, row) for at, row in due if (row.tags, row.values) != (None, None) and times[row[:3]] == 1]
        for at, row, vectors in self._held(asked):
            _, digest = upserts[at].fields[-1]
            if vectors and self._engine.has_digest(row.collection, row.bucket, row.object, digest):
                yield at, vectors

    def _held(self, asked: list[tuple[int, Row]]) -> Iterator[tuple[int, Row, bytes]]:
        """Yield the given pairs of a number and a row, with the packed vectors that the object of the row has."""
        rest = iter(asked)
        while some := list(islice(rest, ASKED_ROWS)):
            with self._engine.read() as view:
                held = [held_vectors(view, row[:3], self._column) for _, row in some]
            yield from ((at, row, vectors) for (at, row), vectors in zip(some, held, strict=True))


def _is_empty(row: Row) -> bool:
    return row.vector is None and not row.text


def _is_due(row: Row | Refused) -> TypeGuard[Row]:
    return isinstance(row, Row) and row.vector is None and bool(row.text)
