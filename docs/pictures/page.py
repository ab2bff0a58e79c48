"""Draw the pictures of the page: `python docs/pictures/page.py [FOLDER]`. It needs Playwright and chromium.

Without FOLDER it writes page-light.png and page-dark.png beside itself; with one it writes every view there, at three
widths, light and dark, to look at after a change.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import sonicpy
from tests.processes import HOST, Server, free_port

HERE = Path(__file__).parent
WIDTHS = (380, 800, 1400)
TEXTS = {
    "message:1": "Hello from Nantes, how is the weather?",
    "message:2": "Sunny weather in Lisbon, and a warm evening",
    "message:3": "The weather forecast says rain for the whole week",
    "message:4": "Rain again in Nantes, the trains are late",
    "message:5": "Lisbon has the best weather forecast of all",
    "note:1": "Whether the trains run depends on the snow",
}


def fill(client: sonicpy.Client) -> None:
    """Push what the pictures show."""
    for name, text in TEXTS.items():
        client.push("messages", "default", name, text)
    for number in range(300):
        client.push("films", "titles", f"film:{number}", f"film number {number} about the weather")
        client.push("films", "actors", f"actor:{number % 40}", f"actor {number}")
    client.consolidate()


def show(page: Any, view: str, text: str) -> None:
    """Show a view."""
    page.get_by_role("link", name=view, exact=True).click()
    if view == "Search":
        page.locator("#text").fill(text)
        page.locator("#hits > li").first.wait_for()
        page.locator("#text").blur()
    page.wait_for_timeout(2500 if view == "Figures" else 400)


def main(folder: Path | None) -> None:
    """Write the pictures."""
    port, chromium = free_port(), shutil.which("chromium")
    with tempfile.TemporaryDirectory() as name, Server(Path(name), {"http.inet": f"{HOST}:{port}"}) as server:
        with sonicpy.connect(f"sonic://{HOST}:{server.port}") as client:
            fill(client)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            for scheme in ("light", "dark"):
                for width in WIDTHS if folder else (1000,):
                    page = browser.new_page(viewport={"width": width, "height": 700}, color_scheme=scheme)
                    page.goto(f"http://{HOST}:{port}/")
                    page.get_by_label("Collection").select_option("messages")
                    page.wait_for_timeout(200)
                    if folder is None:
                        show(page, "Search", "lisbom weather fore" if scheme == "light" else "trains nantes")
                        page.screenshot(path=HERE / f"page-{scheme}.png")
                        continue
                    for view in ("Search", "Contents", "Figures", "API"):
                        show(page, view, "lisbom weather fore")
                        page.screenshot(path=folder / f"{view}-{width}-{scheme}.png", full_page=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
