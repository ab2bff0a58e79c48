"""The search follows the table."""

from io import StringIO

from django.core.management import call_command
from django.test import TestCase

from shop.models import Article
from shop.search import articles, find


class SearchTest(TestCase):
    """Each test has three articles."""

    def setUp(self) -> None:
        articles().flush()
        with self.captureOnCommitCallbacks(execute=True):
            self.jacket = Article.objects.create(title="Rain jacket", body="Light and waterproof, with a hood")
            self.hat = Article.objects.create(title="Party hat", body="Paper, in six colours")
            self.paint = Article.objects.create(title="Art supplies", body="Brushes, paper and paint")

    def test_the_page_finds_mistyped_words(self) -> None:
        answer = self.client.get("/search", {"q": "watreproof jackt"})
        self.assertEqual(answer.json(), {"articles": [{"id": self.jacket.pk, "title": "Rain jacket"}]})

    def test_a_changed_article_is_found_by_its_new_words_only(self) -> None:
        self.hat.body = "Felt, in six colours"
        with self.captureOnCommitCallbacks(execute=True):
            self.hat.save()
        self.assertEqual(find("felt"), [self.hat])
        self.assertEqual(find("paper"), [self.paint])

    def test_a_deleted_article_is_not_found(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            self.hat.delete()
        self.assertEqual(find("paper"), [self.paint])

    def test_reindex(self) -> None:
        articles().flush()
        written = StringIO()
        call_command("reindex", stdout=written)
        self.assertEqual(written.getvalue(), "3 rows indexed, 0 refused\n")
        self.assertCountEqual(find("paper"), [self.hat, self.paint])
