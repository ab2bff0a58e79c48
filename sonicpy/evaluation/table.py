"""Writes figures, one line for each collection or file, as text or as JSON."""

import json
from dataclasses import asdict

from sonicpy.evaluation.language_scores import LanguageScores
from sonicpy.evaluation.relevance import Relevance
from sonicpy.evaluation.typos import Corrected

Scores = Relevance | Corrected | LanguageScores


def as_line(figures: Scores) -> str:
    """Return the figures as one line of text."""
    if isinstance(figures, Relevance):
        return _line(
            figures.name,
            f"{figures.documents} documents, {figures.queries} queries",
            f"nDCG@10 {figures.ndcg_10:.4f}",
            f"MRR@10 {figures.mrr_10:.4f}",
            f"Recall@100 {figures.recall_100:.4f}",
            f"empty {figures.empty}",
            f"{figures.query_us:.0f} us a query",
        )
    if isinstance(figures, Corrected):
        return _line(
            figures.name,
            f"{figures.words} words, {figures.pairs} typos",
            f"suggested {figures.suggested:.1%}",
            f"first {figures.first:.1%}",
            f"found {figures.found:.1%}",
            f"{figures.suggest_us:.0f} us a suggestion",
            f"{figures.query_us:.0f} us a query",
        )
    guessed = ", ".join(f"{share:.1%} at {size}" for size, share in figures.guessed.items())
    return _line(
        figures.name,
        f"{figures.languages} languages, {figures.sentences} sentences",
        f"found {figures.found:.1%}",
        f"inside words {figures.found_inside:.1%}",
        f"empty {figures.empty}",
        f"{figures.query_us:.0f} us a query",
        *([f"guessed {guessed} bytes", f"{figures.guess_us:.1f} us a guess"] if guessed else []),
    )


def as_json(figures: Scores) -> str:
    """Return the figures as one line of JSON; the value of "kind" is relevance, typos or languages."""
    kinds = {Relevance: "relevance", Corrected: "typos", LanguageScores: "languages"}
    return json.dumps({"kind": kinds[type(figures)], **asdict(figures)}, ensure_ascii=False)


def _line(name: str, *parts: str) -> str:
    return f"{name}: {'  '.join(parts)}"
