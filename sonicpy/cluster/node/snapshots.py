"""Snapshots of partitions at the brokers: a new replica begins with one, so old entries of the log can be deleted.

A snapshot is the backup of a replica, cut into chunks. It is valid once it has been read back from the brokers. The log
is cut off below the older of the two newest snapshots, but keeps all entries that a replica which answers still needs.
"""

import asyncio
import logging
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from nats.aio.client import Client

from sonicpy.cluster.log.broker import Epoch, LogGone
from sonicpy.cluster.log.jetstream import JetStream
from sonicpy.cluster.log.vault import Vault
from sonicpy.cluster.registry.orders import NotDone, Order
from sonicpy.cluster.registry.registry import Layout, Manifest, Registry, cluster_at
from sonicpy.cluster.registry.status import NAMED_MAX, ask_nodes, why_not
from sonicpy.cluster.registry.watched import Asleep, give_watched_order
from sonicpy.errors import SonicError, StoreError
from sonicpy.files import PRIVATE, Access, make_all, new_bytes, regular_bytes
from sonicpy.store.care.backup import BACKUP_FILE
from sonicpy.store.care.replica_backup import install_backup, progress_of_backup
from sonicpy.store.rows.log_progress import LogProgress

if TYPE_CHECKING:
    from sonicpy.cluster.node.replica import Replica

logger = logging.getLogger(__name__)

CHUNK_BYTES = 512 << 10
KEPT = 2
CHUNK_S = 5.0
"""The longest wait in seconds until every broker has an acknowledged chunk."""
CHUNK_PAUSE_S = 0.05
UNFINISHED, NEW = ".unfinished", ".new"
"""The suffixes of the folders of a snapshot that is being taken, and of a replica that is being read from one."""


