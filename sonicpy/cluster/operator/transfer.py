"""Import and backup of whole clusters: `sonicpy cluster import`, `backup` and `restore`.

An import reads the synonyms of a folder or backup, the mirrors of its buckets, then each object with its words, in the
order in which the objects were pushed, and appends them to the logs as a node does. So it works with any number of
partitions, while the cluster serves: to grow, restore a backup into a cluster with more partitions. After an error run
it again: a second import of the same folder changes no object, and only counts the texts of a bucket by language twice,
which leaves their proportions.

    <backup>/cluster.json             partitions, analyser, position and chain of each snapshot
    <backup>/0007/sonicpy.backup      the newest snapshot of a partition, as `sonicpy backup` writes one
"""

import asyncio
import contextlib
import dataclasses
import json
import shutil
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nats.aio.client import Client

from sonicpy.cluster.log.agreement import Agreement
from sonicpy.cluster.log.jetstream import JetStream
from sonicpy.cluster.log.writer import LogWriter, OpenBatch
from sonicpy.cluster.node.claim import NameClaim
from sonicpy.cluster.node.known_rules import rules_of
from sonicpy.cluster.node.snapshots import load
from sonicpy.cluster.operator.emptiness import what_is_held
from sonicpy.cluster.operator.imported_synonyms import SynonymRecords, rules_in_cluster
from sonicpy.cluster.operator.single_import import WRITER, only_import
from sonicpy.cluster.operator.spread_collection import set_parts
from sonicpy.cluster.peers.questions import Question
from sonicpy.cluster.registry.orders import Order
from sonicpy.cluster.registry.registry import Layout, cluster_at
from sonicpy.cluster.registry.status import ask_nodes, why_not
from sonicpy.cluster.registry.watched import give_watched_order
from sonicpy.config import Config
from sonicpy.disk import sync_file, sync_folder
from sonicpy.errors import ConfigError, StoreError
from sonicpy.files import make_one, new_bytes, regular_bytes
from sonicpy.ids import Scope
from sonicpy.index.index import Index
from sonicpy.index.ingest.exported import DIGEST_KEY, change_of_facts
from sonicpy.index.maintenance.verify import holds_store
from sonicpy.index.read_only_index import ReadOnlyIndex
from sonicpy.index.recorder import RECORD_BYTES_MAX, Recorder, RecordTooLong
from sonicpy.index.report.export import ExportedObject, facts_of, scopes_of
from sonicpy.store.care.backup import BACKUP_FILE, open_backup
from sonicpy.store.care.replica_backup import install_backup
from sonicpy.store.disk.platform import make_folder, replace_file
from sonicpy.store.fields.all_fields import ORDER, TEXTS
from sonicpy.store.rows.meta import ANALYZER

if TYPE_CHECKING:
    from sonicpy.cluster.operator.recover import Say

BATCHES_WAITING_MAX = 64
"""The most batches that wait for their acknowledgement, over all partitions."""
NOTES_FILE = "cluster.json"
NOT_SPREAD: Mapping[str, int] = MappingProxyType({})
TERM_BYTES = 48
"""The upper bound of the bytes of a word in a record, without the word itself."""
PLACE_BYTES = 4
"""The upper bound of the bytes of a place in the order of words in a record."""


def import_folder(brokers: str, folder: Path, config: Config, say: "Say") -> int:
    """Push the objects of a store, a backup, or a cluster's backup into a cluster; return their number.

    Args:
        config: the settings of the cluster's nodes.
        say: called with a line for each folder.

    Raises:
        ConfigError: the brokers hold no cluster, or the settings are not those of the cluster; or another import, or
            `sonicpy cluster spread`, runs.
        StoreError: the folder holds no store and no backup, or an incomplete one of a cluster; the brokers do not
            answer, or a partition did not acknowledge in time; a collection would have too many rules of synonyms.
    """
    return asyncio.run(_import(brokers, sources_in(folder), config, say))


