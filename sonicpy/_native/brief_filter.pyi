from collections.abc import Callable, Container
from typing import Any

class BriefFilters:
    def __init__(
        self,
        has_tag: type,
        in_range: type,
        not_met: type,
        all_of: type,
        keywords: Container[str],
        is_name: Callable[[str], bool],
        tag_max: int,
        length_max: int,
        other: Callable[[str], Any],
    ) -> None: ...
    def __contains__(self, text: object) -> bool: ...
    def parse(self, text: str) -> Any: ...
    def read(self, text: str) -> Any: ...
