"""The index of the shop: an object for each article, named by its key."""

from functools import cache, partial

from django.conf import settings
from django.db import transaction

import sonicpy
from shop.models import Article


@cache
def articles() -> sonicpy.Bucket:
    """Return the bucket of the articles; the first call opens the index."""
    return sonicpy.open(settings.SEARCH_FOLDER).bucket("shop", "articles")


def find(text: str, limit: int = 20) -> list[Article]:
    """Return the articles that answer a text, best first."""
    keys = [int(name) for name in articles().query(text, limit=limit)]
    rows = Article.objects.in_bulk(keys)
    return [rows[key] for key in keys if key in rows]


def put(key: int, text: str) -> None:
    """Index the text of an article in place of its old one."""
    articles().flush(str(key))
    articles().push(str(key), text)


def on_save(sender: type[Article], instance: Article, **kwargs: object) -> None:
    """Index an article once the database has it."""
    transaction.on_commit(partial(put, instance.pk, f"{instance.title} {instance.body}"))


def on_delete(sender: type[Article], instance: Article, **kwargs: object) -> None:
    """Forget an article once it is gone from the database."""
    transaction.on_commit(partial(articles().flush, str(instance.pk)))
