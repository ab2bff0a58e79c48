"""Help for one verb, hints for misspelt words, completion in shells, and messages about texts without words."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sonicpy.cli.completion import SHELLS
from sonicpy.cli.main import main
from sonicpy.cli.parser import MODULES, VERBS
from tests.cli.conftest import Run
from tests.processes import Server
from tests.support.patience import WAIT_S


def said_by(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int | str | None, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    printed = capsys.readouterr()
    return exit_.value.code, printed.out, printed.err


@pytest.mark.parametrize("verb", [["query"], ["config", "show"]])
def test_help_of_a_verb_is_that_of_its_option(capsys: pytest.CaptureFixture[str], verb: list[str]) -> None:
    assert said_by(["help", *verb], capsys) == said_by([*verb, "--help"], capsys)


def test_help_alone_lists_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert VERBS in capsys.readouterr().out


def test_the_command_alone_lists_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = said_by([], capsys)
    assert (status, err) == (0, "")
    assert VERBS in out
    assert said_by(["--help"], capsys) == (0, out, "")


HINTS = [
    (["qurey", "c", "b", "x"], "there is no verb 'qurey'; did you mean query?"),
    (["help", "sugest"], "there is no verb 'sugest'; did you mean suggest?"),
    (["xyzzy"], "there is no verb 'xyzzy'; sonicpy help lists the verbs\n"),
    (
        ["query", "c", "b", "x", "--limt", "3"],
        "sonicpy query: error: unrecognized arguments: --limt 3; did you mean --l",
    ),
    (["query", "c", "b", "x", "--limt=3"], "unrecognized arguments: --limt=3; did you mean --limit?"),
    (
        ["config", "show", "--dta", "d"],
        "sonicpy config show: error: unrecognized arguments: --dta d; did you mean --dat",
    ),
    (["serve", "--wxyz"], "sonicpy serve: error: unrecognized arguments: --wxyz\n"),
    (["import", "f.csv", "--to", "c"], "unrecognized arguments: --to c\n"),
    (["import", "f.csv", "c"], "unrecognized arguments: c; --collection NAME names the collection\n"),
    (["mcp", "--data", "d"], "--data; give the folder or the URL alone: sonicpy mcp WHERE\n"),
    (["count", "c", "--of", "x"], "usage: sonicpy count [-h] [options] COLLECTION [BUCKET] [OBJECT]\n"),
    (["keys", "add", "k", "--bucket", "c", "--rate", "fast"], "'fast' is not a number of requests a second\n"),
    (["config"], "check     find mistakes"),
    (["cluster"], "init, status"),
]


@pytest.mark.parametrize(("arguments", "said"), HINTS)
def test_hints(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    status, out, err = said_by(arguments, capsys)
    assert (status, out) == (2, "")
    assert said in err


def test_texts_without_words(run: Run, shared_server: Server) -> None:
    for where in (["--data", "d"], ["--server", f"sonic://127.0.0.1:{shared_server.port}"]):
        said = "sonicpy: the text holds no letter and no digit, so it adds no words to o1\n"
        for text in ("", "!!!"):
            assert run("push", "nowords", "b", "o1", text, *where, said=said) == ""
        said = "sonicpy: the text holds no letter and no digit, so no object matches it\n"
        assert run("query", "nowords", "b", "!?", *where, said=said) == ""
        said = "'!?' holds no letter and no digit; suggest completes one word.\n"
        run("suggest", "nowords", "b", "!?", *where, status=2, said=said)


class TestCompletion:
    """Scripts made by shtab."""

    @pytest.fixture(autouse=True)
    def need_shtab(self) -> None:
        pytest.importorskip("shtab", reason="needs shtab, which the extra completion installs")

    @pytest.mark.parametrize("shell", SHELLS)
    def test_every_verb_is_completed(self, run: Run, shell: str) -> None:
        script = run("completion", shell)
        assert [verb for verb in MODULES if verb not in script] == []
        assert "--durability" not in script
        assert "alternates" not in script
        assert "sonicpy" in script

    @pytest.mark.parametrize(
        ("words", "completed"),
        [
            (["sonicpy", "que"], {"query"}),
            (["sonicpy", "config", "sh"], {"show"}),
            (["sonicpy", "query", "c", "b", "x", "--lim"], {"--limit"}),
            (["sonicpy", "completion", "f"], {"fish"}),
        ],
    )
    def test_bash(self, run: Run, here: Path, words: list[str], completed: set[str]) -> None:
        if shutil.which("bash") is None:
            pytest.skip("needs bash")
        (here / "script").write_text(run("completion", "bash"))
        program = (
            f"source ./script; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
            '$(complete -p sonicpy | grep -o -- "-F [^ ]*" | cut -c4-) sonicpy; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=WAIT_S, check=True)
        assert set(done.stdout.split()) == completed, done.stderr


def test_completion_without_its_package(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    said = "sonicpy: completion needs shtab: pip install 'sonicpy-search[completion]'\n"
    assert run("completion", "bash", status=1, said=said) == ""
