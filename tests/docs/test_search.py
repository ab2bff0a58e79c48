"""Questions of users find the page with the answer.

The search of the site runs in the browser; here sonicpy searches the same sections.
"""

import re
from collections.abc import Iterator

import pytest

import sonicpy
from tests.docs.pages import DOCS

ASKED = [
    ("typo", "questions.md"),
    ("typos", "questions.md"),
    ("fuzzy", "questions.md"),
    ("autocomplete", "recipes/as-you-type.md"),
    ("search as you type", "recipes/as-you-type.md"),
    ("django", "recipes/django.md"),
    ("flask", "recipes/flask.md"),
    ("fastapi", "recipes/fastapi.md"),
    ("elasticsearch", "recipes/elasticsearch.md"),
    ("meilisearch", "recipes/meilisearch.md"),
    ("fts5", "recipes/fts5.md"),
    ("why no result", "why-no-result.md"),
    ("several languages", "recipes/languages.md"),
    ("tenants", "recipes/tenants.md"),
    ("find duplicates", "recipes/duplicates.md"),
    ("highlight", "recipes/highlight.md"),
    ("synonyms", "questions.md"),
    ("filter by a field", "questions.md"),
    ("update delete", "questions.md"),
    ("backup", "operations.md"),
    ("docker", "deployment.md"),
    ("pip install", "install.md"),
    ("install", "install.md"),
    ("wheel without a compiler", "install.md"),
    ("get started", "tutorial.md"),
    ("search box", "recipes/as-you-type.md"),
    ("demo", "index.md"),
    ("import csv", "cli.md"),
    ("http json", "http.md"),
    ("password", "operations.md"),
    ("django gunicorn", "recipes/django.md"),
    ("cluster", "cluster.md"),
    ("what is a bucket", "glossary.md"),
]


@pytest.fixture(scope="module")
def sections() -> Iterator[sonicpy.Bucket]:
    """An index of the sections of all pages, named by page and number; headings count twice."""
    with sonicpy.open(":memory:") as index:
        bucket = index.bucket("docs", "sections")
        for page in DOCS.rglob("*.md"):
            name = str(page.relative_to(DOCS))
            for number, section in enumerate(re.split(r"^(?=#+ )", page.read_text("utf-8"), flags=re.MULTILINE)):
                heading, _, text = section.partition("\n")
                bucket.push(f"{name}#{number}", f"{heading} {heading} {text}", "eng")
        yield bucket


@pytest.mark.parametrize(("text", "page"), ASKED)
def test_a_page_answers(sections: sonicpy.Bucket, text: str, page: str) -> None:
    found = [name.partition("#")[0] for name in sections.query(text, limit=12, lang="eng")]
    assert page in found


@pytest.mark.parametrize(("text", "page"), [pair for pair in ASKED if pair[1].startswith("recipes/")])
def test_a_heading_says_what_a_recipe_is_for(text: str, page: str) -> None:
    title = (DOCS / page).read_text("utf-8").partition("\n")[0].lower()
    assert any(word in title for word in text.split())
