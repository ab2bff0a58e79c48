"""Ways to break the protection of the store against loss of power, for tests of these tests: each must be detected."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from sonicpy.files import Access
from sonicpy.graph.graph_pool import GraphPool
from sonicpy.index import engine
from sonicpy.index.maintenance import maintainer
from sonicpy.store.care import backup
from sonicpy.store.disk import boot_mark, checkpoint, environment
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.log import Log
from sonicpy.store.store import Store


def _put(owner: Any, name: str, broken: Callable[..., Any]) -> None:
    """Replace a function. Raises AttributeError if there is none with this name, so that nothing would be broken."""
    mock.patch.object(owner, name, broken).start()


class NoPin:
    """A reader that does not keep its pages from being reused."""

    def abort(self) -> None:
        """Do nothing, so that the transaction stays open."""


def _data_is_not_synced() -> None:
    _put(checkpoint, "sync_data", lambda descriptor: None)


def _pages_are_used_again() -> None:
    _put(environment, "_pin", lambda env: NoPin())


def _checkpoint_is_not_synced() -> None:
    _put(checkpoint, "sync_file", lambda descriptor: None)


def _log_is_not_synced() -> None:
    _put(Log, "sync", lambda log: log.position)


def _names_of_graphs_are_not_synced() -> None:
    _put(engine, "sync_names", lambda folder: None)


def _graphs_are_deleted_at_once() -> None:
    _put(GraphPool, "leave", lambda pool, bucket, version, commit: pool.remove(bucket, version))


def _backup_has_no_name() -> None:
    _put(backup, "sync_folder", lambda folder: None)


def _mark_is_written_over() -> None:
    _put(boot_mark, "replace_file", _write)


def _write(path: Path, content: bytes, access: Access) -> None:
    path.write_bytes(content)


def _growth_keeps_no_checkpoint() -> None:
    _put(Environment, "_set_map_bytes", lambda environment, size: environment._env.set_mapsize(size))


def _restore_is_not_synced() -> None:
    whole_restore, whole_sync = maintainer.Maintainer.restore, Store.sync
    restoring: list[bool] = []

    def restore(held: maintainer.Maintainer, *given: Any) -> Any:
        restoring.append(True)
        try:
            return whole_restore(held, *given)
        finally:
            restoring.clear()

    _put(maintainer.Maintainer, "restore", restore)
    _put(Store, "sync", lambda store: None if restoring else whole_sync(store))


def _log_goes_too_early() -> None:
    def sync(store: Store) -> None:
        with store._syncing:
            store._log.sync()
            store._log.retire(store._committed_position)
            store._environment.sync()

    _put(Store, "sync", sync)


def _holes_are_made_too_early() -> None:
    _put(Environment, "oldest_commit", lambda environment: environment.last_commit())


WAYS: dict[str, Callable[[], None]] = {
    "the data file is not synced": _data_is_not_synced,
    "pages are used again": _pages_are_used_again,
    "the checkpoint is not synced": _checkpoint_is_not_synced,
    "the log is not synced": _log_is_not_synced,
    "the log goes too early": _log_goes_too_early,
    "the names of graphs are not synced": _names_of_graphs_are_not_synced,
    "graphs are deleted at once": _graphs_are_deleted_at_once,
    "the name of a backup is not synced": _backup_has_no_name,
    "the boot mark is written over": _mark_is_written_over,
    "the map grows without a sync": _growth_keeps_no_checkpoint,
    "holes are made too early": _holes_are_made_too_early,
    "a restore is not synced": _restore_is_not_synced,
}
