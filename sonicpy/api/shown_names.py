"""The public names of an object, for tab completion."""

from collections.abc import Set


def user_names(of: object, hidden: Set[str] = frozenset()) -> list[str]:
    """Return the public names of an object, sorted, without `hidden` ones."""
    return sorted(name for name in object.__dir__(of) if not name.startswith("_") and name not in hidden)
