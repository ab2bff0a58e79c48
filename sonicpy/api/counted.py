"""The things that `count` can count, which the names given and `of` decide."""

from typing import Any, Literal

from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown

Counted = Literal["buckets", "words", "objects"]

COUNTED: dict[str, tuple[Counted, ...]] = {
    "a collection": ("buckets", "objects"),
    "a bucket": ("words", "objects"),
    "an object": ("words",),
}
"""Things named -> kinds of things that can be counted in them; without `of`, the first, as COUNT of the channel
does.
"""


def counted(bucket: Any, object: Any, of: Any = None) -> Counted:
    """Return the kind of thing to count.

    Raises:
        InvalidArgument: an object is given without its bucket, or `of` does not fit the names.
    """
    need_no(object if bucket is None else None)
    level = "a collection" if bucket is None else "a bucket" if object is None else "an object"
    for choice in COUNTED[level]:
        if of is None or (isinstance(of, str) and of == choice):
            return choice
    allowed = " and ".join(f'"{choice}"' for choice in COUNTED[level])
    raise InvalidArgument(f"of is {shown(of)}; allowed for {level} is {allowed}")


def need_no(object: Any) -> None:
    """Raise InvalidArgument for an object without its bucket."""
    if object is not None:
        raise InvalidArgument(f"the object {shown(object)} is given without its bucket")
