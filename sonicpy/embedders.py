"""Embedders for `sonicpy.open(..., embed=...)`, of models of other packages; each package is imported by its function.

sonicpy.open(path, embed=model2vec("minishlab/potion-base-8M"))
"""

from collections.abc import Callable, Iterable
from typing import Any


class Embedder:
    """A model as `embed` of an index.

    Args:
        texts: returns a vector for each text.
        question: the same for questions; None: they are embedded as texts are.
        column: the name of the column of vectors; "": the only one of a bucket.
    """

    def __init__(
        self,
        texts: Callable[[list[str]], Iterable[Any]],
        question: Callable[[list[str]], Iterable[Any]] | None = None,
        *,
        column: str = "",
    ) -> None:
        self._texts = texts
        self._question = question or texts
        self.column = column

    def __call__(self, texts: list[str]) -> list[Any]:
        """Return a vector for each text."""
        return list(self._texts(texts))

    def question(self, texts: list[str]) -> list[Any]:
        """Return a vector for each question."""
        return list(self._question(texts))


def sentence_transformers(model: Any, *, column: str = "", **options: Any) -> Embedder:
    """Return the embedder of a model of sentence-transformers.

    Args:
        model: its name or folder, or a SentenceTransformer.
        options: the options of `SentenceTransformer`, for a name or a folder.

    Raises:
        ImportError: the package is not installed (extra [sentence-transformers]).
    """
    if isinstance(model, str):
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415

        model = SentenceTransformer(model, **options)
    asks = getattr(model, "encode_query", model.encode)
    texts = getattr(model, "encode_document", model.encode)
    return Embedder(texts, asks, column=column)


def fastembed(model: Any, *, column: str = "", **options: Any) -> Embedder:
    """Return the embedder of a model of fastembed. Args and errors as `sentence_transformers`; extra [fastembed]."""
    if isinstance(model, str):
        from fastembed import TextEmbedding  # noqa: PLC0415

        model = TextEmbedding(model, **options)
    return Embedder(model.passage_embed, model.query_embed, column=column)


def model2vec(model: Any, *, column: str = "", **options: Any) -> Embedder:
    """Return the embedder of a model of model2vec. Args and errors as `sentence_transformers`; extra [model2vec]."""
    if isinstance(model, str):
        from model2vec import StaticModel  # noqa: PLC0415

        model = StaticModel.from_pretrained(model, **options)
    return Embedder(model.encode, column=column)
