"""The pages of the shop."""

from django.http import HttpRequest, JsonResponse

from shop.search import find


def search(request: HttpRequest) -> JsonResponse:
    """Answer /search?q=TEXT."""
    found = find(request.GET.get("q", "")[:200])
    return JsonResponse({"articles": [{"id": article.pk, "title": article.title} for article in found]})
