"""Tests that the search follows the table."""

from io import StringIO

from django.core.management import call_command
from django.test import TestCase

from shop.models import Article
from shop.search import articles, find


def titles(text: str) -> list[str]:
    """Return the titles of the articles that answer a text."""
    return [hit["title"].replace("<mark>", "").replace("</mark>", "") for hit in find(text)]


class SearchTest(TestCase):
    """Each test has three articles."""

    def setUp(self) -> None:
        articles().flush()
        with self.captureOnCommitCallbacks(execute=True):
            self.jacket = Article.objects.create(title="Rain jacket", body="Light and waterproof, with a hood")
            self.hat = Article.objects.create(title="Party hat", body="Paper, in six colours")
            self.paint = Article.objects.create(title="Art supplies", body="Brushes, paper and paint")

    def test_the_page_finds_mistyped_words(self) -> None:
        answer = self.client.get("/search", {"text": "watreproof jackt"}).json()
        self.assertEqual([hit["id"] for hit in answer["hits"]], [self.jacket.pk])
        self.assertEqual(answer["hits"][0]["title"], "Rain <mark>jacket</mark>")
        self.assertEqual(answer["suggestions"], ["jacket"])
        self.assertContains(self.client.get("/"), 'data-ask="search"')

    def test_a_changed_article_is_found_by_its_new_words_only(self) -> None:
        self.hat.body = "Felt, in six colours"
        with self.captureOnCommitCallbacks(execute=True):
            self.hat.save()
        self.assertEqual(titles("felt"), ["Party hat"])
        self.assertEqual(titles("paper"), ["Art supplies"])

    def test_a_deleted_article_is_not_found(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            self.hat.delete()
        self.assertEqual(titles("paper"), ["Art supplies"])

    def test_reindex_repairs_what_signals_missed(self) -> None:
        Article.objects.filter(pk=self.hat.pk).update(title="Felt hat", body="In six colours")
        Article.objects.bulk_create([Article(title="Paper boat", body="Floats")])
        self.paint.delete()  # its signal waits for the commit, which never comes here
        self.assertEqual(self.reindexed(), "2 changed, 1 gone, 0 refused\n")
        self.assertEqual(titles("paper"), ["Paper boat"])
        self.assertEqual(self.reindexed(), "0 changed, 0 gone, 0 refused\n")

    def reindexed(self) -> str:
        written = StringIO()
        call_command("reindex", stdout=written)
        return written.getvalue()