def restore(brokers: str, folder: Path, config: Config, say: "Say") -> int:
    """Push the backup of a cluster into an empty one; return the number of objects.

    Spread collections are spread again, into at most as many parts as there are partitions. A collection that is
    already spread in the empty cluster stays so.

    Args, errors: as `import_folder`; ConfigError also if the folder holds no such backup, StoreError also if its
        `cluster.json` is damaged, or the cluster is not empty.
    """
    sources, spread = _read_notes(folder)
    return asyncio.run(_import(brokers, sources, config, say, only_empty=True, spread=spread))


def backup(brokers: str, folder: Path, say: "Say") -> int:
    """Write a snapshot of every partition into a folder; return their size in bytes.

    Each partition is consistent in itself; the moments of different partitions differ.

    Args:
        folder: created; it must not exist, or must be empty.
        say: called with a line for each partition.

    Raises:
        ConfigError: the brokers hold no cluster, or the folder is not empty.
        StoreError: the brokers do not answer, `folder` is no folder, or a partition could not be written. The folder
            then holds no `cluster.json`.
    """
    try:
        is_taken = folder.exists() and any(folder.iterdir())
    except OSError as error:
        raise StoreError(f"cannot make a backup in {folder}: {error.strerror}; allowed is a new folder") from error
    if is_taken:
        raise ConfigError(f"{folder} is not empty; allowed is a new folder.")
    return asyncio.run(_backup(brokers, folder, say))


def sources_in(folder: Path) -> list[Path]:
    """Return the folder if it holds a store or a backup; else those of all partitions, if it holds the backup of a
    cluster; else the numbered folders in it that hold a store.

    Raises:
        StoreError: none of them is there, or the backup of a cluster is incomplete.
    """
    if (folder / NOTES_FILE).exists():
        return _read_notes(folder)[0]
    if _holds_content(folder):
        return [folder]
    numbered = [path for path in sorted(folder.glob("[0-9]" * 4)) if _holds_content(path)]
    if not numbered:
        raise StoreError(f"{folder} holds neither a store nor a backup")
    if any((path / BACKUP_FILE).exists() for path in numbered):
        raise StoreError(
            f"{folder} holds an incomplete backup of a cluster, without {NOTES_FILE}; allowed is a folder that sonicpy "
            "cluster backup has finished"
        )
    return numbered


def _holds_content(folder: Path) -> bool:
    return holds_store(folder) or (folder / BACKUP_FILE).exists()


def made_with(folder: Path) -> Mapping[str, str]:
    """Return the analysis settings of a backup, or of a cluster's backup. Raises StoreError."""
    with open_backup(sources_in(folder)[0]) as environment, environment.reading() as transaction:
        return ANALYZER.read(transaction) or {}


@contextlib.contextmanager
def opened(source: Path, config: Config) -> Iterator[Index]:
    """Open a store or a backup for reading, for the length of a `with` block. Raises StoreError."""
    with contextlib.ExitStack() as stack:
        if not (source / BACKUP_FILE).exists():
            yield stack.enter_context(ReadOnlyIndex(source, config))
            return
        parent = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sonicpy-import-")))
        copied = parent / "backup"
        make_one(copied)
        with regular_bytes(source / BACKUP_FILE) as held, new_bytes(copied / BACKUP_FILE) as file:
            shutil.copyfileobj(held, file)
        install_backup(copied, parent / "store")
        yield stack.enter_context(ReadOnlyIndex(parent / "store", config))


# -- into a cluster ----------------------------------------------------------------------------------------------------


