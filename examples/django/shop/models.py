"""The tables of the shop."""

from django.db import models


class Article(models.Model):
    """An article that the shop sells."""

    title = models.CharField(max_length=200)
    body = models.TextField()
