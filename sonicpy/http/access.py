"""Rights of operations: those that change nothing, and those that need no password, are listed here one by one.

An operation that is on neither list counts as a change: it needs the password, and a read-only address refuses it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """An operation, as requests ask for it: a method, and the whole path of a route."""

    method: str
    path: str


PAGE_FILES = (
    "api.js", "box.js", "contents.js", "dom.js", "figures.js", "logo.svg", "main.js", "request.js", "routes.js",
    "search.js", "state.js", "style.css", "welcome.js", "why.js",
)  # fmt: skip

HEALTH = Asked("GET", "/health")
"""Answered for every Host, too: load balancers ask by any name."""
OPEN = frozenset(
    {HEALTH, Asked("GET", "/"), Asked("GET", "/docs"), *(Asked("GET", f"/page/{name}") for name in PAGE_FILES)}
)
"""They change nothing and need no password: the page, which asks for it, and health checks."""
READS = OPEN | {
    Asked("GET", "/openapi.json"),
    Asked("GET", "/v1/about"),
    Asked("GET", "/v1/query"),
    Asked("POST", "/v1/query"),
    Asked("GET", "/v1/search"),
    Asked("GET", "/v1/suggest"),
    Asked("GET", "/v1/explain"),
    Asked("GET", "/v1/words"),
    Asked("GET", "/v1/objects"),
    Asked("GET", "/v1/buckets"),
    Asked("GET", "/v1/collections"),
    Asked("GET", "/v1/count"),
    Asked("GET", "/v1/exists"),
    Asked("GET", "/v1/stats"),
    Asked("GET", "/v1/figures"),
    Asked("POST", "/v1/verify"),
}
"""They change nothing."""
BULK = Asked("POST", "/v1/bulk")
"""Its body is a stream of rows, which may be of any length."""
UNLIMITED = frozenset(
    {BULK, *(Asked("POST", f"/v1/{verb}") for verb in ("consolidate", "backup", "restore", "verify"))}
)
"""Their answers may take as long as they need."""

GRANTED = "sonicpy.operation"
"""The key of a scope that holds the operation that the gate let pass; a route answers for its own one alone."""


class Offered:
    """An operation of an application. A request asks for an operation if its path is that of the route, to the letter.

    Args:
        routes: of the application. Nobody can ask for those without methods, such as mounts, and for those with
            parameters in their path.
    """

    def __init__(self, routes: Iterable[Any]) -> None:
        self._methods: dict[str, dict[str, Asked]] = {}
        for route in routes:
            for method in getattr(route, "methods", None) or ():
                if method != "HEAD" and "{" not in route.path:
                    self._methods.setdefault(route.path, {})[method] = Asked(method, route.path)

    def find(self, scope: Mapping[str, Any]) -> Asked | None:
        """Return the operation that a request asks for, HEAD as GET; None: there is none."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        return self._methods.get(path_of(scope), {}).get(method)

    def methods_of(self, path: str) -> list[str]:
        """Return the methods that a path answers, sorted; none if there is nothing at it."""
        return sorted(self._methods.get(path, ()))


def path_of(scope: Mapping[str, Any]) -> str:
    """Return the path of a request below the place where the application is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(f"{root}/") else path
