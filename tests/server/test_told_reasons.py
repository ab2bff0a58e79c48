"""A refused argument is refused with the same reason over the channel as over HTTP and in the library."""

import pytest

from tests.processes import Server
from tests.server.peer import Peer

REASONS = [
    ("search", 'QUERY c b "x" AFTER(o)', "invalid_argument(after needs a sort other than score; allowed is "),
    ("search", 'QUERY c b "x" FIELDS(title^-5)', "invalid_argument(fields names 'title^-5'; allowed is a name"),
    (
        "search",
        'FACETS c b "x" RANGES("price: 5,1")',
        "invalid_meta_value(ranges has the bounds '5,1'; allowed are up to",
    ),
    ("ingest", 'SYNONYMS c SET "tee = shirt"', "invalid_argument(the rule 'tee = shirt' has one word alone; allowed"),
    ("ingest", 'PUSH c b o "x" FIELD()', "invalid_argument(field is ''; allowed"),
    ("ingest", "TAG c b o", "invalid_argument(tags is missing, and so is values; allowed"),
]


@pytest.mark.parametrize(("mode", "line", "reason"), REASONS)
def test_the_channel_says_why(shared_server: Server, mode: str, line: str, reason: str) -> None:
    with Peer(shared_server, mode) as peer, Peer(shared_server, "ingest") as ingest:
        assert ingest.ask('PUSH c b o "x"') == "OK"
        assert peer.ask(line).startswith(f"ERR {reason}")
