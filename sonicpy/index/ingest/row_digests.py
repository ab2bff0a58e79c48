"""The digests of rows to push, and the rows whose objects hold just their text already."""

from collections.abc import Callable, Iterable, Sequence

from sonicpy._native.digest import digest_of, digests_of
from sonicpy.api.rows import Refused, Row
from sonicpy.index.ingest.named_texts import digest_rest, normal_row

ASKED_ROWS = 256
"""The most rows whose digests are looked up at once: other threads wait for a millisecond."""

Digest = bytes | UnicodeEncodeError | None
"""The digest of a row; None: it is refused; an error: its text is not Unicode."""
Changed = Callable[[list[Row | Refused], list[Digest]], list[int]]
"""Returns the places of the rows that an UPSERT may change, in order, from rows and their digests."""
HaveDigests = Callable[[str, str, Sequence[tuple[str, bytes]]], list[bool]]
"""Returns whether each of some objects of a bucket, by its name, holds the text of a digest."""
HoldsRow = Callable[[Row], bool]
"""Returns whether an object has just the tags, and the values and vectors, of a row."""
RulesOf = Callable[[str, str], int]
"""Returns the rules by which the texts of a bucket are cut."""


def row_digests(rows: list[Row | Refused], rules_of: RulesOf) -> list[Digest]:
    """Return the digests of rows, and bring the texts in `rows` into the form that digests are made of."""
    digests: list[Digest] = digests_of(rows, Row, rules_of)
    if None not in digests:
        return digests
    for place, row in enumerate(rows):
        if digests[place] is None and isinstance(row, Row):
            rows[place] = row = normal_row(row)
            try:
                rest = digest_rest(row.texts) if row.texts else b""
                digests[place] = digest_of(row.object, row.text, row.lang, rules_of(*row[:2]), rest)
            except UnicodeEncodeError as error:
                digests[place] = error
    return digests


def changed_rows(
    rows: Sequence[Row | Refused],
    digests: Sequence[Digest],
    places: Iterable[int] | None = None,
    *,
    have_digests: HaveDigests,
    holds_row: HoldsRow,
) -> list[int]:
    """Return the places of the rows to write, in order: all but those whose object is known to hold just their text,
    tags, values and vectors.

    Args:
        places: the places of the rows to look up; None: all.
        digests: the digest of each row.
        have_digests, holds_row: functions that look objects up.
    """
    places = range(len(rows)) if places is None else places
    asked: dict[tuple[str, str], list[tuple[int, tuple[str, bytes]]]] = {}
    with_others: list[int] = []
    for place in places:
        row, digest = rows[place], digests[place]
        if not isinstance(digest, bytes) or isinstance(row, Refused):
            continue
        asked.setdefault(row[:2], []).append((place, (row.object, digest)))
        if row.tags is not None or row.values is not None or row.vector is not None:
            with_others.append(place)
    unchanged: set[int] = set()
    for scope, ours in asked.items():
        for first in range(0, len(ours), ASKED_ROWS):
            some = ours[first : first + ASKED_ROWS]
            held = have_digests(*scope, [one for _, one in some])
            unchanged.update(place for (place, _), is_held in zip(some, held, strict=True) if is_held)
    for place in with_others:
        row = rows[place]
        if place in unchanged and isinstance(row, Row) and not holds_row(row):
            unchanged.remove(place)
    return [place for place in places if place not in unchanged]
