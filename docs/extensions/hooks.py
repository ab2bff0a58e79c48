"""Hooks of mkdocs: which pages the search of the site prefers, and where code in tables may be broken."""

import re
from typing import Any

BOOSTS = {
    "why-no-result.md": 3.0,
    "questions.md": 3.0,
    "install.md": 2.0,
    "tutorial.md": 2.0,
    "library.md": 2.0,
    "recipes/": 2.0,
    "architecture.md": 0.3,
    "benchmarks/": 0.3,
    "changelog.md": 0.2,
    "decisions.md": 0.2,
    "quality.md": 0.5,
    "releasing.md": 0.2,
    "storage-format.md": 0.2,
    "testing.md": 0.2,
}
"""Factors of a page, or of the pages of a folder, in the search of the site: users before developers of sonicpy."""
WITHOUT_MENU = ("index.md",)

CELL = re.compile(r"<t[dh][^>]*>.*?</t[dh]>", re.DOTALL)
CODE = re.compile(r"<code>[^<]*</code>")
BORDER = re.compile(r"(?<=\w)[._/=,:(]+(?=\w)|\s+")


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> None:
    """Give a page the content of its head, which other readers of the file would see as text."""
    path = page.file.src_uri
    for name, boost in BOOSTS.items():
        if path == name or (name.endswith("/") and path.startswith(name)):
            page.meta["search"] = {"boost": boost}
    if path in WITHOUT_MENU:
        page.meta["hide"] = ["navigation"]


def on_page_content(html: str, **kwargs: Any) -> str:
    """Return a page whose tables have a place for a line break after each border inside code, and nowhere else."""
    return CELL.sub(lambda cell: CODE.sub(lambda code: BORDER.sub(r"\g<0><wbr>", code[0]), cell[0]), html)
