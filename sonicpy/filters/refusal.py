"""The error of a filter, an order or facets that cannot be read."""

from sonicpy.errors import InvalidArgument


def refused(message: str) -> InvalidArgument:
    """Return the error with a message, which clients of a server get, too."""
    return InvalidArgument(message, "invalid_meta_value", message)
