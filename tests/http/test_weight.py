"""The size of the page, and the number of rounds of requests before it is drawn."""

import re
from pathlib import Path

import sonicpy.http

PAGE = Path(sonicpy.http.__file__).parent / "page"
BYTES_MAX = 60_000


def test_all_files_of_the_page_together_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in PAGE.iterdir()}
    assert {"index.html", "main.js", "style.css"} <= set(sizes)
    assert sum(sizes.values()) <= BYTES_MAX, sizes


def test_one_round_brings_every_module() -> None:
    page = (PAGE / "index.html").read_text("utf-8")
    preloaded = set(re.findall(r'<link rel="modulepreload" href="page/([^"]+)">', page))
    assert preloaded == {path.name for path in PAGE.glob("*.js")}


def test_files_refer_to_this_address_alone() -> None:
    allowed = {"http://www.w3.org/2000/svg"}
    for path in PAGE.iterdir():
        assert set(re.findall(r"\bhttps?://[^\s\"'`)]+", path.read_text("utf-8"))) <= allowed, path.name
