"""Fills the index and calls the route, without a browser."""

from app import app

print(app.test_cli_runner().invoke(args=["fill"]).output, end="")
for text in ("watreproof jackt", "pap", "nothing"):
    found = app.test_client().get("/search", query_string={"text": text}).json
    print(text, "->", [hit["title"] for hit in found["hits"]], found["suggestions"])
with app.test_client().get("/") as page:
    print("/", page.status_code)