class Appender:
    """Appends records to the logs of a cluster, several batches at a time."""

    def __init__(self, connection: Client, layout: Layout, claim: NameClaim, agreed: Agreement) -> None:
        log = JetStream(connection)
        self._layout = layout
        self._writers = [
            LogWriter(log, number, WRITER, claim.incarnation, lambda batch, position: None, claim=claim)
            for number in range(layout.logs)
        ]
        for writer in self._writers:
            writer.agreed = agreed
        self._waiting: deque[OpenBatch] = deque()

    async def add(self, collection: str, bucket: str, object: str, record: bytes) -> None:
        """Append a record. Raises StoreError if an earlier one was not acknowledged, and as `LogWriter.add`."""
        await self._add(self._layout.partition_of(collection, bucket, object), record)

    async def _add(self, partition: int, record: bytes) -> None:
        batch = self._writers[self._layout.log_of(partition)].add(partition, record)
        if not self._waiting or self._waiting[-1] is not batch:
            self._waiting.append(batch)
        while len(self._waiting) > BATCHES_WAITING_MAX:
            await self._waiting.popleft().done

    async def add_to_all(self, record: bytes) -> None:
        """Append a record to the log of every partition. Raises as `add`."""
        for partition in range(self._layout.partitions):
            await self._add(partition, record)

    async def add_to_parts(self, collection: str, bucket: str, record: bytes) -> None:
        """Append a record to the log of every partition that holds a bucket. Raises as `add`."""
        for partition in self._layout.parts_of(collection, bucket):
            await self._add(partition, record)

    async def finish(self) -> None:
        """Wait until everything is acknowledged. Raises StoreError."""
        while self._waiting:
            await self._waiting.popleft().done

    async def stop(self) -> None:
        """Stop appending: unacknowledged batches are given up."""
        for writer in self._writers:
            await writer.stop()


Begin = Callable[[], Awaitable[Appender]]
"""Changes the cluster as the first record needs it, if that was not done before; returns the appender."""


async def _import(
    brokers: str,
    sources: list[Path],
    config: Config,
    say: "Say",
    *,
    only_empty: bool = False,
    spread: Mapping[str, int] = NOT_SPREAD,
) -> int:
    async with _appending(brokers, config, only_empty=only_empty, spread=spread) as (connection, recorder, begin):
        total = 0
        synonyms = SynonymRecords(recorder, partial(rules_in_cluster, connection))
        for source in sources:
            with opened(source, config) as index:
                check_same_analyzer(source, index, recorder)
                objects = 0
                for record in await synonyms.of(source, index):  # each record is made, and so checked, before `begin`
                    await (await begin()).add_to_all(record)
                for scope, record in records_of_facts(recorder, index):
                    await (await begin()).add_to_parts(*scope, record)
                for held in index.holdings():
                    objects += 1
                    for record in records_of(recorder, held):
                        await (await begin()).add(held.collection, held.bucket, held.object, record)
            await (await begin()).finish()
            say(f"{source}: {objects} objects")
            total += objects
    return total


def check_same_analyzer(source: Path, index: Index, recorder: Recorder) -> None:
    """Raise ConfigError unless the texts of an index were cut as those of the cluster are."""
    found, agreed = index.engine.analyzer(), recorder.analyzer()
    for key in sorted({*found, *agreed}):
        if found.get(key) != agreed.get(key):
            raise ConfigError(
                f"{source} was made with {key} = {found.get(key, 'unset')}; allowed is {agreed.get(key, 'unset')}, as "
                "in the cluster: make an empty cluster by sonicpy cluster init --like."
            )


@contextlib.asynccontextmanager
async def _appending(
    brokers: str, config: Config, *, only_empty: bool, spread: Mapping[str, int]
) -> AsyncIterator[tuple[Client, Recorder, Begin]]:
    async with (
        cluster_at(brokers, "sonicpy cluster import") as (connection, registry),
        only_import(connection, registry) as claim,
    ):
        layout = await registry.layout()
        recorder = Recorder(config)
        recorder.follow(await registry.fitting_analyzer(recorder.analyzer(), recorder.older_analyzer()))
        agreed = await registry.agreement()
        recorder.take_rules(rules_of(agreed))
        if only_empty:
            await _check_empty(connection, layout)
        begun: list[Appender] = []

        async def begin() -> Appender:
            if not begun:
                await registry.agree_on_analyzer(recorder.analyzer())
                wanted = parts_wanted(layout, spread)
                now = await set_parts(connection, registry, wanted) if spread else layout
                begun.append(Appender(connection, now, claim, agreed))
            return begun[0]

        try:
            yield connection, recorder, begin
        finally:
            for appender in begun:
                await appender.stop()


