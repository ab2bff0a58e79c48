"""The page in a real browser: Debian's chromium, driven by Playwright; skipped where either is missing."""

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from tests.processes import HOST, Server, environment, free_port
from tests.support.patience import WAIT_S, until

pytestmark = pytest.mark.full

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
ROOT = Path(__file__).parents[2]
PASSWORD = "secret"
FIRST = {"push": 0, "query": 1}
"""Operations whose order counts."""
OBJECTS = {
    "message:1": "Hello from Nantes, how is the weather?",
    "message:2": "Sunny weather in Lisbon",
    "message:3": "The weather forecast says rain",
    "<img-src=x-onerror=alert(1)>": "<script>alert('words')</script> markup",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    with Server(tmp_path_factory.mktemp("page"), {"http.inet": f"{HOST}:{port}"}, password=PASSWORD) as running:
        with sonicpy.connect(f"sonic://:{PASSWORD}@{HOST}:{running.port}") as client:
            for name, text in OBJECTS.items():
                client.push("messages", "default", name, text)
            for number in range(200):
                client.push("many", "numbered", f"object:{number}", f"word{number} common")
            client.consolidate()
        yield f"http://{HOST}:{port}/"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield opened
        opened.close()


class Seen:
    """A page, with the errors that it must not have."""

    def __init__(self, browser: Any, url: str, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.faults.append(said.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: self.faults.append(f"dialog {dialog.message}"))
        self.page.on("request", lambda asked: self._check(asked.url, url))
        self.page.goto(url)

    def _check(self, asked: str, url: str) -> None:
        if not asked.startswith((url, "data:")):
            self.faults.append(f"asked for {asked}")

    def log_in(self) -> None:
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.keyboard.press("Enter")
        self.page.get_by_label("Collection").get_by_role("option").first.wait_for(state="attached")
        self.faults[:] = [fault for fault in self.faults if "401" not in fault]  # the browser logs the first answer

    def choose(self, collection: str) -> None:
        self.page.get_by_label("Collection").select_option(collection)
        self.page.wait_for_timeout(200)


@pytest.fixture
def seen(browser: Any, server: str) -> Iterator[Seen]:
    found = Seen(browser, server)
    found.log_in()
    found.choose("messages")
    yield found
    assert found.faults == []
    found.context.close()


def names(page: Any) -> list[str]:
    return [text.strip() for text in page.locator("#hits li span:first-child").all_inner_texts()]


def test_search_as_you_type_finds_completes_and_explains(seen: Seen) -> None:
    page = seen.page
    page.locator("#text").press_sequentially("weath", delay=20)
    page.locator("#hits li").first.wait_for()
    assert set(names(page)) == {"message:1", "message:2", "message:3"}
    assert page.locator("#suggestions li").all_inner_texts() == ["weather"]
    page.locator("#explanation .scores li").nth(2).wait_for()
    assert "message:3" in page.locator("#explanation .scores").inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#text").input_value() == "weather"


def test_a_typo_is_corrected_and_nothing_is_explained(seen: Seen) -> None:
    page = seen.page
    page.locator("#text").fill("wether lisbom")
    page.locator("#meant-text").wait_for()
    assert page.locator("#meant-text").inner_text() == "weather lisbon"
    page.locator("#meant-text").click()
    page.get_by_text("objects in").wait_for()
    assert names(page)[0] == "message:2"
    page.locator("#text").fill("zzzzqqqq")
    page.get_by_text("No object answers.").wait_for()
    page.get_by_role("heading", name="Why nothing").wait_for()
    assert "No object holds 'zzzzqqqq'" in page.locator("#explanation .advice").first.inner_text()


def test_markup_in_names_and_words_is_text(seen: Seen) -> None:
    page = seen.page
    page.locator("#text").fill("markup")
    page.locator("#hits li").first.wait_for()
    assert names(page) == ["<img-src=x-onerror=alert(1)>"]
    page.get_by_role("button", name="Contents").click()
    page.locator("#objects li").nth(3).wait_for()
    assert "<img-src=x-onerror=alert(1)>" in page.locator("#objects li").all_inner_texts()
    assert page.locator("#main img").count() == 0


def test_contents_come_page_by_page(seen: Seen) -> None:
    page = seen.page
    page.get_by_role("button", name="Contents").click()
    seen.choose("many")
    page.locator("#objects li").nth(99).wait_for()
    page.locator("#objects-more").click()
    page.locator("#objects li").nth(199).wait_for()
    assert page.locator("#objects li").count() == 200
    page.get_by_label("Names that begin with").fill("object:19")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_function("document.querySelectorAll('#objects li').length === 11")


def test_figures_and_requests_are_shown(seen: Seen) -> None:
    page = seen.page
    page.get_by_role("button", name="Figures").click()
    page.get_by_role("heading", name="Commands", exact=True).wait_for()
    assert "PUSH" in page.locator("#figures").inner_text()
    page.get_by_role("button", name="Requests").click()
    page.get_by_label("Text", exact=True).fill('say "hi"')
    assert page.locator("#as-channel").inner_text().endswith('QUERY messages default "say \\"hi\\"" LIMIT(10)')
    assert "v1/query?collection=messages" in page.locator("#as-curl").inner_text()
    assert 'client.query("messages", "default", "say \\"hi\\"")' in page.locator("#as-python").inner_text()


def test_every_curl_line_works_as_it_stands(seen: Seen) -> None:
    page = seen.page
    page.get_by_role("button", name="Requests").click()
    page.get_by_label("Object", exact=True).fill("curl:1")
    operations = page.locator("#operation option").all_inner_texts()
    assert {"query", "push", "explain"} <= set(operations)
    for operation in sorted(operations, key=lambda name: FIRST.get(name, 2)):
        page.get_by_label("Operation").select_option(operation)
        page.get_by_label("Text", exact=True).fill('it\'s a "curled" $HOME \\ text &c=d')
        line = page.locator("#as-curl").inner_text().replace("Bearer PASSWORD", f"Bearer {PASSWORD}")
        done = subprocess.run(["sh", "-c", line.replace("curl ", "curl -sS -w ' %{http_code}' ", 1)],
                              capture_output=True, text=True, timeout=WAIT_S, check=True)  # fmt: skip
        body, _, status = done.stdout.rpartition(" ")
        if operation == "suggest":  # the last word, "&c=d", is no word
            assert status in ("200", "400")
            continue
        assert status == "200", (operation, done.stdout)
        if operation == "query":
            assert "curl:1" in body


def test_a_keyboard_is_enough(seen: Seen) -> None:
    page = seen.page
    page.locator("#text").focus()
    page.keyboard.type("lisbon")
    page.locator("#hits li").first.wait_for()
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.dataset.view") == "contents":
            break
    page.keyboard.press("Enter")
    page.locator("#sizes table").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 800, 1400])