async def save(replica: "Replica", registry: Registry) -> int:
    """Take a snapshot of a replica, and delete all but the newest two; return its position; 0: the replica is empty.

    Raises:
        StoreError: it could not be taken; earlier snapshots are kept, and its own chunks dropped.
    """
    if not replica.applied:
        return 0
    loop = asyncio.get_running_loop()
    replica.note_progress()
    replica.committer.commit()
    with TemporaryDirectory(dir=replica.index.folder.parent, prefix="snapshot-", suffix=UNFINISHED) as name:
        folder = Path(name)
        await loop.run_in_executor(None, replica.index.engine.store.backup, folder)
        progress = await loop.run_in_executor(None, progress_of_backup, folder)
        path = folder / BACKUP_FILE
        size = path.stat().st_size
        manifest = Manifest(progress.position, progress.epoch, progress.chain, -(-size // CHUNK_BYTES), size)
        kept = await registry.snapshots(replica.partition)
        if kept and kept[0].position == manifest.position:
            return manifest.position
        try:
            with regular_bytes(path) as file:
                for number in range(manifest.chunks):
                    name = chunk_name(replica.partition, manifest, number)
                    await registry.vault.put_chunk(name, file.read(CHUNK_BYTES))
            await load(replica.partition, manifest, registry.vault, folder / "again")
        except BaseException:
            await _give_up(replica.partition, manifest, registry)
            raise
    await registry.note_snapshots(replica.partition, [manifest, *kept[: KEPT - 1]])
    for old in kept[KEPT - 1 :]:
        await registry.vault.drop_chunks(f"{replica.partition}.{old.position}")
    return manifest.position


async def _give_up(partition: int, manifest: Manifest, registry: Registry) -> None:
    """Drop the chunks of a snapshot that failed, unless another node has taken a snapshot at the same position."""
    try:
        if all(known.position != manifest.position for known in await registry.snapshots(partition)):
            await registry.vault.drop_chunks(f"{partition}.{manifest.position}")
    except SonicError as error:
        logger.warning("chunks of a snapshot of partition %d that failed stay at the brokers: %s", partition, error)


def delete_unfinished(parent: Path) -> None:
    """Delete the folders of snapshots that a process was taking or reading when it was killed."""
    for suffix in (UNFINISHED, NEW):
        for folder in parent.glob(f"*{suffix}"):
            shutil.rmtree(folder, ignore_errors=True)


async def forget(partition: int, registry: Registry) -> None:
    """Drop the snapshots of a partition, because their log is gone. Raises SonicError."""
    for old in await registry.snapshots(partition):
        await registry.vault.drop_chunks(f"{partition}.{old.position}")
    await registry.note_snapshots(partition, [])


async def load(partition: int, manifest: Manifest, vault: Vault, folder: Path, access: Access = PRIVATE) -> None:
    """Read a snapshot back into a folder, as a backup, in files with the modes of `access`.

    Raises:
        StoreError: it is damaged, or cannot be written.
    """
    try:
        await _load(partition, manifest, vault, folder, access)
    except OSError as error:  # such as a full disk
        raise StoreError(f"cannot write the snapshot of partition {partition} to {folder}: {error.strerror}") from error


async def _load(partition: int, manifest: Manifest, vault: Vault, folder: Path, access: Access) -> None:
    make_all(folder, access)
    with new_bytes(folder / BACKUP_FILE, access) as file:
        for number in range(manifest.chunks):
            file.write(await _chunk(vault, chunk_name(partition, manifest, number)))
    loop = asyncio.get_running_loop()
    progress = await loop.run_in_executor(None, progress_of_backup, folder)
    if (progress.position, progress.epoch, progress.chain) != (manifest.position, manifest.epoch, manifest.chain):
        raise StoreError(f"the snapshot of partition {partition} at {manifest.position} holds another position")


async def _chunk(vault: Vault, name: str) -> bytes:
    """Return a chunk of a snapshot; try again, because the broker that answers may be a little behind."""
    for _ in range(int(CHUNK_S / CHUNK_PAUSE_S)):
        try:
            return await vault.get_chunk(name)
        except StoreError:
            await asyncio.sleep(CHUNK_PAUSE_S)
    return await vault.get_chunk(name)


async def is_needed(known: LogProgress, partition: int, epoch: Epoch, registry: Registry) -> bool:
    """Return whether a replica has to begin with a snapshot.

    If there is a snapshot, an empty replica has to begin with it: even a log with its first entry may be incomplete,
    because it may have been made again after the brokers had lost their data.

    Raises:
        NotReady: no broker answers.
    """
    if known.epoch not in ("", epoch.name):
        return False
    if epoch.first > known.position + 1:
        return True
    return not known.epoch and any(found.epoch == epoch.name for found in await registry.snapshots(partition))


async def replace_folder(
    partition: int, epoch: Epoch, registry: Registry, folder: Path, access: Access = PRIVATE
) -> None:
    """Replace the folder of a replica that is too old by the newest snapshot, in files with the modes of `access`.

    Raises:
        LogGone: no snapshot reaches the log.
        StoreError: the snapshot cannot be read.
    """
    for manifest in await registry.snapshots(partition):
        if manifest.epoch == epoch.name and manifest.position + 1 >= epoch.first:
            fresh = folder.with_name(folder.name + NEW)
            shutil.rmtree(fresh, ignore_errors=True)
            try:
                await load(partition, manifest, registry.vault, fresh, access)
                await asyncio.get_running_loop().run_in_executor(None, install_backup, fresh, folder, access)
            finally:  # a part of a snapshot would fill the disk further
                shutil.rmtree(fresh, ignore_errors=True)
            return
    raise LogGone(f"the log of partition {partition} begins at {epoch.first}, and no snapshot reaches it")


def chunk_name(partition: int, manifest: Manifest, number: int) -> str:
    """Return the name of chunk `number` of a partition's snapshot."""
    return f"{partition}.{manifest.position}.{number}"


# -- the command -------------------------------------------------------------------------------------------------------


def snapshot_all(brokers: str) -> list[dict[str, Any]]:
    """Make the nodes take a snapshot of every partition, and cut the logs off; return the results by partition.

    Raises:
        ConfigError: the brokers hold no cluster.
        NotReady: the brokers do not answer.
        StoreError: a partition has no new snapshot, or a log was not cut off; this is raised after all others have been
            tried.
    """
    return asyncio.run(_snapshot_all(brokers))


async def _snapshot_all(brokers: str) -> list[dict[str, Any]]:
    async with cluster_at(brokers, "sonicpy cluster snapshot") as (connection, registry):
        layout = await registry.layout()
        log = JetStream(connection)
        answers = await ask_nodes(connection, layout)
        errors: list[StoreError] = []
        for partition in range(layout.partitions):
            try:
                await _take_one(connection, layout, answers, partition)
            except StoreError as error:
                errors.append(error)
        answers = await ask_nodes(connection, layout)
        done: list[dict[str, Any]] = []
        for number in range(layout.logs):
            try:
                done += await _trim(number, log, registry, layout, answers)
            except StoreError as error:
                errors.append(error)
        if errors:
            more = [f"and {len(errors) - NAMED_MAX} more"] if len(errors) > NAMED_MAX else []
            raise StoreError("; ".join([*map(str, errors[:NAMED_MAX]), *more])) from errors[0]
        return sorted(done, key=lambda one: int(one["partition"]))


async def _take_one(connection: Client, layout: Layout, answers: dict[str, Any], partition: int) -> None:
    """Make one of the nodes that hold a partition take a snapshot of it.

    Args:
        answers: the nodes' reports about themselves; a node that stops answering is removed.

    Raises:
        StoreError: no node has taken one.
    """
    reasons = []
    for node in layout.holders(partition):
        why = why_not(answers, node, partition)
        if why is None:
            try:
                await give_watched_order(connection, node, Order("save", partition))
                return
            except NotDone as error:
                why = error.why
                if isinstance(error, Asleep):
                    del answers[node]
        reasons.append(f"{node}: {why}")
    raise StoreError(f"partition {partition} has no new snapshot ({'; '.join(reasons)})")


async def _trim(
    number: int, log: JetStream, registry: Registry, layout: Layout, answers: dict[str, Any]
) -> list[dict[str, Any]]:
    """Cut log `number` off below the two newest snapshots of each of its partitions, and below the positions of all
    live replicas. Return, for each partition, its newest snapshot and the first position of the log.
    """
    done: list[dict[str, Any]] = []
    needed: list[int] = []
    for partition in layout.partitions_of(number):
        manifests = await registry.snapshots(partition)
        newest = manifests[0] if manifests else Manifest(0, "", "", 0, 0)
        done.append({"partition": partition, "position": newest.position, "bytes": newest.size})
        needed.append(manifests[-1].position if len(manifests) == KEPT else 0)
        for name in layout.holders(partition):
            replica = answers.get(name, {}).get("replicas", {}).get(str(partition))
            needed += [] if replica is None else [int(replica["position"])]
    if min(needed):
        await log.trim(number, min(needed))
    first = (await log.epoch(number)).first
    return [{**one, "log_from": first} for one in done]
