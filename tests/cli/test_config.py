"""Tests of `sonicpy config check` and `sonicpy config show`: the output, its stream, and the exit status."""

import json
import os
import socket
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path

import pytest

from sonicpy.cli.main import main
from sonicpy.config import load, to_toml


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty working directory, without settings in the environment or in /etc."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sonicpy.config.searched_files.SEARCHED_FILES", (Path("./sonicpy.cfg"), Path("./config.cfg")))
    for name in [name for name in os.environ if name.upper().startswith("SONIC_")]:
        monkeypatch.delenv(name)
    return tmp_path


CHECKED = [
    ("", "some.cfg is fine.\n", "an empty file"),
    ("search.ranking = 'newest'", "some.cfg is fine.\n", "a setting"),
    (
        "\nserach.ranking = 'newest'\nstore.fst.path = 'fst'\n",
        "some.cfg:2: serach.ranking is not a known key and is ignored; the nearest known key is search.ranking.\n"
        "These settings have no effect here and are ignored: store.fst.path.\n"
        "some.cfg works, with these warnings.\n",
        "warnings come first",
    ),
]

REFUSED = [
    (
        "\n[search]\nquery_limit_default = 'x'",
        'some.cfg:3: search.query_limit_default is "x"; allowed is a whole number from 0 to 65535.',
    ),
    (
        "channel.inet = 'localhost'",
        'some.cfg:1: channel.inet holds "localhost"; allowed is an address and a port, such as '
        '"127.0.0.1:1491", "[::1]:1491" or "localhost:1491", or a list of them.',
    ),
    ("[server", "some.cfg is not TOML: Expected ']' at the end of a table declaration (at end of document)."),
]


def test_a_file_that_works(capsys: pytest.CaptureFixture[str]) -> None:
    for content, printed, why in CHECKED:
        Path("some.cfg").write_text(content)
        assert main(["config", "check", "some.cfg"]) == 0
        assert capsys.readouterr() == (printed, ""), why


