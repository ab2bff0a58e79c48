"""HTTP and JSON over an index or a client: an ASGI application, and a page to look at an index.

    app = FastAPI()
    app.mount("/search", sonicpy.http.app(sonicpy.open("./data/store")))

application.py  makes the application: routes, middleware, page
backend.py      the source of answers: an index in this process, or a client of a server
many.py         several queries in one request
search.py, ingest.py, control.py   the operations that search, change and maintain
bulk.py         many rows in one request, one JSON object per line
gate.py         checks before and after every request: rights, times, ids
access.py       the operations that change nothing, and those that need no password
hosts.py        the values of Host that an address without a password accepts
bodies.py       the sizes and the pace of bodies
problems.py     errors as problem+json
models.py       the JSON of requests and answers
page/           the page, served as it is

It needs the extra [http]. The server serves it in its own process (sonicpy/server/web/http.py), `sonicpy browse` over a
folder or another server (sonicpy/cli/browse.py).
"""

try:
    from sonicpy.http.application import app
except ModuleNotFoundError as error:
    needed = "sonicpy.http needs fastapi: pip install 'sonicpy-search[http]'"
    raise ModuleNotFoundError(needed, name=error.name) from error

__all__ = ["app"]
