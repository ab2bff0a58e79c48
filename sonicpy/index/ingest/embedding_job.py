"""The job of the worker process of an embedder: it loads the function once, and makes the vectors of texts."""

from functools import lru_cache
from typing import cast

from sonicpy.api.shown import module_at
from sonicpy.errors import SonicError, StoreError
from sonicpy.index.ingest.given_vectors import Embed, embedded, embedded_question


def embed_texts(setting: str, texts: list[str], *, are_questions: bool) -> list[str]:
    """Return the vectors of texts, in the form for PUSH, or of questions, in that for QUERY.

    Args:
        setting: `module:function`, or the absolute path of a file in the place of the module.

    Raises:
        SonicError: the function cannot be imported, fails, or makes no vectors.
    """
    embed = _function(setting)
    try:
        return [embedded_question(embed, text) for text in texts] if are_questions else embedded(embed, texts)
    except SonicError:
        raise
    except Exception as error:  # noqa: BLE001 - of a function that the settings name
        raise StoreError(f"server.embed = {setting!r} failed: {type(error).__name__}: {error}") from None


@lru_cache(maxsize=1)
def _function(setting: str) -> Embed:
    place, _, name = setting.rpartition(":")
    try:
        return cast(Embed, getattr(module_at(place), name))
    except (ImportError, AttributeError, OSError, ValueError, SyntaxError) as error:
        raise StoreError(f"server.embed = {setting!r} cannot be imported: {error}") from None