def test_nothing_is_cut_off_and_axe_finds_nothing(browser: Any, server: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = Seen(browser, server, width, scheme)
    found.log_in()
    found.choose("messages")
    page = found.page
    page.locator("#text").fill("weather in")
    page.locator("#explanation .scores li").first.wait_for()
    for view in ("Search", "Contents", "Figures", "Requests"):
        page.get_by_role("button", name=view, exact=True).click()
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), view
        result = axe.Axe().run(page)
        assert result.violations_count == 0, result.generate_report()
    found.context.close()
    assert [fault for fault in found.faults if "Content Security Policy" not in fault] == []


def test_a_wrong_password_asks_again(browser: Any, server: str) -> None:
    found = Seen(browser, server)
    found.page.get_by_label("Password").fill("wrong")
    found.page.keyboard.press("Enter")
    found.page.get_by_text("the password is wrong").wait_for()
    found.log_in()
    found.context.close()


def test_the_search_box_of_the_examples_asks_from_elsewhere(browser: Any, tmp_path: Path) -> None:
    port, page_port = free_port(), free_port()
    shutil.copytree(ROOT / "examples/browser", tmp_path / "page")
    index = tmp_path / "page/index.html"
    index.write_text(index.read_text().replace("127.0.0.1:8491", f"{HOST}:{port}"))
    settings = {"http.inet": f"{HOST}:{port}", "http.origins": f"http://{HOST}:{page_port}"}
    command = [sys.executable, "-m", "http.server", "--bind", HOST, "--directory", str(index.parent), str(page_port)]
    with Server(tmp_path, settings) as server, subprocess.Popen(command, stderr=subprocess.DEVNULL) as files:
        try:
            with sonicpy.connect(f"sonic://{HOST}:{server.port}") as client:
                client.push("messages", "default", "message:1", "Sunny weather in Lisbon")
            wait_for_port(page_port)
            page = browser.new_page()
            page.goto(f"http://{HOST}:{page_port}/")
            page.locator("#box").press_sequentially("wether lis")
            page.get_by_text("message:1").wait_for()
            page.locator("#meant").get_by_text("weather lis").wait_for()
            page.locator("#words option", has_text="wether lisbon").wait_for(state="attached")
            page.close()
        finally:
            files.terminate()


def wait_for_port(port: int) -> None:
    until(lambda: accepts(port), "the page is served", pause_s=0.02)


def accepts(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), WAIT_S).close()
    except OSError:
        return False
    return True


def test_browse_shows_a_folder(browser: Any, tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        index.push("notes", "mine", "note:1", "a small note")
    command = [sys.executable, "-m", "sonicpy", "browse", str(tmp_path / "store"), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment({})) as process:
        assert process.stdout is not None
        shown = re.search(r"http://\S+", process.stdout.readline())
        assert shown is not None
        found = Seen(browser, shown[0])
        found.page.locator("#text").fill("note")
        found.page.locator("#hits li").first.wait_for()
        assert names(found.page) == ["note:1"]
        found.context.close()
        process.terminate()
        assert found.faults == []
