"""A search box in FastAPI: one page, and the route that it asks while a user types."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import FileResponse

import sonicpy

FILMS = {
    "1": ("Metropolis", "A city of towers, the people below it, and a machine with a face"),
    "2": ("The Metronome", "A pianist counts the days until her concert"),
    "3": ("City Lights", "A tramp, a flower girl, and a millionaire who forgets"),
}
PAGE = Path(__file__).with_name("page.html")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Keep the index open as long as the program runs."""
    with sonicpy.open(":memory:") as index:
        app.state.films = index.bucket("films", "default")
        app.state.films.push_many((key, " ".join(texts)) for key, texts in FILMS.items())
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/search")
def search(request: Request, text: str = Query(max_length=200)) -> dict[str, Any]:
    """Return the films that answer a text, with its words marked, and words that complete its last word."""
    films: sonicpy.Bucket = request.app.state.films
    explained = films.explain(text, limit=10)
    hits = []
    for hit in explained.hits:
        title, summary = (sonicpy.highlight(each, explained, escape=True) for each in FILMS[hit.object])
        hits.append({"title": title, "text": summary})
    return {"hits": hits, "suggestions": completions(films, text)}


def completions(films: sonicpy.Bucket, text: str) -> list[str]:
    """Return words that complete the last word of a text."""
    try:
        return films.suggest(text, limit=5)
    except sonicpy.CommandError:  # no word yet, or two in one, such as "a/b"
        return []


@app.get("/")
def page() -> FileResponse:
    """Return the page with the search box."""
    return FileResponse(PAGE)
