from collections.abc import Callable
from typing import Any

DIGEST_BYTES: int

def normal_text(text: str) -> str: ...
def digest_of(object: str, text: str, lang: str | None, rules: int, rest: bytes = b"") -> bytes: ...
def digests_of(
    rows: list[Any], kind: type, rules_of: Callable[[str, str], int]
) -> list[bytes | UnicodeEncodeError | None]: ...
