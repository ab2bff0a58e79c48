"""Clusters whose first node cut Chinese by letters, as version 1.0 did without the extra [zh]: they go on so."""

import asyncio
import json
from pathlib import Path

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.operator.transfer import check_same_analyzer  # noqa: E402
from sonicpy.cluster.registry.registry import Registry  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from sonicpy.errors import ConfigError, StoreError  # noqa: E402
from sonicpy.index.index import Index  # noqa: E402
from sonicpy.index.recorder import Recorder  # noqa: E402
from sonicpy.index.replica_index import ReplicaIndex  # noqa: E402
from sonicpy.rules import NEWEST  # noqa: E402
from sonicpy.search import Search  # noqa: E402
from sonicpy.store.rows.log_progress import LogProgress  # noqa: E402
from tests.cluster.memory import MemoryVault  # noqa: E402
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


def test_a_folder_that_is_cut_otherwise_is_not_imported(tmp_path: Path) -> None:
    words, letters = Recorder(MODES[0]), older_recorder(MODES[0])
    with Index(tmp_path, MODES[0]) as index:
        check_same_analyzer(tmp_path, index, words)
        with pytest.raises(ConfigError, match=r"was made with extras\.zh = True; allowed is False, as in the cluster"):
            check_same_analyzer(tmp_path, index, letters)
