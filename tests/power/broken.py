"""Ways to break the protection of the store against power loss, for tests of the tests: each must be detected."""

from collections.abc import Callable
from pathlib import Path

from sonicpy.graph.graph_pool import GraphPool
from sonicpy.index import engine
from sonicpy.store.care import backup
from sonicpy.store.disk import boot_mark, checkpoint
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.log import Log
from sonicpy.store.store import Store


class NoPin:
    """A reader that keeps no pages."""

    def abort(self) -> None:
        """Keep the transaction open."""


def _data_is_not_synced() -> None:
    Environment._sync_data = lambda environment: None  # type: ignore[method-assign]


def _pages_are_used_again() -> None:
    Environment._pin = lambda environment: NoPin()  # type: ignore[method-assign]


def _checkpoint_is_not_synced() -> None:
    checkpoint.sync_file = lambda descriptor: None  # type: ignore[attr-defined]


def _log_is_not_synced() -> None:
    Log.sync = lambda log: log.position  # type: ignore[method-assign]


def _names_of_graphs_are_not_synced() -> None:
    engine.sync_names = lambda folder: None


def _graphs_are_deleted_at_once() -> None:
    GraphPool.leave = lambda pool, bucket, version, commit: pool.remove(bucket, version)  # type: ignore[method-assign]


def _backup_has_no_name() -> None:
    backup.sync_folder = lambda folder: None  # type: ignore[attr-defined]


def _mark_is_written_over() -> None:
    boot_mark.replace_file = _write  # type: ignore[attr-defined]


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _growth_keeps_no_checkpoint() -> None:
    Environment._set_map_bytes = lambda environment, size: environment._env.set_mapsize(size)  # type: ignore[method-assign]


def _restore_is_not_synced() -> None:
    whole_finish = engine.Engine.finish

    def finish(held: engine.Engine) -> None:
        """Finish, and skip the sync that follows."""
        whole_finish(held)
        held.store.sync = lambda: delattr(held.store, "sync")  # type: ignore[method-assign]

    engine.Engine.finish = finish  # type: ignore[method-assign]


def _log_goes_too_early() -> None:
    def sync(store: Store) -> None:
        with store._syncing:
            store._log.sync()
            store._log.retire(store._committed_position)
            store._environment.sync()

    Store.sync = sync  # type: ignore[method-assign]


def _holes_are_made_too_early() -> None:
    Environment.oldest_commit = lambda environment: environment.last_commit()  # type: ignore[method-assign]


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
