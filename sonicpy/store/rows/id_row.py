"""The ids of the terms that one object has beside its words, as a row: v(each id minus the one before)."""

from itertools import accumulate

from sonicpy._native.varint import pack_varints, unpack_varints


class IdRow:
    """The row of one object, with the methods of a `TagRow`.

    Args:
        packed: the row in the table; b"": the object has none.
    """

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def of(self, place: int) -> list[int]:
        """Return the ids in rising order; `place` is not used. Raises DamagedBytes."""
        return list(accumulate(unpack_varints(self._packed)))

    def put(self, place: int, ids: list[int]) -> None:
        """Replace the ids; the new ones are in rising order, and `place` is not used."""
        self._packed = pack_varints([after - before for before, after in zip([0, *ids], ids, strict=False)])

    def places(self) -> list[int]:
        """Return [0], the place of the object, if it has ids, else []."""
        return [0] if self._packed else []

    def pack(self) -> bytes:
        """Return the row as it is stored."""
        return self._packed
