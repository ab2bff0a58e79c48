"""Questions without an answer, and Contents of a key that reaches one bucket, in a real browser; see test_page.py."""

from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.access.key import hash_of, make_key, new_secret
from sonicpy.access.key_store import KeyStore
from tests.http.test_page import PASSWORD, Seen, browser  # noqa: F401  a fixture
from tests.processes import HOST, Server, free_port

pytestmark = pytest.mark.full


def rows(page: Any, caption: str) -> list[list[str]]:
    """Return the cells of a table by its caption."""
    body = page.get_by_role("region", name=caption).locator("tbody tr")
    return [row.locator("td").all_inner_texts() for row in body.all()]


def test_owners_and_keys_see_their_questions(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    port = free_port()
    settings = {"http.inet": f"{HOST}:{port}", "search.note_unanswered": "true"}
    with Server(tmp_path, settings, password=PASSWORD) as server:
        with sonicpy.connect(f"sonic://:{PASSWORD}@{HOST}:{server.port}") as client:
            for bucket, text, times in (("mine", "xylophone", 3), ("theirs", "<b>secret</b>", 2)):
                client.push("c", bucket, "o", "weather")
                for _ in range(times):
                    assert client.query("c", bucket, f"{text} zebra") == []
        secret = new_secret("one")
        rights = {"verbs": ["query", "stats"], "scopes": ["c/mine"]}
        assert KeyStore(server.folder / "store").put(make_key("one", hash_of(secret.encode()), rights))
        page = f"http://{HOST}:{port}/?view=contents"
        assert questions(browser, page, PASSWORD) == ([["xylophone zebra", "3"], ["b secret zebra", "2"]], "5")
        assert questions(browser, page.replace("contents", "figures"), PASSWORD)[1] == "5"
        assert questions(browser, f"{page}&collection=c", PASSWORD)[1] == "5"
        for holder in (PASSWORD, secret):
            assert questions(browser, f"{page}&collection=c&bucket=mine", holder) == ([["xylophone zebra", "3"]], "3")


def questions(browser: Any, url: str, secret: str) -> tuple[list[list[str]], str]:  # noqa: F811
    """Return the queries that a page shows, and how often the word zebra found nothing."""
    seen = Seen(browser, url.partition("?")[0])
    seen.page.goto(url)
    seen.page.get_by_label("Password").fill(secret)
    seen.page.keyboard.press("Enter")
    seen.page.get_by_text("Questions without an answer").wait_for()
    held = rows(seen.page, "Queries that found nothing"), dict(rows(seen.page, "Words that nothing holds"))["zebra"]
    assert not [fault for fault in seen.faults if "401" not in fault and "403" not in fault]
    seen.context.close()
    return held
