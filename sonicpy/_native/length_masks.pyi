class LengthMasks:
    lengths: bytes | bytearray
    size_bytes: int

    def __init__(self, lengths: bytes | bytearray) -> None: ...
