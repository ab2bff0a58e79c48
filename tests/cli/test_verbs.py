"""Tests of the verbs that change and search an index: the same output for a folder and a server; errors, stdin,
JSON.
"""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.cli.main import main
from sonicpy.cli.parser import MODULES, VERBS, make_parser
from sonicpy.version import VERSION
from tests.cli.conftest import Run
from tests.processes import Server, environment, free_port, run_here
from tests.support.patience import WAIT_S

TypeIn = Callable[[bytes], None]

CONVERSATION = [
    ("push c b o1 'Hello from Nantes'", ""),
    ("push c b o2 'hello hello world' --json", '{"object": "o2"}\n'),
    ("push c b o3 'the nantes' --lang eng", ""),
    ("query c b hello", "o2\no1\n"),
    ("query c b hello --limit 1", "o2\n"),
    ("query c b hello --offset 1", "o1\n"),
    ("query c b nobody", ""),
    ("query c b nobody --json", '{"query": "nobody", "hits": []}\n'),
    ("query c b 'nantes the' --limit 1 --lang none", "o3\n"),
    ("suggest c b nan", "nantes\n"),
    ("suggest c b w --json", '["world"]\n'),
    ("suggest c b zzz", ""),
    ("list c b", "from\nhello\nnantes\nthe\nworld\n"),
    ("list c b --limit 2 --offset 1 --json", '["hello", "nantes"]\n'),
    ("count c", "1\n"),
    ("count c b", "5\n"),
    ("count c b o1 --json", '{"count": 3, "of": "words"}\n'),
    ("count c --of objects", "3\n"),
    ("count c b --of objects --json", '{"count": 3, "of": "objects"}\n'),
    ("push c a 7 hello --lang en-GB", ""),
    ("upsert c a 7 'just this' --lang en-GB", ""),
    ("query c a hello", ""),
    ("upsert c a 7 hello --json", '{"object": "7"}\n'),
    ("ls c", "a\nb\n"),
    ("ls c --json", '["a", "b"]\n'),
    ("ls c b", "o1\no2\no3\n"),
    ("ls c b --limit 1 --after o1 --json", '["o2"]\n'),
    ("ls c b --prefix o3", "o3\n"),
    ("ls c nobody", ""),
    ("flush c a", "1\n"),
    ("pop c b o1 'from nantes'", "2\n"),
    ("pop c b o1 nobody --json", '{"popped": 0}\n'),
    ("consolidate", ""),
    ("flush c b o3", "2\n"),
    ("flush c absent", "0\n"),
    ("flush c b absent", "0\n"),
    ("pop c b absent word", "0\n"),
    ("tag c absent o1 --tags red", "0\n"),
    ("similar c b absent", ""),
    ("synonyms d", ""),
    ("flush c --json", '{"flushed": 1}\n'),
    ("count c", "0\n"),
]


ABSENT = {
    ("ls c nobody", ""): "collection 'c' has no bucket 'nobody'",
    ("count c", "0\n"): "there is no collection 'c'",
    ("flush c absent", "0\n"): "collection 'c' has no bucket 'absent'",
    ("flush c b absent", "0\n"): "bucket 'b' of collection 'c' has no object 'absent'",
    ("pop c b absent word", "0\n"): "bucket 'b' of collection 'c' has no object 'absent'",
    ("tag c absent o1 --tags red", "0\n"): "collection 'c' has no bucket 'absent'",
    ("similar c b absent", ""): "bucket 'b' of collection 'c' has no object 'absent'",
    ("synonyms d", ""): "there is no collection 'd'",
}
"""(line, answer) -> the remark beside the answer."""


def test_a_folder_is_asked_and_changed(run: Run) -> None:
    for line, answer in CONVERSATION:
        assert run(*shlex.split(line), "--data", "d", said=ABSENT.get((line, answer), "")) == answer, line


