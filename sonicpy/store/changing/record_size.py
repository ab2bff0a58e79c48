"""Limits the size of a change: a longer record cannot be written to the log, and would take the changes before it with
it."""

from sonicpy.errors import InvalidArgument
from sonicpy.store.disk.log import RECORD_MAX_BYTES


def check_size(record: bytes) -> None:
    """Raise InvalidArgument if the record of a change is longer than the log takes."""
    if len(record) > RECORD_MAX_BYTES:
        raise InvalidArgument(
            f"a change of {len(record)} bytes of terms is refused: at most {RECORD_MAX_BYTES} are accepted; "
            "split the text"
        )
