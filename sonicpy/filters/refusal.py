"""The error of a filter, an order or facets that cannot be read."""

from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown_part
from sonicpy.tags import TAG, tag_of


def refused(message: str) -> InvalidArgument:
    """Return the error with a message, which clients of a server get, too."""
    return InvalidArgument(message, "invalid_meta_value", message)


def tag_in(argument: str, tag: str) -> str:
    """Return a tag of an argument in its canonical form. Raises InvalidArgument, with the argument, if it is no tag."""
    try:
        return tag_of(tag)
    except InvalidArgument:
        raise refused(f"{argument} has {shown_part(tag)} as a tag; allowed are {TAG}") from None
