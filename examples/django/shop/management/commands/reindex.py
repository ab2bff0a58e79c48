"""`python manage.py reindex`: index all articles again."""

from django.core.management.base import BaseCommand

from shop.models import Article
from shop.search import articles


class Command(BaseCommand):
    """The command `reindex`."""

    help = "Index all articles again."

    def handle(self, *args: object, **options: object) -> None:
        """Replace the content of the bucket."""
        articles().flush()
        rows = Article.objects.values("id", "title", "body").iterator()
        self.stdout.write(str(articles().push_many(rows, text=["title", "body"])))
