"""The pages of the shop."""

from django.http import HttpRequest, JsonResponse

from shop.search import completions, find


def search(request: HttpRequest) -> JsonResponse:
    """Answer /search?text=TEXT."""
    text = request.GET.get("text", "")[:200]
    return JsonResponse({"hits": find(text), "suggestions": completions(text)})