@pytest.mark.parametrize("place", ["/nope/model.py", "no_such_package.at_all"])
def test_a_function_that_is_not_there(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("some.cfg").write_text(f'server.embed = "{place}:embed"')
    assert main(["config", "check", "some.cfg"]) == 0
    assert capsys.readouterr() == (
        f"server.embed names {place}, which is not there: texts get no vectors.\n"
        "some.cfg works, with these warnings.\n",
        "",
    )
    Path("model.py").touch()
    Path("some.cfg").write_text(f'server.embed = "{Path("model.py").resolve()}:embed"')
    assert main(["config", "check", "some.cfg"]) == 0
    assert capsys.readouterr() == ("some.cfg is fine.\n", "")


@pytest.mark.parametrize(
    ("content", "address"),
    [
        ('channel.inet = "no-such-host.invalid:1491"', "no-such-host.invalid:1491"),
        ('channel.unix_socket = "/nope/s.sock"', "/nope/s.sock"),
    ],
)
def test_an_address_that_cannot_be_used(content: str, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("some.cfg").write_text(content)
    assert main(["config", "check", "some.cfg"]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith(f"sonicpy: cannot listen on {address}: ")


def test_a_file_that_does_not_work(capsys: pytest.CaptureFixture[str]) -> None:
    for verb, (content, sentence) in product([["config", "check"], ["config", "show", "-c"]], REFUSED):
        Path("some.cfg").write_text(content)
        assert main([*verb, "some.cfg"]) == 2
        assert capsys.readouterr() == ("", f"sonicpy: {sentence}\n")


UNUSABLE = [
    ('server.secret = "short"', "server.secret has 5 characters; allowed are at least 32, chosen at random."),
    ('server.keys = "/nope"', "server.keys: the keys in /nope cannot be read: No such file or directory."),
    (
        'channel = {tls_certificate = "/nope", tls_key = "/nope"}',
        "channel.tls_certificate names /nope, which cannot be read: No such file or directory.",
    ),
    (
        'http.inet = "0.0.0.0:0"',
        "http.inet is 0.0.0.0:0, which other machines reach, and channel.auth_password is not set; allowed are an "
        "address of this machine alone, a password, or http.without_password = true.",
    ),
    (
        'http = {inet = "127.0.0.1:0", hits = "nope.csv"}',
        "http.hits: nope.csv cannot be read as rows that show objects: No such file or directory.",
    ),
    (
        'http = {inet = "127.0.0.1:0", hits = "https://x/{objekt}"}',
        "http.hits: 'https://x/{objekt}' shows no objects; allowed are a URL with {object}, a .jsonl or .csv file, "
        "or module:function.",
    ),
]


@pytest.mark.parametrize(
    ("content", "sentence"), [*UNUSABLE[:1], *(pytest.param(*each, marks=pytest.mark.full) for each in UNUSABLE[1:])]
)
def test_check_ends_as_serve_does(content: str, sentence: str, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("uvicorn")
    Path("some.cfg").write_text(content)
    for verb in ("config check some.cfg", "serve -c some.cfg --inet 127.0.0.1:0 --data ./store"):
        done = subprocess.run([sys.executable, "-m", "sonicpy", *verb.split()], check=False, timeout=60)
        assert done.returncode == 2, verb
        assert capfd.readouterr() == ("", f"sonicpy: {sentence}\n"), verb


def test_check_opens_no_address_and_no_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("uvicorn")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        Path("some.cfg").write_text(f'channel.inet = "{address}"\nhttp.inet = "{address}"\nstore.kv.path = "store"')
        assert main(["config", "check", "some.cfg"]) == 0
    assert [path.name for path in folder.iterdir()] == ["some.cfg"]


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check", "none.cfg"]) == 2
    assert capsys.readouterr().err == "sonicpy: none.cfg cannot be read: No such file or directory.\n"


def test_without_a_name_the_file_of_serve_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check"]) == 0
    assert capsys.readouterr().out == "The environment, without a settings file, is fine.\n"
    Path("config.cfg").write_text("")
    assert main(["config", "check"]) == 0
    assert capsys.readouterr().out == "config.cfg is fine.\n"
    Path("config.cfg").write_text("server = 1")
    assert main(["config", "check"]) == 2


def test_the_environment_is_checked_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SONIC_SERVER__COMPAT", "solr")
    assert main(["config", "check"]) == 2
    assert capsys.readouterr().err == (
        'sonicpy: environment variable SONIC_SERVER__COMPAT: server.compat is "solr"; allowed is "none" or "sonic".\n'
    )


def test_show_prints_what_serve_would_use(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("some.cfg").write_text("server.compat = 'sonic'\nsearch.query_limit_default = 7\nserver.loglevel = 1")
    monkeypatch.setenv("SONIC_SEARCH__LIVE_WORDS", "true")
    assert main(["config", "show", "-c", "some.cfg", "--inet", "127.0.0.1:7", "--data", "/srv"]) == 0
    out, err = capsys.readouterr()
    flags = {"channel.inet": "127.0.0.1:7", "store.kv.path": "/srv"}
    assert out == to_toml(load(Path("some.cfg"), os.environ, flags).config)
    assert 'ranking = "sonic"\nlive_words = true\n' in out
    assert err == (
        "sonicpy: some.cfg:3: server.loglevel is not a known key and is ignored; "
        "the nearest known key is server.log_level.\n"
    )


def test_what_show_prints_is_shown_again(capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "show", "--data", "/srv"])
    shown = capsys.readouterr().out
    Path("shown.cfg").write_text(shown)
    assert main(["config", "show", "-c", "shown.cfg"]) == 0
    assert capsys.readouterr() == (shown, "")


def test_results_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("some.cfg").write_text("search.query_limit_default = 7\nserver.loglevel = 1")
    assert main(["config", "check", "some.cfg", "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert (checked["file"], len(checked["warnings"])) == ("some.cfg", 1)
    assert checked["warnings"][0].startswith("some.cfg:2: server.loglevel is not a known key")
    assert main(["config", "show", "-c", "some.cfg", "--json"]) == 0
    shown = capsys.readouterr().out
    main(["config", "show", "-c", "some.cfg"])
    assert json.loads(shown) == tomllib.loads(capsys.readouterr().out)
    assert json.loads(shown)["search"]["query_limit_default"] == 7


def test_show_keeps_the_password_to_itself(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SONIC_CHANNEL__AUTH_PASSWORD", "babel")
    main(["config", "show"])
    assert 'auth_password = "${env.SONIC_CHANNEL__AUTH_PASSWORD}"\n' in capsys.readouterr().out
    main(["config", "show", "--show-password"])
    assert 'auth_password = "babel"\n' in capsys.readouterr().out


def test_check_takes_the_file_as_other_verbs_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.cfg").write_text("[search]\nranking = 'newest'\n")
    monkeypatch.chdir(tmp_path)
    assert main(["config", "check", "-c", "own.cfg"]) == main(["config", "check", "own.cfg"]) == 0
    assert capsys.readouterr().out == "own.cfg is fine.\n" * 2


def test_the_usage_above_an_error_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["mirror", "shop.db"])
    usage, error = capsys.readouterr().err.splitlines()
    assert usage == "usage: sonicpy mirror [-h] [options] --collection NAME SOURCE"
    assert error.endswith("are required: --collection")
