"""Embedders for `sonicpy.open(..., embed=...)` from models of other packages. The function of a package imports it.

sonicpy.open(path, embed=model2vec("minishlab/potion-base-8M"))
"""

from collections.abc import Callable, Iterable
from typing import Any


class Embedder:
    """A model in the form that `embed` of an index takes.

    Args:
        texts: a function that returns a vector for each text of a list.
        question: a function that returns a vector for each question; None: questions are embedded as texts are.
        column: the name of the column of vectors; "": the only column of a bucket.
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
    """Return an embedder for a model of sentence-transformers.

    Args:
        model: the name or the folder of the model, or a SentenceTransformer.
        options: options for `SentenceTransformer`, if `model` is a name or a folder.

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
    """Return an embedder for a model of fastembed (extra [fastembed]). Arguments and errors as in
    `sentence_transformers`."""
    if isinstance(model, str):
        from fastembed import TextEmbedding  # noqa: PLC0415

        model = TextEmbedding(model, **options)
    return Embedder(model.passage_embed, model.query_embed, column=column)


def model2vec(model: Any, *, column: str = "", **options: Any) -> Embedder:
    """Return an embedder for a model of model2vec (extra [model2vec]). Arguments and errors as in
    `sentence_transformers`."""
    if isinstance(model, str):
        from model2vec import StaticModel  # noqa: PLC0415

        model = StaticModel.from_pretrained(model, **options)
    return Embedder(model.encode, column=column)
