"""The verbs that a key may allow, by the modes of the channel."""

from collections.abc import Iterable

from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown

SEARCH = frozenset(
    {"query", "suggest", "explain", "facets", "similar", "list", "exists", "objects", "buckets", "collections"}
)
INGEST = frozenset({"push", "upsert", "pop", "flush", "tag", "count", "synonyms"})
CONTROL = frozenset({"trigger", "info", "stats", "verify"})
GROUPS = {"search": SEARCH, "ingest": INGEST, "control": CONTROL, "all": SEARCH | INGEST | CONTROL}
"""Name of a group -> its verbs."""
VERBS = GROUPS["all"]
FILTERED = frozenset({"query", "suggest", "facets"})
"""Verbs whose answers a fixed filter can restrict; a key with a filter allows no other verb."""


def verbs_of(names: Iterable[object]) -> frozenset[str]:
    """Return the verbs with these names, and those of the named groups.

    Raises:
        InvalidArgument: a name is neither a verb nor a group, or there is no name.
    """
    found: set[str] = set()
    for name in names:
        if not isinstance(name, str) or (name not in VERBS and name not in GROUPS):
            raise InvalidArgument(
                f"the verb {shown(name)} is not known; allowed are {', '.join(sorted(VERBS))}, and the groups "
                f"{', '.join(GROUPS)}"
            )
        found |= GROUPS.get(name, {name})
    if not found:
        raise InvalidArgument("a key without verbs allows nothing; allowed is at least one verb")
    return frozenset(found)
