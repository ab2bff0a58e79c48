"""Groups of an answer over dicts: the reference implementation of sonicpy.index.search.value_groups."""

from collections.abc import Iterable

from tests.reference.filters import Thing

Row = tuple[str, int | str | None]
"""The name of an object, and its group; None: the object is a group of its own."""


def groups_of(thing: Thing, group: str) -> list[int | str]:
    """Return the groups of an object: its tags with a prefix, or its value."""
    if group.endswith((":", "*")):
        beginning = group.removesuffix("*")
        return sorted((tag for tag in thing.tags if tag.startswith(beginning)), key=lambda tag: tag.encode())
    if group == "place":
        return [] if thing.point is None else ["/".join(map(degrees, thing.point))]
    return [thing.values[group]] if group in thing.values else []


def degrees(number: float) -> str:
    """Return degrees as answers show them: without an exponent and without trailing zeros."""
    return f"{number:.7f}".rstrip("0").rstrip(".")


def best_of_groups(things: Iterable[Thing], group: str) -> list[Row]:
    """Return the first object of each group, given the objects in the order of an answer."""
    rows: list[Row] = []
    seen: set[int | str] = set()
    for thing in things:
        keys = groups_of(thing, group)
        if not keys:
            rows.append((thing.name, None))
        for key in keys:
            if key not in seen:
                seen.add(key)
                rows.append((thing.name, key))
    return rows
