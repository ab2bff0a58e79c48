"""A bucket for each tenant: its name comes from the session of the user, never from a request."""

from dataclasses import dataclass

import sonicpy


@dataclass(frozen=True)
class Session:
    """The login of a user."""

    user: str
    tenant: str


class Notes:
    """The notes of all tenants in one index."""

    def __init__(self, index: sonicpy.Index) -> None:
        self._index = index

    def of(self, session: Session) -> sonicpy.Bucket:
        """Return the notes of the tenant of a session, and no others."""
        return self._index.bucket("notes", session.tenant)

    def forget(self, tenant: str) -> None:
        """Erase all notes of a tenant."""
        self._index.flush("notes", tenant)


def main() -> None:
    """Search for the same word as two tenants."""
    ann, bob = Session("ann", "acme"), Session("bob", "bolt")
    with sonicpy.open(":memory:") as index:
        notes = Notes(index)
        notes.of(ann).push_many([("note:1", "Contract with the printer"), ("note:2", "Holidays in May")])
        notes.of(bob).push_many([("note:1", "Contract, first draft"), ("note:2", "Questions about the contract")])
        print("acme finds", notes.of(ann).query("contract").objects)
        print("bolt finds", sorted(notes.of(bob).query("contract").objects))
        print(f"acme holds {notes.of(ann).count_objects()} objects, bolt {notes.of(bob).count_objects()}")
        notes.forget("acme")
        print("acme leaves; it finds", notes.of(ann).query("contract").objects)
        print("bolt still finds", sorted(notes.of(bob).query("contract").objects))


if __name__ == "__main__":
    main()
