"""Orders of answers, boosts and facets as objects: the arguments of SORT, BOOST, OF and RANGES."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from sonicpy.errors import InvalidArgument
from sonicpy.filters.conditions import INT_MAX, INT_MIN
from sonicpy.filters.refusal import refused
from sonicpy.ids import plain_str, shown, shown_part
from sonicpy.tags import tag_in
from sonicpy.values import NAME_RULE, is_name, number_in_value, point_of, unpack_point

SCORE, NEWEST = "score", "newest"
DISTANCE = "distance"
FACETS_MAX = 16
BOUNDS_MAX = 64


NUMBER = re.compile(r"-?\d{1,19}")


class Sort(NamedTuple):
    """An order of objects.

    Attributes:
        name: the name of the values that order the objects; or "score", "newest".
        descending: whether the highest value comes first.
        point: (latitude, longitude) in units of 1e-7 degree: the values are points, the nearest first. None: the values
            are numbers.
    """

    name: str
    descending: bool = False
    point: tuple[int, int] | None = None


class Facet(NamedTuple):
    """A facet: tags, or values in ranges, whose objects are counted.

    Attributes:
        name: the beginning of the tags ("": all tags), or the name of the values.
        bounds: the bounds of the ranges of values, rising; a range reaches from one bound to the next one, which it
            excludes. None: tags are counted.
    """

    name: str
    bounds: tuple[int, ...] | None = None


@lru_cache(maxsize=256)
def parse_sort(text: str) -> Sort:
    """Return the order that a text names: `score`, `newest`, `price`, `-price`, `distance place 47.21,-1.55`.

    Raises:
        InvalidArgument: the text names no order.
    """
    words = text.split()
    if len(words) >= 3 and words[0] == DISTANCE:
        return Sort(_name_in("sort", words[1]), point=_point_of("".join(words[2:])))
    if len(words) != 1 or words[0] in ("-", f"-{SCORE}", f"-{NEWEST}"):
        raise refused(
            f"sort is {shown(text)}; allowed are score, newest, a name of values such as price, -price for the highest "
            "first, and distance place 47.21,-1.55"
        )
    (word,) = words
    return Sort(_name_in("sort", word.removeprefix("-")), word.startswith("-"))


def sorts_by_score(text: str) -> bool:
    """Return whether the order that a text names is that of scores. Raises the errors of `parse_sort`."""
    return parse_sort(text).name == SCORE


def _name_in(option: str, name: str) -> str:
    """Return a name of values. Raises InvalidArgument, with the name of the option, if no values can have that name."""
    if is_name(name):
        return name
    raise refused(f"{option} has {shown(name)} as a name of values; allowed is one name of {NAME_RULE}")


def _point_of(text: str) -> tuple[int, int]:
    try:
        return unpack_point(point_of(text.replace(",", "/")))
    except ValueError:
        raise refused(
            f"sort has the place {shown(text)}; allowed are degrees of latitude and longitude such as 47.21,-1.55"
        ) from None


def sort_text(value: Any) -> str:
    """Return the text of an order that a program gave. Raises InvalidArgument if it names no order."""
    return _checked("sort", value, parse_sort)


# -- boosts ------------------------------------------------------------------------------------------------------------

HALF_LIFE_MOST = 2.0
"""The largest factor by which a time can multiply a score."""
SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
HALF_LIFE = re.compile(r"([1-9]\d{0,8})([smhdw])")


class Boost(NamedTuple):
    """The values whose size or age multiplies scores by a factor.

    Attributes:
        name: the name of the values that raise scores.
        half_life: a number of seconds; the values are times: the newest time of the bucket doubles a score, and one
            that is older by the half-life raises it by half as much. None: a value v multiplies a score by ((1 + v) /
            (1 + the highest value)) ** (3 / 8), so that a value 1,000 times as high outweighs a text that is twelve
            times as good.
    """

    name: str
    half_life: int | None = None

    @property
    def most(self) -> float:
        """The largest factor that an object can get."""
        return 1.0 if self.half_life is None else HALF_LIFE_MOST


def highest_factor(boost: str | None) -> float:
    """Return the largest factor of a score, 1.0 without a boost. Raises the errors of `parse_boost`."""
    return 1.0 if boost is None else parse_boost(boost).most


@lru_cache(maxsize=256)
def parse_boost(text: str) -> Boost:
    """Return the boost that a text names: `population`, or times with a half-life: `time 7d`.

    Raises:
        InvalidArgument: the text names no boost.
    """
    words = text.split()
    half = HALF_LIFE.fullmatch(words[1]) if len(words) == 2 else None
    if len(words) != 1 and half is None:
        raise refused(
            f"boost is {shown(text)}; allowed are a name of values such as population, and times with a half-life "
            "in s, m, h, d or w such as time 7d"
        )
    return Boost(_name_in("boost", words[0]), None if half is None else int(half[1]) * SECONDS[half[2]])


def boost_text(value: Any) -> str:
    """Return the text of a boost that a program gave. Raises InvalidArgument if it names no boost."""
    return _checked("boost", value, parse_boost)


# -- facets ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def parse_of(text: str, argument: str = "of") -> tuple[Facet, ...]:
    """Return the facets that a text names: beginnings of tags with a star, such as `size:*, color:*`; `*`: all tags.

    Raises:
        InvalidArgument: the text names no facets.
    """
    names = [name.strip() for name in text.split(",")]
    if not all(name.endswith("*") and "*" not in name[:-1] for name in names):
        allowed = "beginnings of tags with a star, such as size:*, color:*"
        raise refused(f"{argument} is {shown(text)}; allowed are {allowed}")
    return _bounded([Facet(tag_in(argument, name[:-1]) if name != "*" else "") for name in names])


@lru_cache(maxsize=256)
def parse_ranges(text: str) -> tuple[Facet, ...]:
    """Return the facets that a text names: values with bounds, such as `price: 0,1000,5000; time: 0`.

    Raises:
        InvalidArgument: the text names no facets.
    """
    found = []
    for part in text.split(";"):
        name, colon, numbers = part.partition(":")
        bounds = [number.strip() for number in numbers.split(",")]
        if not colon or not name.strip() or not all(NUMBER.fullmatch(bound) for bound in bounds):
            raise refused(
                f"ranges is {shown(text)}; allowed are names of values with bounds, such as price: 0,1000,5000"
            )
        found.append(_facet(_name_in("ranges", name.strip()), [int(bound) for bound in bounds]))
    return _bounded(found)


def of_text(value: Any) -> str:
    """Return the text of OF for facets that a program gave. Raises InvalidArgument if it names no facets."""
    return _checked("of", value, parse_of)


def ranges_text(value: Any) -> str:
    """Return the text of RANGES for facets that a program gave. Raises InvalidArgument if it names no facets."""
    return _checked("ranges", value, parse_ranges)


def facets_texts(facets: Any) -> tuple[str | None, str | None]:
    """Return the texts of OF and RANGES for facets that a program gave: a list of beginnings of tags such as "size:*",
    or a dict of these, and of names of values with their bounds: {"size:*": None, "price": [0, 1000]}.

    Raises:
        InvalidArgument: the argument names no facets.
    """
    listed = [facets] if isinstance(facets, str) else facets
    if not isinstance(listed, list | tuple | Mapping) or not all(isinstance(name, str) for name in listed):
        raise refused(f"facets is {shown(facets)}; allowed are a list of beginnings such as 'size:*', and a dict")
    given = listed if isinstance(listed, Mapping) else dict.fromkeys(listed)
    tags = [name for name, bounds in given.items() if bounds is None]
    ranges = [_range_text(name, bounds) for name, bounds in given.items() if bounds is not None]
    texts = (",".join(tags) or None, ";".join(ranges) or None)
    if tags:
        parse_of(",".join(tags), "facets")
    facets_of(None, texts[1])
    return texts


def facets_of(of: str | None, ranges: str | None) -> tuple[Facet, ...]:
    """Return the facets that OF and RANGES name together. Raises InvalidArgument if a text names no facets."""
    return (*(parse_of(of) if of else ()), *(parse_ranges(ranges) if ranges else ()))


def _checked(name: str, value: Any, parse: Callable[[str], Any]) -> str:
    if not isinstance(value, str):
        raise refused(f"{name} is {shown(value)}; allowed is a str")
    text = plain_str(value)
    parse(text)
    return text


def _range_text(name: str, bounds: Any) -> str:
    if not isinstance(bounds, list | tuple | range):
        raise _wrong_bounds(name, shown_part(bounds))
    numbers = [number_in_value(bound) for bound in bounds]
    if None in numbers or not numbers:
        raise _wrong_bounds(name, shown_part(bounds[numbers.index(None)]) if numbers else "no bound")
    return f"{plain_str(name)}: {','.join(map(str, numbers))}"


def _wrong_bounds(name: str, found: str) -> InvalidArgument:
    allowed = "a list of whole numbers of 64 bits (floats only below 2**53), dates and times, and None"
    return refused(f"facets has {found} for {shown(name)}; allowed are {allowed}")


def _listed(bounds: list[int]) -> str:
    return shown(",".join(map(shown, bounds[: BOUNDS_MAX + 1])))


def _facet(name: str, bounds: list[int]) -> Facet:
    if len(bounds) > BOUNDS_MAX or bounds != sorted(set(bounds)):
        raise refused(f"ranges has the bounds {_listed(bounds)}; allowed are up to {BOUNDS_MAX} numbers that rise")
    if not all(INT_MIN <= bound <= INT_MAX for bound in bounds):
        raise refused(f"ranges has the bounds {_listed(bounds)}; allowed are numbers of 64 bits")
    return Facet(name, tuple(bounds))


def _bounded(facets: list[Facet]) -> tuple[Facet, ...]:
    if len(facets) > FACETS_MAX:
        raise refused(f"{len(facets)} facets are asked for; allowed are {FACETS_MAX} in one question")
    return tuple(facets)
