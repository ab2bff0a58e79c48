"""The addresses of the project."""

from django.urls import path
from shop.views import search

urlpatterns = [path("search", search)]
