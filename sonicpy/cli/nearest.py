"""The known name that is nearest to a misspelt one."""

import importlib
from collections.abc import Callable, Iterable

NEAR_ENOUGH = 60.0
"""The least similarity of a suggested name, from 0 to 100; as for the keys of settings, a few typing errors are
allowed.
"""


def nearest(name: str, known: Iterable[str], prepared: Callable[[str], str] | None = None) -> str | None:
    """Return the known name that is most similar to a name; None: no known name is similar.

    Args:
        prepared: applied to names before they are compared, such as `str.casefold`.
    """
    process, fuzz = importlib.import_module("rapidfuzz.process"), importlib.import_module("rapidfuzz.fuzz")
    best = process.extractOne(name, list(known), scorer=fuzz.ratio, processor=prepared, score_cutoff=NEAR_ENOUGH)
    return None if best is None else str(best[0])
