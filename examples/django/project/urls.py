"""The addresses of the project."""

from django.urls import path
from django.views.generic import TemplateView
from shop.views import search

urlpatterns = [path("", TemplateView.as_view(template_name="shop/page.html")), path("search", search)]
