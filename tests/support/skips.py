"""The skipped tests, in one line for each kind of reason, so that the summary ends with the failures."""

import re
from collections import Counter
from collections.abc import Iterable

KINDS = {
    r"\.\./shared/data": "files of real text in ../shared/data",
    r"^no Sonic": "the original Sonic as a program",
    r"\bextras?\b|pip install|importorskip|could not import|is not installed|^needs httpx": "packages of an extra",
    r"^needs (bash|cargo|gcc|node|systemd|auditwheel|a C compiler|a NATS server|Linux and a C compiler)": "a program",
    r"/proc|Linux|prlimit|IPv6|system|right|root|user|pipes|parent": "something of the system or its rights",
}
"""Pattern of a reason -> the missing part; the first match counts."""
OTHERS = "other reasons"


def kind_of(reason: str) -> str:
    """Return the missing part of a test that was skipped for this reason."""
    return next((kind for pattern, kind in KINDS.items() if re.search(pattern, reason)), OTHERS)


def lines_of(reasons: Iterable[str]) -> list[str]:
    """Return a line for each kind of reasons, the most frequent first."""
    counts = Counter(kind_of(reason.removeprefix("Skipped: ")) for reason in reasons)
    return [f"{count} skipped for {why(kind)}" for kind, count in counts.most_common()]


def why(kind: str) -> str:
    """Return the end of the line about a kind."""
    return kind if kind == OTHERS else f"lack of {kind}"
