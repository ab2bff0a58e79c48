from typing import TypeVar

_HitType = TypeVar("_HitType", bound=str)

def made_hits(
    kind: type[_HitType], attribute: str, names: tuple[str, ...], scores: tuple[float, ...] | None
) -> list[_HitType]: ...