def test_a_server_is_asked_and_changed_with_the_same_output(run: Run, shared_server: Server) -> None:
    for line, answer in CONVERSATION:
        server = f"sonic://127.0.0.1:{shared_server.port}"
        assert run(*shlex.split(line), "--server", server, said=ABSENT.get((line, answer), "")) == answer, line


def test_collections_are_listed_and_options_of_objects_need_a_bucket(run: Run) -> None:
    for collection in ("second", "first"):
        run("push", collection, "b", "o", "hello", "--data", "d")
    assert run("ls", "--data", "d") == "first\nsecond\n"
    assert run("ls", "--data", "d", "--json") == '["first", "second"]\n'
    said = "flag --after is for objects: name a collection and a bucket, too."
    run("ls", "first", "--after", "o", "--data", "d", status=2, said=said)
    run("ls", "first", "b", "--after", "gone", "--data", "d", status=1, said="after is 'gone', which is no object")
    run(
        "count",
        "first",
        "--of",
        "words",
        "--data",
        "d",
        status=2,
        said="flag --of is 'words'; allowed for a collection",
    )


def test_a_terminal_is_told_what_was_counted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("push", "c", "b", "o", "hello world", "--data", "d")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run("count", "c", "b", "--data", "d") == "2 words\n"
    assert run("count", "c", "--of", "objects", "--data", "d") == "1 object\n"


def test_scores_and_totals(run: Run, shared_server: Server) -> None:
    for oid, text in (("o1", "hello"), ("o2", "hello hello")):
        run("push", "c", "b", oid, text, "--data", "d")
        run("push", "scores", "b", oid, text, "--server", f"sonic://127.0.0.1:{shared_server.port}")
    with Index("d") as index:
        best, second = (index.query("c", "b", "hello")[place].score for place in (0, 1))
    assert best is not None
    assert second is not None
    assert run("query", "c", "b", "hello", "--data", "d", "--scores", "--total") == (
        f"o2\t{best:.4f}\no1\t{second:.4f}\ntotal\t2\n"
    )
    server = f"sonic://127.0.0.1:{shared_server.port}"
    assert run("query", "scores", "b", "hello", "--server", server, "--total", "--limit", "1") == "o2\ntotal\t2\n"
    hits = [{"object": "o2", "score": best}, {"object": "o1", "score": second}]
    found = json.loads(run("query", "c", "b", "hello", "--data", "d", "--json", "--total", "--limit", "1"))
    assert found == {"query": "hello", "hits": hits[:1], "total": 2, "whole": 2}


def test_words_need_not_stand_for_their_other_forms(run: Run, shared_server: Server) -> None:
    for where in (("--data", "d"), ("--server", f"sonic://127.0.0.1:{shared_server.port}")):
        for oid in ("runs", "running"):
            run("push", "forms", "b", oid, oid, *where)
        typed = ("forms", "b", "running", "--lang", "eng", *where)
        assert run("query", *typed) == "running\nruns\n"
        assert run("query", *typed, "--no-stem") == "running\n"
        assert len(json.loads(run("explain", *typed, "--json"))["hits"]) == 2
        assert len(json.loads(run("explain", *typed, "--json", "--no-stem"))["hits"]) == 1


def test_long_templates_are_no_files(run: Run) -> None:
    run("push", "c", "b", "1", "amber", "--data", "d")
    template = "/" + "x" * 300 + "?{object}"
    assert run("query", "c", "b", "amber", "--data", "d", "--show", template) == f"1\t/{'x' * 300}?1\n"
    said = "none of these objects has the value"
    assert run("query", "c", "b", "amber", "--data", "d", "--show", ",".join(["name"] * 100), said=said)


