"""Draw the pictures of the page and of the search box: `python docs/pictures/page.py [FOLDER]`.

It needs Playwright and chromium, and indexes the same texts as `sonicpy demo`. Without FOLDER it writes the pictures
of the site, page-*.png and box.png, beside itself; with one it writes every state there at three widths, light and
dark, to look at after a change.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import sonicpy
from sonicpy.cli.demo.verb import fill
from tests.processes import HOST, Server, free_port
from tests.support.patience import until

HERE = Path(__file__).parent
BOX = HERE.parents[1] / "examples" / "fastapi"
WIDTHS = (390, 820, 1440)
SIZE = {"width": 1000, "height": 640}
ROUNDS = 40
"""Searches before the figures are drawn, so that their charts have something to show."""
WARM = 5
"""The same search before its picture: the first one reads pages of the store."""

State = Callable[[Any, str], None]
"""Brings a page to a state; it gets the page and its address."""


def searched(text: str, *opened: str) -> State:
    """Return the state after a search, with parts of the page opened."""

    def bring(page: Any, url: str) -> None:
        for _ in range(WARM):
            page.request.get(f"{url}v1/search?collection=python&bucket=default&marked=true&text={text}")
        page.goto(url)
        page.locator(".hello").first.wait_for()
        page.locator("#text").fill(text)
        page.locator("#hits > li, #nothing h2").first.wait_for()
        for title in opened:
            page.get_by_text(title).click()
            page.get_by_text(title).scroll_into_view_if_needed()
        if not opened:
            page.locator("#text").blur()

    return bring


def viewed(query: str, waited: str) -> State:
    """Return the state of an address, when something is there."""

    def bring(page: Any, url: str) -> None:
        page.goto(f"{url}?{query}")
        page.locator(waited).first.wait_for(state="attached")

    return bring


def figures(page: Any, url: str) -> None:
    """Bring the figures while searches run."""
    viewed("view=figures", ".chart")(page, url)
    for _ in range(4):
        for number in range(ROUNDS):
            page.request.get(f"{url}v1/search?collection=python&bucket=default&text=file{number}")
        page.wait_for_timeout(2_000)


STATES: dict[str, State] = {
    "start": viewed("", ".hello"),
    "search": searched("read lines of a file"),
    "typo": searched("tempfiel directry"),
    "unfinished": searched("subproc"),
    "nothing": searched("zzyzx"),
    "why": searched("tempfiel directry", "What each word did"),
    "elsewhere": searched("subproc", "The same request elsewhere"),
    "contents": viewed("view=contents", "#contents table"),
    "bucket": viewed("view=contents&collection=messages&bucket=default", "#words li"),
    "figures": figures,
    "api": viewed("view=api", ".route"),
}
"""States of the page over the index of the demo; "empty" is a state over an empty index."""
DARK = frozenset({"typo", "figures", "contents"})
"""States that the site shows in the dark."""
TEXTS = {
    "message:1": "Hello from Nantes, how is the weather?",
    "message:2": "Sunny weather in Lisbon, and a warm evening",
    "message:3": "The weather forecast says rain for the whole week",
}


@contextmanager
def served(folder: Path, *, full: bool) -> Iterator[str]:
    """Serve the index of the demo, or an empty one; yield the address of the page."""
    port, rows = free_port(), folder / "names.jsonl"
    settings: dict[str, object] = {"http.inet": f"{HOST}:{port}"}
    if full:
        fill(folder / "store", rows)
        settings |= {"store.kv.path": str(folder / "store"), "http.hits": str(rows)}
    with Server(folder, settings) as server:
        if full:
            with sonicpy.connect(f"sonic://{HOST}:{server.port}") as client:
                client.bucket("messages", "default").push_many(TEXTS.items())
        yield f"http://{HOST}:{port}/"


def open_page(browser: Any, scheme: str, width: int = SIZE["width"]) -> Any:
    """Return a new page."""
    return browser.new_page(viewport={"width": width, "height": SIZE["height"]}, color_scheme=scheme)


def draw(browser: Any, url: str, state: State, path: Path, scheme: str, width: int, is_full: bool) -> None:
    """Write a picture of a state."""
    page = open_page(browser, scheme, width)
    state(page, url)
    page.wait_for_timeout(300)
    page.screenshot(path=path, full_page=is_full)
    page.close()


def draw_box(browser: Any, path: Path) -> None:
    """Write a picture of the search box of the examples: light at the left, dark at the right."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(port), "--log-level", "warning"]
    with tempfile.TemporaryDirectory() as name, subprocess.Popen(command, cwd=BOX) as process:
        try:
            until(lambda: answers(browser, f"http://{HOST}:{port}/"), "the search box is served")
            halves = []
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": 480, "height": 420}, color_scheme=scheme)
                page.goto(f"http://{HOST}:{port}/")
                page.locator("#box").fill("metr")
                page.locator("#hits > li").first.wait_for()
                halves.append(Path(name) / f"{scheme}.png")
                page.screenshot(path=halves[-1])
                page.close()
            page = browser.new_page(viewport={"width": 960, "height": 420})
            page.goto(Path(name).as_uri())
            page.set_content("".join(f'<img src="{half.as_uri()}">' for half in halves))
            page.add_style_tag(content="body { margin: 0; display: flex; }")
            page.wait_for_timeout(300)
            page.screenshot(path=path)
        finally:
            process.terminate()


def answers(browser: Any, url: str) -> bool:
    """Return whether an address answers."""
    page = browser.new_page()
    try:
        return bool(page.goto(url).ok)
    except Exception as error:  # noqa: BLE001  Playwright's own kind for every failure
        return "ERR_CONNECTION_REFUSED" not in str(error)
    finally:
        page.close()


def main(folder: Path | None) -> None:
    """Write the pictures."""
    with (
        tempfile.TemporaryDirectory() as name,
        tempfile.TemporaryDirectory() as other,
        served(Path(name), full=True) as url,
        served(Path(other), full=False) as empty,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        states = [*((title, url, state) for title, state in STATES.items()), ("empty", empty, viewed("", ".hello"))]
        for title, address, state in states:
            if folder is None:
                scheme = "dark" if title in DARK else "light"
                draw(browser, address, state, HERE / f"page-{title}.png", scheme, SIZE["width"], is_full=False)
                continue
            for scheme in ("light", "dark"):
                for width in WIDTHS:
                    draw(browser, address, state, folder / f"{title}-{width}-{scheme}.png", scheme, width, is_full=True)
        if folder is None:
            draw(browser, url, STATES["search"], HERE / "page-search-dark.png", "dark", SIZE["width"], is_full=False)
            draw_box(browser, HERE / "box.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
