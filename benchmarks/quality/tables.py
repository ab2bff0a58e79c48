"""Results as Markdown tables."""

from collections.abc import Iterable, Mapping, Sequence

from sonicpy.evaluation.language_scores import LanguageScores
from sonicpy.evaluation.relevance import Relevance
from sonicpy.evaluation.typos import Corrected


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with a head; all columns but the first are aligned right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def relevance_table(by_system: Mapping[str, Sequence[Relevance]]) -> str:
    """Return a table of relevance, with one row for each collection and system."""
    head = ["collection", "system", "nDCG@10", "MRR@10", "Recall@100", "empty", "us a query"]
    rows = []
    for figures in zip(*by_system.values(), strict=True):
        for system, of in zip(by_system, figures, strict=True):
            name = (
                f"{of.name} ({of.documents} documents, {of.queries} queries)" if system == next(iter(by_system)) else ""
            )
            shares = [f"{share:.4f}" for share in (of.ndcg_10, of.mrr_10, of.recall_100)]
            rows.append([name, system, *shares, str(of.empty), f"{of.query_us:.0f}"])
    return table(head, rows)


def typos_table(by_system: Mapping[str, Sequence[Corrected]]) -> str:
    """Return a table of corrections, with one row for each list of misspelt words and system."""
    head = ["list", "system", "suggested", "suggested first", "found by QUERY", "us a SUGGEST", "us a QUERY"]
    rows = []
    for figures in zip(*by_system.values(), strict=True):
        for system, of in zip(by_system, figures, strict=True):
            name = f"{of.name} ({of.pairs} pairs, {of.words} words)" if system == next(iter(by_system)) else ""
            shares = [f"{share:.1%}" for share in (of.suggested, of.first, of.found)]
            rows.append([name, system, *shares, f"{of.suggest_us:.0f}", f"{of.query_us:.0f}"])
    return table(head, rows)


def languages_table(by_system: Mapping[str, LanguageScores]) -> str:
    """Return a table of languages, with one row for each system."""
    head = ["system", "parts that find their sentence", "of those inside words", "empty", "us a query"]
    return table(
        head,
        (
            [system, f"{of.found:.1%}", f"{of.found_inside:.1%}", str(of.empty), f"{of.query_us:.0f}"]
            for system, of in by_system.items()
        ),
    )