def test_synonyms_come_from_the_standard_input(run: Run, type_in: TypeIn, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in("größe, size\r\n\n# none\ntv => television\n".encode())
    run("synonyms", "c", "--set", "-", "--data", "d")
    assert run("synonyms", "c", "--data", "d") == "größe, size\ntv => television\n"
    monkeypatch.setattr(sys, "stdin", None)
    run("synonyms", "c", "--set", "-", "--data", "d", status=1, said="the standard input is closed")


def test_texts_come_from_the_standard_input(run: Run, type_in: TypeIn) -> None:
    type_in("Größen\n Nantes\n".encode())
    run("push", "c", "b", "o1", "-", "--data", "d")
    assert run("list", "c", "b", "--data", "d") == "grössen\nnantes\n"
    type_in("nantes\n\nnobody\n  größen \n".encode())
    assert run("query", "c", "b", "-", "--data", "d") == "nantes\to1\ngrößen\to1\n"
    type_in(b"nantes\nnobody\n")
    lines = run("query", "c", "b", "-", "--data", "d", "--json").splitlines()
    assert [(json.loads(line)["query"], len(json.loads(line)["hits"])) for line in lines] == [
        ("nantes", 1), ("nobody", 0)
    ]  # fmt: skip
    type_in(b"nantes")
    assert run("pop", "c", "b", "o1", "-", "--data", "d") == "1\n"


def test_what_is_no_utf8(run: Run, type_in: TypeIn, capsys: pytest.CaptureFixture[str]) -> None:
    type_in(b"good\n\xff\n")
    run("push", "c", "b", "o", "-", "--data", "d", status=1, said="sonicpy: the standard input is not UTF-8: byte 5\n")
    type_in(b"good\n\xff\n")
    run("push", "c", "b", "o", "good", "--data", "d")
    said = "sonicpy: line 2 of the standard input is not UTF-8\n"
    assert run("query", "c", "b", "-", "--data", "d", status=1, said=said) == "good\to\n"
    for verb in (["push", "c", "b", "o"], ["query", "c", "b"], ["suggest", "c", "b"]):
        said = "sonicpy: the argument 'a\\udcff' is not UTF-8.\n"
        run(*verb, "a\udcff", "--data", "d", status=2, said=said)
    assert main(["query", "c", "b", "\udcff", "--data", "d"]) == 2
    assert capsys.readouterr().err == "sonicpy: the argument '\\udcff' is not UTF-8.\n", "and that alone"


def test_stats(run: Run) -> None:
    run("push", "c", "b", "o", "hello", "--data", "d")
    figures = json.loads(run("stats", "--data", "d", "--json"))
    with Index("d") as index:
        assert figures.keys() == index.stats().keys()
    lines = dict(line.split("\t") for line in run("stats", "c", "b", "--data", "d").splitlines())
    assert lines["objects"] == "1"


VERBS_OF_AN_INDEX = [
    "query c b x",
    "explain c b x",
    "suggest c b x",
    "list c b",
    "count c",
    "stats",
    "export",
    "pop c b o x",
    "flush c",
    "consolidate",
    "compact",
    "backup x",
]


def test_no_index_is_made_where_there_is_none(run: Run, here: Path) -> None:
    for verb in VERBS_OF_AN_INDEX:
        assert run(*verb.split(), "--data", "d", status=1, said="sonicpy: there is no index in d") == ""
        assert not (here / "d").exists()


def test_a_folder_is_read_while_a_server_writes_it(run: Run, server: Server, tmp_path: Path) -> None:
    folder, url = str(tmp_path / "store"), f"sonic://127.0.0.1:{server.port}"
    run("push", "c", "b", "o", "hello", "--server", url)
    run("consolidate", "--server", url)  # and so committed
    assert run("query", "c", "b", "hello", "--data", folder) == "o\n"
    assert run("list", "c", "b", "--data", folder) == "hello\n"
    assert run("suggest", "c", "b", "he", "--data", folder) == "hello\n"
    assert run("count", "c", "b", "--data", folder) == "1\n"
    assert '"terms":{"hello":1}' in run("export", "--data", folder)
    assert run("stats", "--data", folder) != ""
    for verb in (["push", "c", "b", "o", "x"], ["flush", "c"], ["import", "rows.jsonl"]):
        Path("rows.jsonl").touch()
        said = f"is already open for writing by process {server.pid}, a server: connect to it at {url} (in a shell: "
        run(*verb, "--data", folder, status=1, said=said + f"--server {url}), ")


def test_ping(run: Run, locked_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"127.0.0.1:{locked_server.port}"
    answer = f"{address} answers: sonicpy {VERSION}\n"
    assert run("ping", "--server", f"sonic://:SecretPassword@{address}") == answer
    run("ping", "--server", f"sonic://{address}", status=1, said="the server requires a password")
    monkeypatch.setenv("SONICPY_SERVER", f"sonic://{address}")
    monkeypatch.setenv("SONICPY_PASSWORD", "SecretPassword")
    assert run("ping") == answer
    assert run("ping", "--inet", address).startswith(f"{address} answers: CONNECTED ")
    run("ping", "--server", f"sonic://{address}", "--tls", status=2, said="with --server, the URL contains them")
    closed = f"127.0.0.1:{free_port()}"
    run("ping", "--server", f"sonic://{address},{closed}", status=1, said=f"{closed} cannot be reached")
    assert run("ping", "--server", f"sonic://{address},sonic://{address}") == 2 * answer


def test_several_servers(run: Run, locked_server: Server) -> None:
    urls = f"sonic://:SecretPassword@127.0.0.1:{free_port()},127.0.0.1:{locked_server.port}"
    run("push", "several", "b", "o", "x", "--server", urls)
    assert run("count", "several", "b", "o", "--server", urls) == "1\n"
    run("count", "several", "--server", urls + ",", status=2, said="no host beside a comma")


def test_where_the_index_is(run: Run, here: Path, locked_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sonic://127.0.0.1:{locked_server.port}"
    run("push", "where", "b", "o", "x", "--server", url, status=1, said="the server requires a password")
    monkeypatch.setenv("SONICPY_PASSWORD", "SecretPassword")
    run("push", "where", "b", "o", "x", "--server", url)
    run("count", "where", "--server", f"sonic://:wrong@127.0.0.1:{locked_server.port}", status=1, said="password")
    monkeypatch.setenv("SONICPY_SERVER", url)
    assert run("count", "where") == "1\n"
    run("count", "where", "--data", "d", status=1, said="there is no index in d")
    (here / "x.cfg").write_text('store.kv.path = "elsewhere"')
    run("count", "where", "-c", "x.cfg", status=1, said="there is no index in elsewhere")
    run("count", "where", "--data", "d", "--server", url, status=2, said="allowed is one of the two.\n")
    run("count", "where", "--server", "http://x", status=2, said='begins with "http:"')


WRONG_ARGUMENTS = [
    ("push two\u00a0words b o x", "COLLECTION"),
    ("push c b", "allowed are COLLECTION [BUCKET] OBJECT TEXT"),
    ("query c b x --limit -1", "--limit"),
    ("query c b x --lang english", "--lang"),
    ("count", "COLLECTION"),
    ("dance", "dance"),
]


def test_wrong_arguments_end_with_status_2(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, what in WRONG_ARGUMENTS:
        with pytest.raises(SystemExit) as exit_:
            main(arguments.split(" "))
        assert exit_.value.code == 2
        assert what in capsys.readouterr().err
        assert not list(here.iterdir())


def test_every_verb_has_an_example_and_stands_in_the_overview() -> None:
    overview = {line.split()[0] for line in VERBS.splitlines() if line.startswith("  ")}
    assert overview == set(MODULES)
    for verb, module in MODULES.items():
        parser = make_parser([verb])
        (verbs,) = (action.choices for action in parser._actions if isinstance(action.choices, dict))
        assert f"example: sonicpy {verb} " in f"{verbs[verb].format_help()} ", verb
        assert {name for name in verbs if MODULES[name] != module} == set()


def test_a_reader_that_leaves_early_is_no_error(run: Run) -> None:
    with Index("d") as index:
        index.push("c", "b", "o", " ".join(f"word{number}" for number in range(20_000)), "none")
    command = [sys.executable, "-m", "sonicpy", "list", "c", "b", "--limit", "20000", "--data", "d"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment({})) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"word0\n"
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_output_that_cannot_be_written(run: Run) -> None:
    run("push", "c", "b", "o", "hello", "--data", "d")
    command = [sys.executable, "-m", "sonicpy", "list", "c", "b", "--data", "d"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment({}), timeout=WAIT_S)
    assert (done.returncode, done.stderr) == (1, b"sonicpy: the output: No space left on device\n")


def test_a_verb_loads_what_it_needs() -> None:
    code = "import sys; from sonicpy.cli.parser import make_parser; make_parser(['serve']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=WAIT_S)
    loaded = set(done.stdout.split())
    assert "sonicpy.cli.serve" in loaded
    assert not loaded & {"sonicpy.client", "sonicpy.cli.search", "sonicpy.cli.ingest", "tqdm"}


def test_a_terminal_without_the_letters(run: Run) -> None:
    with Index("d") as index:
        index.push("c", "b", "o", "größen")
    command = [sys.executable, "-m", "sonicpy", "list", "c", "b", "--data", "d"]
    done = subprocess.run(
        command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=True, timeout=WAIT_S
    )
    assert done.stdout == b"gr\\xf6ssen\n"


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_json_and_toml_are_utf8_on_any_terminal(run: Run, encoding: str) -> None:
    with Index("d") as index:
        index.push("c", "b", "größen", "größen 🎉")

    def printed(*words: str) -> str:
        command = [sys.executable, "-m", "sonicpy", *words, "--data", "d"]
        legacy = {**os.environ, "PYTHONIOENCODING": encoding}
        return subprocess.run(command, capture_output=True, env=legacy, check=True, timeout=WAIT_S).stdout.decode()

    assert json.loads(printed("list", "c", "b", "--json")) == ["grössen", "🎉"]
    assert json.loads(printed("ls", "c", "b", "--json")) == ["größen"]
    assert json.loads(printed("export").splitlines()[1])["terms"].keys() == {"grössen", "🎉"}
    Path("s.cfg").write_text('server.secret = "größe größe größe größe größe 🎉🎉"\n', encoding="utf-8")
    run("keys", "add", "k", "--bucket", "c", "--filter", "größe", "--data", "d", said="channel.auth_password")
    assert tomllib.loads(printed("keys", "export"))["k"]["filter"] == "größe"
    settings = tomllib.loads(printed("config", "show", "-c", "s.cfg", "--show-password"))
    assert "größe 🎉🎉" in settings["server"]["secret"]


def test_what_a_server_cannot_do_is_a_sentence(run: Run, shared_server: Server) -> None:
    said = "sonicpy: internal_error: the server failed; its log has the reason\n"
    run("restore", "/nowhere", "--server", f"sonic://127.0.0.1:{shared_server.port}", status=1, said=said)


def test_query_prints_facets_below_the_hits(tmp_path: Path) -> None:
    with Index(tmp_path / "index") as index:
        index.push("shop", "default", "o1", "linen shirt", tags=["size:m", "red"], values={"price": 1900})
        index.push("shop", "default", "o2", "silk shirt", tags=["size:xl"], values={"price": 9900})
    flags = ["--data", str(tmp_path / "index"), "--sort", "price"]
    asked = ["query", "shop", "shirt", *flags, "--facets", "size:*", "--ranges", "price: 0,5000"]
    status, output, _ = run_here(asked, tmp_path)
    assert status == 0
    assert output.splitlines() == ["o1", "o2", "size:m\t1", "size:xl\t1", "price 0..5000\t1", "price 5000..\t1"]
    status, output, _ = run_here(["query", "shop", "", *flags, "--filter", "NOT red"], tmp_path)
    assert (status, output) == (0, "o2\n")
    status, _, said = run_here(["query", "shop", "shirt", *flags, "--filter", "red AND"], tmp_path)
    assert status != 0 and "the filter ends too early; allowed at letter 8 is a tag" in said
