"""Calls the route without a browser."""

from app import app
from fastapi.testclient import TestClient

with TestClient(app) as browser:
    for text in ("metro", "city lig", "metroplis", ""):
        found = browser.get("/search", params={"text": text}).json()
        print(repr(text), [hit["title"] for hit in found["hits"]], found["suggestions"])
    print("/", browser.get("/").status_code)
