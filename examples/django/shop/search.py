"""The index of the shop: an object for each article, named by its key."""

from functools import cache, partial
from typing import Any

from django.conf import settings
from django.db import transaction

import sonicpy
from shop.models import Article


@cache
def articles() -> sonicpy.Bucket:
    """Return the bucket of the articles: on a server, in a folder, or in memory."""
    is_server = str(settings.SEARCH).startswith("sonic://")
    index = sonicpy.connect(settings.SEARCH) if is_server else sonicpy.open(settings.SEARCH)
    return index.bucket("shop", "articles")


def find(text: str, limit: int = 20) -> list[dict[str, Any]]:
    """Return the articles that answer a text, best first, with its words marked."""
    explained = articles().explain(text, limit=limit)
    keys = [int(hit.object) for hit in explained.hits]
    rows = Article.objects.in_bulk(keys)
    return [shown(rows[key], explained) for key in keys if key in rows]


def shown(article: Article, explained: sonicpy.Explanation) -> dict[str, Any]:
    """Return an article as the page shows it: its title and text are safe HTML."""
    title, body = (sonicpy.highlight(each, explained, escape=True) for each in (article.title, article.body))
    return {"id": article.pk, "title": title, "text": body}


def completions(text: str) -> list[str]:
    """Return words that complete the last word of a text."""
    try:
        return articles().suggest(text, limit=5)
    except sonicpy.CommandError:  # no word yet, or two in one, such as "a/b"
        return []


def put(key: int, text: str) -> None:
    """Replace the indexed text of an article."""
    articles().upsert(str(key), text)


def on_save(sender: type[Article], instance: Article, **kwargs: object) -> None:
    """Index an article once the database has it."""
    transaction.on_commit(partial(put, instance.pk, f"{instance.title} {instance.body}"), robust=True)


def on_delete(sender: type[Article], instance: Article, **kwargs: object) -> None:
    """Remove an article from the index once it is gone from the database."""
    transaction.on_commit(partial(forget, instance.pk), robust=True)


def forget(key: int) -> None:
    """Remove an article from the index."""
    articles().flush(str(key))
