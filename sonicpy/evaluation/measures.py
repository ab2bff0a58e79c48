"""nDCG, MRR and recall of ranked lists, by pytrec_eval, a wrapper of TREC's trec_eval (extra [eval])."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonicpy.errors import EvaluationError

PACKAGE = "pytrec_eval"
NDCG, RECALL, RECIPROCAL = "ndcg_cut_10", "recall_100", "recip_rank"
RANKED_FIRST = 10
"""The number of first places that count for MRR."""


@dataclass(frozen=True, slots=True)
class Measures:
    """Measures of ranked lists, each the mean over all queries."""

    ndcg_10: float
    mrr_10: float
    recall_100: float


def measure(relevant: Mapping[str, Mapping[str, int]], answers: Mapping[str, Sequence[str]]) -> Measures:
    """Return the measures of answers.

    Args:
        relevant: query -> document -> grade; documents that are not listed are not relevant.
        answers: query -> documents, best first; a query that is missing, or has none, counts as 0.

    Raises:
        EvaluationError: the extra [eval] is not installed.
    """
    library = load()
    judged = {query: dict(grades) for query, grades in relevant.items()}
    # The program sorts by score, and by name among equals: negative places as scores keep the order.
    runs = {
        query: {name: float(-place) for place, name in enumerate(names)} for query, names in answers.items() if names
    }
    firsts = {query: dict(list(run.items())[:RANKED_FIRST]) for query, run in runs.items()}
    whole = library.RelevanceEvaluator(judged, {"ndcg_cut.10", "recall.100"}).evaluate(runs)
    first = library.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(firsts)
    count = len(judged)
    return Measures(
        sum(figures[NDCG] for figures in whole.values()) / count,
        sum(figures[RECIPROCAL] for figures in first.values()) / count,
        sum(figures[RECALL] for figures in whole.values()) / count,
    )


def load() -> Any:
    """Return the module pytrec_eval. Raises EvaluationError if it is not installed."""
    try:
        return importlib.import_module(PACKAGE)
    except ImportError as error:
        raise EvaluationError(
            f"judging answers needs the package {PACKAGE}: pip install 'sonicpy-search[eval]'"
        ) from error
