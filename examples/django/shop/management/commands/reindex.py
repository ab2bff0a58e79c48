"""`python manage.py reindex`: bring the index in step with all articles."""

from django.core.management.base import BaseCommand

from shop.models import Article
from shop.search import articles


class Command(BaseCommand):
    """The command `reindex`."""

    help = "Index the articles that changed, and forget those that are gone."

    def handle(self, *args: object, **options: object) -> None:
        """Repair the differences; an article that did not change costs a look-up."""
        held = articles().objects(limit=None)  # first: an article that comes now is not gone
        rows = Article.objects.values("id", "title", "body")
        report = articles().push_many(rows.iterator(), text=["title", "body"], upsert=True)
        gone = set(held).difference(map(str, Article.objects.values_list("pk", flat=True)))
        for key in gone:
            articles().flush(key)
        changed = report.indexed - report.unchanged
        self.stdout.write(f"{changed} changed, {len(gone)} gone, {report.refused_count} refused")
