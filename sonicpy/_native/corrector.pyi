EDGE_BUDGET: int

class Corrections:
    @property
    def matches(self) -> list[tuple[bytes, int]]: ...
    @property
    def whole(self) -> bool: ...
