"""Filters, orders and facets over dicts: the reference implementation of sonicpy.filters and of the masks of a bucket.

A condition is a nested tuple, which this module writes as text and evaluates by itself.
"""

import math
import random
from dataclasses import dataclass, field
from typing import Any

RADIUS = 6_371_008.8
Condition = tuple[Any, ...]
COMPARED = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    "=": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    ">=": lambda one, other: one >= other,
    ">": lambda one, other: one > other,
}


@dataclass
class Thing:
    """An object: its words, its tags, its values; `age` rises in the order of first pushes."""

    name: str
    age: int
    words: set[str] = field(default_factory=set)
    tags: set[str] = field(default_factory=set)
    values: dict[str, int] = field(default_factory=dict)
    point: tuple[float, float] | None = None


def meets(condition: Condition, thing: Thing) -> bool:
    """Return whether an object meets a condition."""
    kind, *rest = condition
    match kind:
        case "tag":
            return rest[0] in thing.tags
        case "tags":
            return bool(thing.tags & set(rest[0]))
        case "has":
            return rest[0] in thing.values or (rest[0] == "place" and thing.point is not None)
        case "compare":
            name, sign, number = rest
            return name in thing.values and COMPARED[sign](thing.values[name], number)
        case "among":
            return thing.values.get(rest[0]) in rest[1]
        case "near":
            return thing.point is not None and distance(thing.point, rest[1]) <= rest[0]
        case "not":
            return not meets(rest[0], thing)
        case "and":
            return all(meets(each, thing) for each in rest[0])
    return any(meets(each, thing) for each in rest[0])


def text_of(condition: Condition, chance: random.Random) -> str:
    """Return the text of a condition, with random brackets and blanks where they are optional."""
    kind, *rest = condition
    blank = chance.choice(("", " "))
    match kind:
        case "tag":
            return quoted(rest[0])
        case "tags":
            return f"tag IN{blank}({f',{blank}'.join(map(quoted, rest[0]))})"
        case "has":
            return f"HAS {rest[0]}"
        case "compare":
            return f"{rest[0]}{blank}{rest[1]}{blank}{rest[2]}"
        case "among":
            return f"{rest[0]} IN ({f'{blank},'.join(map(str, rest[1]))})"
        case "near":
            meters, (latitude, longitude) = rest
            return f"place WITHIN {meters}{blank}m OF {latitude:.7f},{blank}{longitude:.7f}"
        case "not":
            return f"NOT {wrapped(rest[0], chance)}"
        case "and":
            return " AND ".join(wrapped(each, chance) for each in rest[0])
    return " OR ".join(wrapped(each, chance) for each in rest[0])


def wrapped(condition: Condition, chance: random.Random) -> str:
    text = text_of(condition, chance)
    return f"({text})" if condition[0] in ("and", "or") or chance.random() < 0.1 else text


def quoted(tag: str) -> str:
    if tag.replace(":", "").isalnum() and tag not in {"AND", "OR", "NOT", "IN", "HAS", "WITHIN", "OF"}:
        return tag
    return '"' + tag.replace("\\", "\\\\").replace('"', '\\"') + '"'


def distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the distance of two points in metres, by the haversine formula."""
    (a, b), (c, d) = (tuple(map(math.radians, point)) for point in (one, other))
    half = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * RADIUS * math.asin(min(1.0, math.sqrt(half)))


def in_order(things: list[Thing], sort: str) -> list[Thing]:
    """Return objects in the order of SORT; those without the value come last, the newest first."""
    newest = sorted(things, key=lambda thing: -thing.age)
    if sort == "newest":
        return newest
    if sort.startswith("distance"):
        latitude, longitude = map(float, sort.split()[2].split(","))
        held = [thing for thing in newest if thing.point is not None]
        near = sorted(held, key=lambda thing: distance(thing.point or (0, 0), (latitude, longitude)))
        return near + [thing for thing in newest if thing.point is None]
    name, sign = sort.removeprefix("-"), -1 if sort.startswith("-") else 1
    held = sorted((thing for thing in newest if name in thing.values), key=lambda thing: sign * thing.values[name])
    return held + [thing for thing in newest if name not in thing.values]


def tag_counts(things: list[Thing], prefix: str) -> dict[str, int]:
    """Return the number of objects that hold each tag with a prefix."""
    counts: dict[str, int] = {}
    for thing in things:
        for tag in thing.tags:
            if tag.startswith(prefix):
                counts[tag] = counts.get(tag, 0) + 1
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def range_counts(things: list[Thing], name: str, bounds: list[int]) -> list[tuple[int | None, int | None, int]]:
    """Return the number of objects with a value in each range, for ranges that have any."""
    lows, highs = [None, *bounds], [*bounds, None]
    found = []
    for low, high in zip(lows, highs, strict=True):
        values = [thing.values[name] for thing in things if name in thing.values]
        count = sum((low is None or value >= low) and (high is None or value < high) for value in values)
        if count:
            found.append((low, high, count))
    return found


def condition_by(chance: random.Random, tags: list[str], depth: int) -> Condition:
    """Return a random condition."""
    kinds = ("tag", "tag", "tags", "has", "compare", "compare", "among", "near")
    kind = chance.choice((*kinds, "not", "and", "and", "or", "or")) if depth else chance.choice(kinds)
    name = chance.choice(("price", "time", "nothing"))
    match kind:
        case "tag":
            return kind, chance.choice(tags)
        case "tags":
            return kind, chance.sample(tags, chance.randint(1, min(4, len(tags))))
        case "has":
            return kind, chance.choice(("price", "time", "place", "nothing"))
        case "compare":
            return kind, name, chance.choice(list(COMPARED)), chance.randint(-50, 50)
        case "among":
            return kind, name, [chance.randint(-50, 50) for _ in range(chance.randint(1, 9))]
        case "near":
            point = round(chance.uniform(-90, 90), 7), round(chance.uniform(-180, 180), 7)
            return kind, chance.choice((100_000, 3_000_000, 9_000_000)), point
        case "not":
            return kind, condition_by(chance, tags, depth - 1)
    return kind, [condition_by(chance, tags, depth - 1) for _ in range(chance.randint(2, 3))]
