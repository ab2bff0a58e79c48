"""The job of the worker process of an embedder: it loads the function once, and makes the vectors of texts."""

from functools import lru_cache
from typing import cast

from sonicpy.api.shown import module_at
from sonicpy.errors import SonicError, StoreError
from sonicpy.index.ingest.given_vectors import Embed, check_embedder, embedded, embedded_question


def embed_texts(setting: str, texts: list[str], *, are_questions: bool) -> list[str | SonicError]:
    """Return the vectors of texts, in the form for PUSH, or of questions, in that for QUERY; or the reason why there is
    no vector of a text: the function failed, or made none.

    Args:
        setting: `module:function`, or the absolute path of a file in the place of the module.
        are_questions: whether the texts are questions.

    Raises:
        StoreError: the function cannot be imported.
    """
    embed = _function(setting)
    try:
        return [embedded_question(embed, text) for text in texts] if are_questions else [*embedded(embed, texts)]
    except Exception as error:  # noqa: BLE001 - of a function that the settings name
        if len(texts) > 1:  # each is of another client, perhaps
            return [embed_texts(setting, [text], are_questions=are_questions)[0] for text in texts]
        if isinstance(error, SonicError):
            return [error]
        return [StoreError(f"server.embed = {setting!r} failed: {type(error).__name__}: {error}")]


def column_of(setting: str) -> str:
    """Return the name of the column of vectors that a function fills; "": the only one. Raises as `embed_texts`."""
    return str(getattr(_function(setting), "column", ""))


@lru_cache(maxsize=1)
def _function(setting: str) -> Embed:
    place, _, name = setting.rpartition(":")
    try:
        embed = getattr(module_at(place), name)
        check_embedder(embed)
    except Exception as error:  # noqa: BLE001 - of a module that the settings name
        reason = str(error) if isinstance(error, SonicError | ImportError) else f"{type(error).__name__}: {error}"
        raise StoreError(f"server.embed = {setting!r} cannot be imported: {reason}") from None
    return cast(Embed, embed)
