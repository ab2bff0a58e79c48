"""The error of a filter, an order or facets that cannot be read."""

from sonicpy.errors import InvalidArgument


def refused(message: str) -> InvalidArgument:
    """Return the error, whose sentence reaches clients, too."""
    return InvalidArgument(message, "invalid_meta_value", message)
