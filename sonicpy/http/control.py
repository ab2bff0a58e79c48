"""Operations that maintain an index, and health checks."""

from starlette.exceptions import HTTPException

from sonicpy.http.backend import Backend
from sonicpy.http.models import AboutJson, AnyJson, DoneJson, FaultsJson, FolderBody, HealthJson
from sonicpy.http.routes import FlatRoute, Operation
from sonicpy.version import VERSION


def control_operations(backend: Backend, *, read_only: bool) -> list[Operation]:
    """Return the operations over a backend.

    Args:
        read_only: whether the application refuses changes.
    """
    operations = ControlOperations(backend, read_only=read_only)
    return [
        Operation("GET", "/v1/about", operations.about),
        Operation("GET", "/v1/stats", operations.stats),
        Operation("GET", "/v1/figures", operations.figures),
        Operation("POST", "/v1/consolidate", operations.consolidate),
        Operation("POST", "/v1/verify", operations.verify),
        Operation("POST", "/v1/backup", operations.backup),
        Operation("POST", "/v1/restore", operations.restore),
        Operation("GET", "/health", operations.health, route=FlatRoute),
    ]


class ControlOperations:
    """Operations that maintain an index, and health checks."""

    def __init__(self, backend: Backend, *, read_only: bool) -> None:
        self._backend = backend
        self._read_only = read_only

    async def about(self) -> AboutJson:
        """Return the version of this server, and its address for other clients."""
        return AboutJson(version=VERSION, channel=self._backend.channel(), read_only=self._read_only)

    async def stats(self, collection: str | None = None, bucket: str | None = None) -> AnyJson:
        """Return figures about the index, a collection or a bucket."""
        found: AnyJson = await self._backend.call("stats", collection, bucket)
        return found

    async def figures(self) -> AnyJson:
        """Return the figures of this moment: rates, latencies, memory."""
        return await self._backend.figures()

    async def consolidate(self) -> DoneJson:
        """Build the word graphs of all buckets whose words changed."""
        await self._backend.call("consolidate")
        return DoneJson()

    async def verify(self) -> FaultsJson:
        """Check the tables against each other; return the faults as sentences."""
        return FaultsJson(faults=await self._backend.call("verify"))

    async def backup(self, body: FolderBody) -> DoneJson:
        """Write a backup into a folder on the machine of the index."""
        await self._backend.call("backup", body.folder)
        return DoneJson()

    async def restore(self, body: FolderBody) -> DoneJson:
        """Replace the collections that a backup holds."""
        await self._backend.call("restore", body.folder)
        return DoneJson()

    async def health(self) -> HealthJson:
        """Return 200 if requests are answered, else 503. Needs no password."""
        reason = await self._backend.unready()
        if reason is not None:
            raise HTTPException(503, reason)
        return HealthJson(status="ok")
