"""The names that a store, a log, an export or an entry of a cluster may use beyond format 5: rules, fields, tables.

A name is noted where its first use is written, and never removed. A version that does not know a name refuses the
store, log, export or entry as a whole, in one sentence with the name: it never reads a part of newer data.
"""

from collections.abc import Iterable
from typing import Final

from sonicpy.errors import StoreError

FACTS: Final = "facts"
RULES_8: Final = "rules 8"
FIELD_RECORDS: Final = "fields"
DIGESTS: Final = "digests"
VECTORS: Final = "vectors"
TAGS: Final = "tags"
VALUES: Final = "values"
TEXTS: Final = "texts"
SYNONYMS: Final = "synonyms"
GRAPHLESS: Final = "graphless"
ORDER: Final = "order"
SMALL: Final = "small"

KNOWN: Final[dict[str, str]] = {
    FACTS: "the table `facts`: what holds for a bucket as a whole",
    RULES_8: "buckets whose texts are cut by the rules 8; records of PUSH that name the rules",
    FIELD_RECORDS: "records of kind 6, in the entries of a cluster's log: a mode and fields",
    DIGESTS: "the table `digests`: of the texts that UPSERT gave to objects; records of kind 8",
    VECTORS: "the table `vectors`: bits of vectors of objects; facts of kind 48; records of kind 12",
    TAGS: "tags of objects: the table `tags`, and rows of words and postings under numbers of buckets from 2**31 on",
    VALUES: "named values of objects: the table `columns`",
    TEXTS: "named texts of objects: rows of words, postings and tags under numbers of buckets from 3 * 2**30 on",
    SYNONYMS: "synonyms of collections: two rows of `meta` for each; records of kind 10",
    GRAPHLESS: "small buckets that were consolidated without a word graph",
    ORDER: "the table `orders`: of the words of objects; facts of kind 56",
    SMALL: "the table `small`: the rows of small buckets",
}
"""Name -> its meaning, for error messages and the documentation."""
OF_ROWS: Final = frozenset({GRAPHLESS, SMALL})
"""Names about the rows of a store, which an export does not have."""


def unknown(names: Iterable[str]) -> list[str]:
    """Return the names that are not in this version's table, sorted."""
    return sorted(set(names) - KNOWN.keys())


def check_known(names: Iterable[str], holder: str) -> None:
    """Raise StoreError if a name is not in KNOWN.

    Args:
        holder: the thing that uses the names, for the message, such as "the store".
    """
    if strange := unknown(names):
        raise StoreError(f"{holder} uses {listed(strange)}, unknown to this sonicpy: {INSTALL}")


INSTALL: Final = "install the version that wrote it, or a later one"
"""The advice about a name that is not known."""


def listed(names: Iterable[str]) -> str:
    """Return names as an enumeration for a sentence."""
    return " and ".join(map(repr, names))
