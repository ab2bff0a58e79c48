"""Measures compared with their formulas, written out."""

import builtins
import importlib
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy.errors import EvaluationError
from sonicpy.evaluation.measures import Measures, load, measure
from tests.support.examples import examples

documents = [f"d{number}" for number in range(130)]
rankings = st.lists(st.sampled_from(documents), max_size=110, unique=True)
grades = st.dictionaries(st.sampled_from(documents), st.integers(1, 3), min_size=1, max_size=6)


def by_formula(relevant: dict[str, int], answers: list[str]) -> tuple[float, float, float]:
    gains = [relevant.get(name, 0) / math.log2(place + 2) for place, name in enumerate(answers[:10])]
    best = [grade / math.log2(place + 2) for place, grade in enumerate(sorted(relevant.values(), reverse=True)[:10])]
    first = next((1 / place for place, name in enumerate(answers[:10], 1) if name in relevant), 0.0)
    return sum(gains) / sum(best), first, len(relevant.keys() & set(answers[:100])) / len(relevant)


@settings(deadline=None, max_examples=examples(60))
@given(st.dictionaries(st.sampled_from("abc"), st.tuples(grades, rankings), min_size=1))
def test_against_the_formulas(judged: dict[str, tuple[dict[str, int], list[str]]]) -> None:
    found = measure({query: of[0] for query, of in judged.items()}, {query: of[1] for query, of in judged.items()})
    expected = [by_formula(*of) for of in judged.values()]
    means = Measures(*(sum(column) / len(expected) for column in zip(*expected, strict=True)))
    assert found.ndcg_10 == pytest.approx(means.ndcg_10)
    assert found.mrr_10 == pytest.approx(means.mrr_10)
    assert found.recall_100 == pytest.approx(means.recall_100)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise builtins.ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(EvaluationError, match=r"pip install 'sonicpy-search\[eval\]'"):
        load()
