"""Bits that are set in the number of a bucket for the rows that its objects have beside their words."""

from typing import Final

TAGS_MARK: Final = 1 << 31
"""The bit that is set in the number of a bucket in the keys of tags."""
VALUES_MARK: Final = 1 << 30
"""The bit that is set in the number of a bucket to cache its values; no key of a row has it alone."""
TEXTS_MARK: Final = TAGS_MARK | VALUES_MARK
"""The bits that are set in the number of a bucket in the keys of named texts."""
BESIDE_MARKS: Final = (TAGS_MARK, TEXTS_MARK)
"""The marks of the rows beside those of words, which are deleted and restored with their bucket."""
