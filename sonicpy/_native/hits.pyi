from typing import TypeVar

HitType = TypeVar("HitType", bound=str)

def made_hits(
    kind: type[HitType], attribute: str, names: tuple[str, ...], scores: tuple[float, ...] | None
) -> list[HitType]: ...
