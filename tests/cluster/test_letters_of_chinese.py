"""Clusters whose first node cut Chinese by letters, as version 1.0 did without the extra [zh]: they go on so."""

import asyncio
import json
from pathlib import Path

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cli.main import main  # noqa: E402
from sonicpy.client.blocking.connect import connect as connect_client  # noqa: E402
from sonicpy.cluster.operator.dev import HOST, DevCluster  # noqa: E402
from sonicpy.cluster.operator.transfer import check_same_analyzer, import_folder  # noqa: E402
from sonicpy.cluster.registry.registry import Registry  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from sonicpy.errors import ConfigError, StoreError  # noqa: E402
from sonicpy.index.index import Index  # noqa: E402
from sonicpy.index.recorder import Recorder  # noqa: E402
from sonicpy.index.replica_index import ReplicaIndex  # noqa: E402
from sonicpy.rules import NEWEST  # noqa: E402
from sonicpy.search import Search  # noqa: E402
from sonicpy.store.rows.log_progress import LogProgress  # noqa: E402
from tests.cluster.clusters import running, settle  # noqa: E402
from tests.cluster.memory import MemoryVault  # noqa: E402
from tests.cluster.test_moves import urls  # noqa: E402
from tests.index.extras import cut_by_letters  # noqa: E402

TEXT = "我来到北京清华大学"
MODES = [Config(), Config.model_validate({"server": {"compat": "sonic"}})]


def older_recorder(config: Config) -> Recorder:
    """Return the recorder of a node of version 1.0."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        cut_by_letters(monkeypatch)
        return Recorder(config)


def joined(vault: MemoryVault, config: Config) -> Recorder:
    """Return the recorder of a node that has agreed with the cluster, as `ClusterServer` makes it."""
    recorder = Recorder(config)
    agreed = asyncio.run(Registry(vault).agree_on_analyzer(recorder.analyzer(), recorder.older_analyzer()))
    recorder.follow(agreed)
    return recorder


def record_of(recorder: Recorder, oid: str) -> bytes:
    recorder.push("c", "b", oid, TEXT, "cmn")
    return recorder.take_record()


@pytest.mark.parametrize("config", MODES, ids=["default", "compat"])
def test_nodes_of_a_new_cluster_cut_words(config: Config) -> None:
    vault = MemoryVault()
    for _ in range(2):
        assert joined(vault, config).analyzer() == Recorder(config).analyzer()
    assert json.loads(asyncio.run(vault.get("analyser")).value)["extras.zh"] == "True"  # type: ignore[union-attr]


@pytest.mark.parametrize("config", MODES, ids=["default", "compat"])
def test_new_nodes_of_an_older_cluster_cut_as_its_nodes(tmp_path: Path, config: Config) -> None:
    vault, older = MemoryVault(), older_recorder(config)
    asyncio.run(Registry(vault).agree_on_analyzer(older.analyzer()))
    recorder = joined(vault, config)
    assert recorder.analyzer() == older.analyzer() != Recorder(config).analyzer()
    record = record_of(recorder, "o")
    assert record == record_of(older, "o") != record_of(Recorder(config), "o")
    index = ReplicaIndex(tmp_path, recorder)
    index.apply_batch([record], LogProgress(1, 1, "epoch"))
    assert index.engine.store.made_with() == older.analyzer()
    asked = Search("c", "b", "清华", 10, 0, "cmn")
    assert recorder.read_query(asked) == older.read_query(asked)
    assert index.query("c", "b", "清华", lang="cmn").objects == ["o"]
    recorder.take_rules(NEWEST)
    older.take_rules(NEWEST)
    assert record_of(recorder, "p") == record_of(older, "p")
    index.close()
    ReplicaIndex(tmp_path, recorder).close()
    with pytest.raises(StoreError, match=r"made with extras\.zh = false, not true"):
        ReplicaIndex(tmp_path, Recorder(config))


def test_another_difference_is_told_as_ever() -> None:
    vault, older = MemoryVault(), older_recorder(MODES[0])
    asyncio.run(Registry(vault).agree_on_analyzer({**older.analyzer(), "lexer": "1"}))
    with pytest.raises(ConfigError, match="lexer is 2; allowed is 1, as on the other"):
        joined(vault, MODES[0])


class LikeABackup(DevCluster):
    """A cluster that `init` makes like a backup."""

    backup: Path

    def _make(self, deadline: float) -> None:
        super()._make(deadline)
        given = ["--cluster", self.addresses, "--nodes", ",".join(self.layout.nodes), "--like", str(self.backup)]
        given += ["--monitor", ",".join(f"http://{HOST}:{port}" for port in self.monitor_ports.values())]
        given += ["--partitions", str(self.layout.partitions), "--copies", str(self.layout.copies)]
        assert main(["cluster", "init", *given]) == 0


@pytest.mark.full
def test_an_empty_cluster_is_made_like_a_backup(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        cut_by_letters(monkeypatch)
        with Index(tmp_path / "old", MODES[0]) as index:
            index.push("c", "b", "old", TEXT)
            index.backup(tmp_path / "backup")
    cluster = LikeABackup(tmp_path / "cluster", partitions=2, copies=1)
    cluster.backup = tmp_path / "backup"
    with running(cluster):
        upgrade(cluster.addresses)
        assert import_folder(cluster.addresses, tmp_path / "backup", MODES[0], print) == 1
        with connect_client(urls(cluster)) as client:
            client.push("c", "b", "new", TEXT)
            settle(cluster)
            assert sorted(client.query("c", "b", "清华").objects) == ["new", "old"]
            assert client.pop("c", "b", "old", TEXT) == client.pop("c", "b", "new", TEXT) > 0
            settle(cluster)
            assert client.count_objects("c", "b") == 0, "POP removes each term that PUSH stored"
        with Index(tmp_path / "words", MODES[0]) as index:
            index.push("c", "b", "o", TEXT)
        with pytest.raises(ConfigError, match="allowed is False, as in the cluster"):
            import_folder(cluster.addresses, tmp_path / "words", MODES[0], print)


def test_a_folder_that_is_cut_otherwise_is_not_imported(tmp_path: Path) -> None:
    words, letters = Recorder(MODES[0]), older_recorder(MODES[0])
    with Index(tmp_path, MODES[0]) as index:
        check_same_analyzer(tmp_path, index, words)
        with pytest.raises(ConfigError, match=r"was made with extras\.zh = True; allowed is False, as in the cluster"):
            check_same_analyzer(tmp_path, index, letters)
