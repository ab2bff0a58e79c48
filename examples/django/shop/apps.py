"""Connects the search to the model when Django starts."""

from django.apps import AppConfig


class ShopConfig(AppConfig):
    """The app."""

    name = "shop"

    def ready(self) -> None:
        """Connect the signals that change the index whenever an article changes."""
        from django.db.models.signals import post_delete, post_save

        from shop import search
        from shop.models import Article

        post_save.connect(search.on_save, sender=Article)
        post_delete.connect(search.on_delete, sender=Article)
