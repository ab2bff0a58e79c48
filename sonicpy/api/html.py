"""HTML tables for notebooks that show an index, a bucket, hits or an explanation. Every cell is escaped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

SCOPES_SHOWN = 20
"""The most buckets of an index that are shown, one per row."""
THOUSANDS = "\N{NARROW NO-BREAK SPACE}"

StatsMethod = Callable[..., Mapping[str, Any]]
"""The method `stats` of an index or a client."""


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table. Numbers are aligned to the right, everything else to the left; None is an empty cell.

    Args:
        head: titles of the columns; empty: the first cell of each row is its title.
        rows: the cells of each row.
        caption: the caption of the table; "": none.
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = "".join(_cell("th", name) for name in head)
    body = "".join(f"<tr>{_row(row, titled=not head)}</tr>" for row in rows)
    return f"<table>{title}{f'<thead><tr>{top}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def figures_table(caption: str, figures: Mapping[str, object]) -> str:
    """Return an HTML table of figures with a caption, one figure per row: dicts and lists are left out, names with
    `_bytes` are shown as sizes."""
    rows = [
        (name.removesuffix("_bytes").replace("_", " "), _size(value) if name.endswith("_bytes") else value)
        for name, value in figures.items()
        if not isinstance(value, dict | list)
    ]
    return html_table((), rows, caption)


def index_tables(caption: str, stats: StatsMethod) -> str:
    """Return the HTML tables of an index, with a caption, and of its buckets."""
    whole = stats()
    figures = {name: value for name, value in whole.items() if name != "folder"}
    return figures_table(caption, figures) + _scopes_table(whole, stats)


def _scopes_table(whole: Mapping[str, Any], stats: StatsMethod) -> str:
    rows: list[tuple[object, ...]] = []
    for collection in whole.get("by_collection", {}):
        if len(rows) >= SCOPES_SHOWN:
            break
        buckets: Mapping[str, Mapping[str, Any]] = stats(collection).get("by_bucket", {})
        for bucket, figures in buckets.items():
            rows.append((collection, bucket, figures["objects"], figures["words"], figures["average_length"]))
    del rows[SCOPES_SHOWN:]
    more = whole.get("buckets", 0) - len(rows)
    if more > 0:
        rows.append((f"{more} more", None, None, None, None))
    return html_table(("collection", "bucket", "objects", "words", "average length"), rows) if rows else ""


def shown(value: object) -> str:
    """Return a value as text for people, with separated thousands and at most four decimal places."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", THOUSANDS)
    if isinstance(value, float):
        return f"{value:,.4f}".replace(",", THOUSANDS)
    return str(value)


def _row(row: Sequence[object], titled: bool) -> str:
    return "".join(_cell("th" if titled and not place else "td", value) for place, value in enumerate(row))


def _cell(tag: str, value: object) -> str:
    side = "right" if isinstance(value, int | float) and not isinstance(value, bool) else "left"
    return f'<{tag} style="text-align: {side}">{escape(shown(value))}</{tag}>'


def _size(size_bytes: object) -> object:
    """Return a number of bytes in a suitable unit, such as "1.5 KiB" for 1536; any other value unchanged."""
    if not isinstance(size_bytes, int):
        return size_bytes
    size = float(size_bytes)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
