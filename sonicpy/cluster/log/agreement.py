"""The agreement of the nodes of a cluster on the features that they write; see `versions`."""

from dataclasses import dataclass

FIRST = 1
"""The version that a cluster writes until it is upgraded."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """An agreement of the nodes of a cluster on the features that they write.

    Attributes:
        version: the version of entries.
        names: the features, from `uses.KNOWN`, that their records may use.
    """

    version: int = FIRST
    names: frozenset[str] = frozenset()