def parts_wanted(layout: Layout, spread: Mapping[str, int]) -> dict[str, int]:
    """Return the number of parts for each collection that was spread in the backup."""
    return {**{name: min(parts, layout.partitions) for name, parts in spread.items()}, **dict(layout.spread)}


async def _check_empty(connection: Client, layout: Layout) -> None:
    """Raise StoreError if the cluster holds a collection, or does not answer."""
    if held := await what_is_held(connection, layout, Question("collections_after", (None, 1), is_strong=True)):
        raise StoreError(
            f"cannot restore into this cluster, {held}; allowed is an empty cluster: sonicpy cluster import adds the "
            "backup to the content of a cluster"
        )


def records_of_facts(recorder: Recorder, index: Index) -> Iterator[tuple[Scope, bytes]]:
    """Yield the bucket and the record of the facts, such as mirrors, of each bucket that has any. As after a claim, all
    parts of a bucket have them.
    """
    with index.engine.snapshot_of_now() as view:
        for scope, state in scopes_of(view, None, None):
            if facts := facts_of(view, state, with_rules=True):
                yield scope, recorder.record_of(change_of_facts(*scope, facts))


def records_of(recorder: Recorder, held: ExportedObject) -> Iterator[bytes]:
    """Yield the records that push an object with its words; several if a single one would be too long for the log.

    Raises:
        RecordTooLong: a text whose order is kept, or the other fields of the object, are too long for a record.
    """
    try:
        records = iter((_record_of(recorder, held),))
    except RecordTooLong:
        records = (_record_of(recorder, part) for part in parts_of(held))
    yield from records


def _record_of(recorder: Recorder, held: ExportedObject) -> bytes:
    names = held.collection, held.bucket, held.object
    recorder.push_terms(*names, held.terms, held.hidden, held.rules, held.languages, held.fields)
    return recorder.take_record()


def parts_of(held: ExportedObject) -> Iterator[ExportedObject]:
    """Yield parts of an object, each of about half the bytes of a record. A list of the order comes with its words, of
    which other parts may have some, too. There is no digest: it would say that the first part is the whole text.
    """
    fields = {name: field for name, field in held.fields.items() if name not in (ORDER.name, DIGEST_KEY)}
    pieces = held.fields.get(ORDER.name) or []
    placed = {word for piece in pieces for word in piece}
    units = [({word for word in piece if word is not None}, [piece]) for piece in pieces]
    units += [({word}, []) for word in (*held.terms, *held.hidden) if word not in placed]
    named = [word for words in fields.get(TEXTS.name, {}).values() for word in words]
    part: set[str] = set()
    order: list[list[str | None]] = []
    languages, size = held.languages, _bytes_of(named)
    for words, lists in units:
        more = _bytes_of(words - part) + PLACE_BYTES * sum(map(len, lists))
        if (part or fields) and size + more > RECORD_BYTES_MAX // 2:
            yield _part_of(held, part, order, fields, languages)
            part, order, fields, languages, size = set(), [], {}, "", 0
            more = _bytes_of(words) + PLACE_BYTES * sum(map(len, lists))
        part |= words
        order += lists
        size += more
    yield _part_of(held, part, order, fields, languages)


def _bytes_of(words: Iterable[str]) -> int:
    return sum(len(word.encode()) + TERM_BYTES for word in words)


