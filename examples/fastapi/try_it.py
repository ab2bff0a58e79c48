"""Ask the routes without a browser."""

from urllib.parse import urlencode

from app import app
from fastapi.testclient import TestClient

with TestClient(app) as browser:
    for route, text in [("suggest", "metro"), ("suggest", "the metro"), ("suggest", ""), ("search", "metroplis")]:
        address = f"/{route}?{urlencode({'text': text})}"
        print(address, browser.get(address).json())
    print("/", browser.get("/").status_code)
