"""Fill the index and ask the route, without a browser."""

from app import app

print(app.test_cli_runner().invoke(args=["fill"]).output, end="")
for text in ("watreproof jackt", "pap", "nothing"):
    print(text, "->", app.test_client().get("/search", query_string={"q": text}).json)
