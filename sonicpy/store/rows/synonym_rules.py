"""The synonyms of a collection: rows of `meta`, one with the rules, and one with their stamp, which readers compare.

A change holds the words of its rules after analysis, so that replay needs no lexer.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sonicpy._native.varint import DamagedBytes
from sonicpy.store.disk.blake import blake2b
from sonicpy.store.disk.table_numbers import META
from sonicpy.store.rows import uses
from sonicpy.store.rows.meta import uses_of

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction


STAMPS: Final = b"synonyms "
"""The prefix of the keys of stamps; the name of a collection follows."""
RULES: Final = b"rules of synonyms "
"""The prefix of the keys of rules; the name of a collection follows."""
STAMP_BYTES: Final = 8
RULES_MAX: Final = 10_000
"""The most rules of a collection."""
RULE_WORDS_MAX: Final = 16
"""The most words of a rule."""

Phrase = tuple[str, ...]
"""One or more words, in the form that they have in a bucket."""


class SynonymRule(NamedTuple):
    """A rule: words of a query for which other words are also looked for.

    Attributes:
        text: the rule as it was given.
        left: the phrases of a query for which others are looked for.
        right: the other phrases; (): each phrase of `left` also finds all others of `left`.
    """

    text: str
    left: tuple[Phrase, ...]
    right: tuple[Phrase, ...] = ()


def pack_synonyms(rules: Iterable[SynonymRule]) -> str:
    """Return rules as JSON: the text, the left and the right side of each."""
    return json.dumps(list(rules), ensure_ascii=False, separators=(",", ":"))


def unpack_synonyms(packed: str | bytes) -> list[SynonymRule]:
    """Return the rules that `pack_synonyms` packed. Raises DamagedBytes."""
    try:
        return [SynonymRule(text, _side(left), _side(right)) for text, left, right in json.loads(packed)]
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedBytes(f"rules of synonyms cannot be read: {error}") from error


def _side(phrases: Sequence[Sequence[str]]) -> tuple[Phrase, ...]:
    return tuple(map(tuple, phrases))


def stamp_of(transaction: "Transaction", collection: str) -> bytes | None:
    """Return the stamp of the synonyms of a collection; None: the collection has none."""
    return transaction.get(META, STAMPS + collection.encode())


def rules_of(transaction: "Transaction", collection: str) -> list[SynonymRule]:
    """Return the rules of a collection. Raises DamagedBytes."""
    row = transaction.get(META, RULES + collection.encode())
    return [] if row is None else unpack_synonyms(row)


def collections_with(transaction: "Transaction") -> list[str]:
    """Return the names of the collections that have synonyms."""
    return [key.removeprefix(STAMPS).decode("ascii", "replace") for key, _ in transaction.rows(META, STAMPS)]


def put_rules(transaction: "Transaction", collection: str, rules: Sequence[SynonymRule]) -> None:
    """Replace the rules of a collection. Raises StoreError if they cannot be written."""
    name = collection.encode()
    if not rules:
        transaction.delete(META, STAMPS + name)
        transaction.delete(META, RULES + name)
        return
    row = pack_synonyms(rules).encode()
    transaction.put(META, RULES + name, row)
    transaction.put(META, STAMPS + name, _stamp(row))


def synonym_faults(transaction: "Transaction") -> Iterator[str]:
    """Yield the faults of the rows of synonyms, one sentence each."""
    stamps = {key.removeprefix(STAMPS): row for key, row in transaction.rows(META, STAMPS)}
    rows = {key.removeprefix(RULES): row for key, row in transaction.rows(META, RULES)}
    for name in sorted(stamps.keys() | rows.keys()):
        if name not in stamps or name not in rows or stamps[name] != _stamp(rows[name]):
            yield f"the stamp of the synonyms of {name.decode('ascii', 'replace')} is not that of its rules"
            continue
        try:
            unpack_synonyms(rows[name])
        except DamagedBytes as error:
            yield f"{name.decode('ascii', 'replace')}: {error}"
    if rows and uses.SYNONYMS not in uses_of(transaction):
        yield "meta has synonyms, and its row 'uses' does not name them"


def _stamp(row: bytes) -> bytes:
    return blake2b(row, digest_size=STAMP_BYTES).digest()
