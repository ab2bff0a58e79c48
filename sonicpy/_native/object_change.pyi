class ObjectChange:
    word_keys: list[bytes]
    blocks: list[tuple[bytes, bytes]]
    length_change: int
    live_change: int
    turned: int
    def term_ids(self) -> list[int]: ...
    def changed_words(self) -> list[bytes]: ...