def _part_of(
    held: ExportedObject, words: set[str], order: list[list[str | None]], fields: dict[str, Any], languages: str
) -> ExportedObject:
    return dataclasses.replace(
        held,
        terms={word: tf for word, tf in held.terms.items() if word in words},
        hidden={word: tf for word, tf in held.hidden.items() if word in words},
        fields={**fields, ORDER.name: order} if order else fields,
        languages=languages,
    )


# -- out of a cluster --------------------------------------------------------------------------------------------------


async def _backup(brokers: str, folder: Path, say: "Say") -> int:
    async with cluster_at(brokers, "sonicpy cluster backup") as (connection, registry):
        layout = await registry.layout()
        _make(folder)
        answers = await ask_nodes(connection, layout)
        notes: dict[str, object] = {}
        size = 0
        for partition in range(layout.partitions):
            await give_watched_order(connection, _source(layout, answers, partition), Order("snapshot", partition))
            manifest = (await registry.snapshots(partition))[0]
            await load(partition, manifest, registry.vault, folder / f"{partition:04}")
            await asyncio.get_running_loop().run_in_executor(None, _sync, folder / f"{partition:04}")
            notes[str(partition)] = dataclasses.asdict(manifest)
            size += manifest.size
            say(f"partition {partition}: {manifest.size} bytes, at {manifest.position}")
        _write_notes(folder, {"layout": dataclasses.asdict(layout), "partitions": notes})
        return size


def _source(layout: Layout, answers: dict[str, Any], partition: int) -> str:
    """Return a node whose replica of a partition answers. Raises StoreError if there is none."""
    for node in layout.holders(partition):
        if why_not(answers, node, partition) is None:
            return node
    raise StoreError(f"partition {partition} cannot be saved: no node that holds it answers")


def _make(folder: Path) -> None:
    """Create the folder of a backup on the disk. Raises StoreError."""
    try:
        make_folder(folder)
    except OSError as error:
        raise StoreError(f"cannot make {folder}: {error.strerror}") from error


def _sync(folder: Path) -> None:
    """Wait until the disk has the backup of a partition. Raises StoreError."""
    try:
        with regular_bytes(folder / BACKUP_FILE) as file:
            sync_file(file.fileno())
        sync_folder(folder)
    except OSError as error:
        raise StoreError(f"cannot write the backup {folder}: {error.strerror}") from error


def _write_notes(folder: Path, notes: dict[str, object]) -> None:
    """Write the description of a backup to the disk. Without it the folder counts as incomplete. Raises StoreError."""
    try:
        replace_file(folder / NOTES_FILE, json.dumps(notes, indent=1).encode())
    except OSError as error:
        raise StoreError(f"cannot write {folder / NOTES_FILE}: {error.strerror}") from error


def _read_notes(folder: Path) -> tuple[list[Path], dict[str, int]]:
    """Return the folders of the partitions of a backup, and the number of parts of each spread collection.

    Raises:
        ConfigError: the folder holds no backup of a cluster.
        StoreError: the description of the backup cannot be read, or a partition is missing.
    """
    path = folder / NOTES_FILE
    try:
        found = json.loads(path.read_bytes())
        numbers = sorted(int(number) for number in found["partitions"])
        if not numbers or numbers != [*range(found["layout"]["partitions"])]:
            raise ValueError("it does not describe each partition once")
        spread = {str(name): int(parts) for name, parts in found["layout"].get("spread", ())}
    except FileNotFoundError as error:
        allowed = "allowed is a folder written by sonicpy cluster backup"
        raise ConfigError(f"{folder} holds no {NOTES_FILE}; {allowed}.") from error
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path} is damaged; allowed is the file that sonicpy cluster backup wrote") from error
    sources = [folder / f"{number:04}" for number in numbers]
    for source in sources:
        if not (source / BACKUP_FILE).exists():
            raise StoreError(
                f"the backup {folder} is incomplete: {source / BACKUP_FILE} is missing; allowed is the whole folder as "
                "sonicpy cluster backup wrote it"
            )
    return sources, spread
