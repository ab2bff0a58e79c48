"""The modules for pages of other sites: their pure functions run in node, and all of them in chromium with the real
widgets.
"""

import json
import re
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import sonicpy
import sonicpy.http
from sonicpy.access.key import hash_of, make_key, new_secret
from sonicpy.access.key_store import KeyStore
from tests.access.test_keys import SECRET, token
from tests.http.test_page import browser
from tests.processes import HOST, Server, free_port
from tests.support.patience import WAIT_S

__all__ = ["browser"]
KIT = Path(sonicpy.http.__file__).parent / "kit"
NODE = shutil.which("node")
NPM = shutil.which("npm")
BOX_BYTES_MAX = 12 * 1024
PASSWORD = "password"
PRODUCTS = [
    (f"p{number}", f"{colour} {kind}", colour, kind, 10 * number + 5)
    for number, (colour, kind) in enumerate(
        (colour, kind) for colour in ("red", "green", "blue") for kind in ("chair", "table", "lamp", "stool")
    )
]


def in_node(body: str) -> Any:
    """Return the JSON value of an expression over the exports of the modules."""
    if NODE is None:
        pytest.skip("node is not installed")
    script = f"""
        import * as box from {json.dumps((KIT / "sonicpy-search.js").as_uri())};
        import * as widgets from {json.dumps((KIT / "sonicpy-instantsearch.js").as_uri())};
        console.log(JSON.stringify(await ({body})()));
    """
    done = subprocess.run(
        [NODE, "--input-type=module", "-"], input=script, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_box_is_small_and_loads_nothing() -> None:
    box, widgets = (KIT / name for name in ("sonicpy-search.js", "sonicpy-instantsearch.js"))
    assert box.stat().st_size <= BOX_BYTES_MAX
    assert re.findall(r'^import .* from "(.*)"', box.read_text("utf-8"), re.MULTILINE) == []
    assert re.findall(r'^import .* from "(.*)"', widgets.read_text("utf-8"), re.MULTILINE) == ["./sonicpy-search.js"]


def test_marks_and_filters() -> None:
    marked, filters = in_node("""async () => [
        [box.marks("Un Café noir, des cafés", "noir cafe"), box.marks("wetter x", "x", ["Wétter"]),
            box.marks("a<b", "")],
        [
            widgets.filterOf({}),
            widgets.filterOf({facetFilters: ["a:b", ["c:d", 'c:"e']], numericFilters: ["price>=10", "price<=19.5"]}),
            widgets.filterOf({facetFilters: "brand:-x", filters: "NOT draft"}),
            widgets.filterOf({numericFilters: ["price=2.5", "price!=2.5", "price = 2.0"]}),
            widgets.filterOf({facetFilters: "year:\\\\-3"}),
            box.inRange("price", null, 3), box.inRange("price", 3, 7), box.inRange("AND", null, null),
            box.allOf(["", null]),
        ],
    ]""")
    assert marked[0] == [
        ["Un", False], [" ", False], ["Café", True], [" ", False], ["noir", True], [", ", False], ["des", False],
        [" ", False], ["cafés", True],
    ]  # fmt: skip
    assert marked[1][0] == ["wetter", True]
    assert all(not is_marked for _, is_marked in marked[2])
    assert filters == [
        "",
        '((tag IN ("a:b"))) AND ((tag IN ("c:d")) OR (tag IN ("c:\\"e"))) AND (("price" >= 10)) AND (("price" <= 19))',
        '(NOT draft) AND ((NOT tag IN ("brand:x")))',
        '((NOT HAS "price" AND HAS "price")) AND ((HAS "price")) AND (("price" = 2))',
        '((tag IN ("year:-3")))',
        '"price" < 3',
        '"price" >= 3 AND "price" < 7',
        'HAS "AND"',
        "",
    ]
    for text in filter(None, filters):
        sonicpy.open(":memory:").query("c", "b", "x", filter=text)


class Site(SimpleHTTPRequestHandler):
    """Answers a request for a file of a folder, and prints nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Yield a folder that is served to the browser, and its origin."""
    folder = tmp_path_factory.mktemp("site")
    rows = {name: {"name": text, "price": price, "text": f"A {text} & more"} for name, text, _, _, price in PRODUCTS}
    (folder / "rows.json").write_text(json.dumps(rows))
    with ThreadingHTTPServer((HOST, 0), partial(Site, directory=str(folder))) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield folder, f"http://{HOST}:{serving.server_port}"
        serving.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, site: tuple[Path, str]) -> Iterator[tuple[str, str]]:
    """Yield the address of a server, and a token whose searches leave out blue products."""
    port = free_port()
    settings = {
        "http.inet": f"{HOST}:{port}", "http.read_only": True, "http.origins": site[1], "server.secret": SECRET,
    }  # fmt: skip
    with Server(tmp_path_factory.mktemp("kit"), settings, password=PASSWORD) as running:
        with sonicpy.connect(f"sonic://:{PASSWORD}@{HOST}:{running.port}") as client:
            for name, text, colour, kind, price in PRODUCTS:
                tags = [f"colour:{colour}", f"kind:{kind}"]
                client.push("shop", "default", name, text, tags=tags, values={"price": price})
        given = {"verbs": ["query", "suggest", "facets"], "scopes": ["shop"]}
        KeyStore(running.folder / "store").put(make_key("web", hash_of(new_secret("web").encode()), given))
        yield f"http://{HOST}:{port}", token("web", buckets=["shop/default"], filter="NOT colour:blue")


