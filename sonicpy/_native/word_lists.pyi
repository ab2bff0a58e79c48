class WordLists:
    """Values by key, each of which holds a list of words; all of them are dropped before there are too many."""

    def __init__(self, most: int) -> None: ...
    def clear(self) -> None:
        """Drop all values."""
