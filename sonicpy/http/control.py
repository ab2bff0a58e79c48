"""Operations that look after an index, and health checks."""

from fastapi import APIRouter
from starlette.exceptions import HTTPException

from sonicpy.http.backend import Backend
from sonicpy.http.models import DoneJson, FaultsJson, Figures, FolderBody, HealthJson
from sonicpy.http.routes import router


def control_routes(backend: Backend) -> APIRouter:
    """Return the operations over a backend."""
    routes = router("control")

    @routes.get("/v1/stats")
    async def stats(collection: str | None = None, bucket: str | None = None) -> Figures:
        """Return figures about the index, a collection or a bucket."""
        found: Figures = await backend.call("stats", collection, bucket)
        return found

    @routes.get("/v1/figures")
    async def figures() -> Figures:
        """Return the figures of this moment: rates, latencies, memory."""
        return await backend.figures()

    @routes.post("/v1/consolidate")
    async def consolidate() -> DoneJson:
        """Build the word graphs of all buckets whose words changed."""
        await backend.call("consolidate")
        return DoneJson()

    @routes.post("/v1/verify")
    async def verify() -> FaultsJson:
        """Check the tables against each other."""
        return FaultsJson(faults=await backend.call("verify"))

    @routes.post("/v1/backup")
    async def backup(body: FolderBody) -> DoneJson:
        """Write a backup into a folder of the index's machine."""
        await backend.call("backup", body.folder)
        return DoneJson()

    @routes.post("/v1/restore")
    async def restore(body: FolderBody) -> DoneJson:
        """Replace the collections that a backup holds."""
        await backend.call("restore", body.folder)
        return DoneJson()

    @routes.get("/health")
    async def health() -> HealthJson:
        """Return 200 if requests are answered, else 503. Needs no password."""
        reason = await backend.unready()
        if reason is not None:
            raise HTTPException(503, reason)
        return HealthJson(status="ok")

    return routes