class Shown:
    """A page of the site in a browser, with the errors of its console."""

    def __init__(self, browser: Any, site: tuple[Path, str], name: str, html: str) -> None:
        (site[0] / name).write_text(
            f"<!doctype html><html lang=en><meta charset=utf-8><title>Shop</title>{html}</html>"
        )
        self.context = browser.new_context()
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.goto(f"{site[1]}/{name}")

    def _note(self, said: Any) -> None:
        if said.type in ("error", "warning"):
            self.faults.append(said.text)

    def close(self) -> None:
        faults = [fault for fault in self.faults if "favicon" not in fault and "404" not in fault]
        self.context.close()
        assert faults == []


BOX = """<div id=box></div><script type=module>
import { SonicSearch, searchBox } from "%(url)s/sonicpy-search.js";
const rows = await (await fetch("rows.json")).json();
const search = new SonicSearch({ url: "%(url)s", collection: "shop", secret: () => "%(token)s" });
const box = searchBox(document.querySelector("#box"), {
  search, rows: (objects) => objects.map((each) => rows[each]), limit: 5,
  hit: (row, hit, mark) => mark(row.text),
  facets: { Colour: "colour:", Kind: "kind:", Price: { name: "price", bounds: [0, 50, 100] } },
});
box.ask();
</script>"""


@pytest.mark.full
def test_the_box_in_a_browser(browser: Any, site: tuple[Path, str], shop: tuple[str, str]) -> None:
    shown = Shown(browser, site, "box.html", BOX % {"url": shop[0], "token": shop[1]})
    page = shown.page
    page.get_by_text("8 found").wait_for()
    assert "blue" not in page.locator("#box").inner_text()
    assert page.get_by_role("group", name="Price").get_by_role("checkbox").count() == 2
    page.get_by_role("button", name="More").click()
    page.wait_for_function("document.querySelectorAll('.hits li').length === 8")
    box = page.get_by_role("combobox", name="Search")
    box.press_sequentially("red ta", delay=20)
    page.get_by_role("option", name="red table").wait_for()
    assert box.get_attribute("aria-expanded") == "true"
    box.press("ArrowDown")
    option = page.get_by_role("option", selected=True)
    assert box.get_attribute("aria-activedescendant") == option.get_attribute("id")
    box.press("Enter")
    marked = "[...document.querySelectorAll('.hits li:first-child mark')].map((each) => each.textContent).join()"
    page.wait_for_function(f"{marked} === 'red,table'")
    assert box.input_value() == "red table"
    assert box.get_attribute("aria-expanded") == "false"
    with page.expect_response("**/v1/search**") as answered:
        box.press_sequentially(" re")
        box.press("Escape")
    answered.value.finished()
    page.wait_for_timeout(100)
    assert page.get_by_role("option").count() == 0, "the answer came behind Escape"
    box.fill("")
    box.press("Enter")
    page.get_by_text("8 found").wait_for()
    page.get_by_label("red", exact=False).check()
    page.get_by_text("4 found").wait_for()
    assert page.get_by_label("green", exact=False).count() == 1, "each facet leaves out its own choice"
    page.get_by_label("0 – 50").check()
    page.get_by_label("green", exact=False).check()
    page.get_by_text("5 found").wait_for()
    shown.close()


