"""Search as you type in FastAPI: one route completes what a user types, the other one searches."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Query, Request
from fastapi.responses import FileResponse

import sonicpy

FILMS = [("film:1", "Metropolis"), ("film:2", "The Metronome"), ("film:3", "City Lights")]
PAGE = Path(__file__).with_name("page.html")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Keep the index open as long as the program runs."""
    with sonicpy.open("./data/films") as index:
        app.state.films = index.bucket("films", "default")
        app.state.films.push_many(FILMS)
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/suggest")
def suggest(request: Request, text: str = Query(max_length=200)) -> list[str]:
    """Complete the last word of a text."""
    films: sonicpy.Bucket = request.app.state.films
    before, blank, word = text.rpartition(" ")
    try:
        return [before + blank + found for found in films.suggest(word, limit=8)]
    except sonicpy.CommandError:  # no word yet, or two in one, such as "a/b"
        return []


@app.get("/search")
def search(request: Request, text: str = Query(max_length=200), limit: int = Query(10, ge=1, le=50)) -> list[str]:
    """Return the films that answer a text, best first."""
    films: sonicpy.Bucket = request.app.state.films
    return films.query(text, limit=limit).objects


@app.get("/")
def page() -> FileResponse:
    """Return the page with the search box."""
    return FileResponse(PAGE)
