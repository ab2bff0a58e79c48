"""The bits that mark the number of a bucket for rows that its objects have beside their words."""

from typing import Final

TAGS_MARK: Final = 1 << 31
"""The number of the rows of tags is that of their bucket and this bit."""
VALUES_MARK: Final = 1 << 30
"""The bit of the number under which values are cached; no row has it."""
TEXTS_MARK: Final = TAGS_MARK | VALUES_MARK
"""The number of the rows of named texts is that of their bucket and these bits."""
BESIDE_MARKS: Final = (TAGS_MARK, TEXTS_MARK)
"""The marks of the rows beside those of words, which are deleted and restored with their bucket."""