WIDGETS = """<script src="instantsearch.js"></script>
<div id=box></div><div id=sort></div><div id=kinds></div><div id=range></div><div id=hits></div><div id=pages></div>
<div id=stats></div><script type=module>
import { SonicSearch } from "%(url)s/sonicpy-search.js";
import { instantSearchClient } from "%(url)s/sonicpy-instantsearch.js";
const rows = await (await fetch("rows.json")).json();
const search = new SonicSearch({ url: "%(url)s", collection: "shop", secret: "%(token)s" });
const searchClient = instantSearchClient(search, {
  rows: (objects) => objects.map((each) => rows[each]),
  sorts: { cheap: "price", dear: "-price" }, numbers: { price: [0, 1000] },
});
const made = instantsearch({ indexName: "shop", searchClient, future: { preserveSharedStateOnUnmount: true } });
const { widgets } = instantsearch;
made.addWidgets([
  widgets.configure({ hitsPerPage: 3 }),
  widgets.searchBox({ container: "#box" }),
  widgets.sortBy({ container: "#sort", items: ["shop", "cheap", "dear"].map((value) => ({ value, label: value })) }),
  widgets.refinementList({ container: "#kinds", attribute: "kind", searchable: true }),
  widgets.rangeInput({ container: "#range", attribute: "price" }),
  widgets.pagination({ container: "#pages" }),
  widgets.stats({ container: "#stats" }),
  widgets.hits({ container: "#hits", templates: {
    item: (hit, { html, components }) =>
      html`<b>${hit.price}</b> ${components.Highlight({ hit, attribute: "text" })}`,
  } }),
]);
made.start();
</script>"""


@pytest.fixture(scope="module")
def library(site: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Put InstantSearch.js from npm into the site; it is not a part of the project."""
    if NPM is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("npm")
    packed = subprocess.run(
        [NPM, "pack", "--silent", "instantsearch.js@4"], cwd=folder, capture_output=True, text=True, timeout=2 * WAIT_S,
        check=False,
    )  # fmt: skip
    if packed.returncode:
        pytest.skip(f"npm cannot load instantsearch.js: {packed.stderr[-200:]}")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        bundle = archive.extractfile("package/dist/instantsearch.production.min.js")
        assert bundle is not None
        (site[0] / "instantsearch.js").write_bytes(bundle.read())


@pytest.mark.full
def test_the_widgets_of_instantsearch(
    browser: Any, site: tuple[Path, str], shop: tuple[str, str], library: None
) -> None:
    shown = Shown(browser, site, "widgets.html", WIDGETS % {"url": shop[0], "token": shop[1]})
    page = shown.page
    hits = page.locator(".ais-Hits-item")

    def prices(*expected: int) -> None:
        wanted = json.dumps([str(each) for each in expected])
        shown_now = "[...document.querySelectorAll('.ais-Hits-item b')].map((each) => each.textContent)"
        page.wait_for_function(f"() => JSON.stringify({shown_now}) === JSON.stringify({wanted})")

    prices(75, 65, 55)
    assert "8 results" in page.locator(".ais-Stats").inner_text()
    assert page.locator(".ais-RangeInput-input--min").get_attribute("placeholder") == "5"
    assert page.locator(".ais-RangeInput-input--max").get_attribute("placeholder") == "75"
    page.locator(".ais-SortBy-select").select_option("cheap")
    prices(5, 15, 25)
    page.get_by_label("Page 3", exact=False).first.click()
    prices(65, 75)
    page.locator(".ais-RefinementList-checkbox[value=lamp]").check()
    prices(25, 65)
    assert page.locator(".ais-RefinementList-item").count() == 4
    page.locator(".ais-RefinementList-checkbox[value=chair]").check()
    prices(5, 25, 45)
    page.locator(".ais-RangeInput-input--min").fill("20")
    page.locator(".ais-RangeInput-submit").click()
    prices(25, 45, 65)
    page.locator(".ais-SortBy-select").select_option("shop")
    page.locator("#box .ais-SearchBox-input").fill("green la")
    page.wait_for_function("document.querySelectorAll('.ais-Hits-item:first-child mark').length === 2")
    assert hits.first.locator("mark").all_inner_texts() == ["green", "lamp"]
    assert "A green lamp & more" in hits.first.inner_text()
    page.locator(".ais-RefinementList-searchBox input").fill("sto")
    page.wait_for_function("document.querySelectorAll('.ais-RefinementList-item').length <= 1")
    shown.close()


@pytest.mark.full
def test_the_page_opens_with_a_token(browser: Any, shop: tuple[str, str]) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{shop[0]}/#token={shop[1]}")
    page.locator("#collection option").first.wait_for(state="attached")
    assert page.get_by_label("Collection").input_value() == "shop"
    assert "token" not in page.url
    page.locator("#text").fill("chair")
    page.keyboard.press("Enter")
    page.locator("#hits > li").first.wait_for()
    assert page.locator("#hits > li").count() == 2, "blue chairs are outside"
    assert page.locator("#message").inner_text() == ""
    context.close()
