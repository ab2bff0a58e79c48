"""Tests of the displays of objects: by a URL, by rows of a file, by a function; links that could run code are left
out.
"""

import json
import sys
from pathlib import Path

import pytest

from sonicpy.api.shown import LONG_TEXT_MAX, TEXT_MAX, Shown, safe, shows
from sonicpy.errors import ConfigError

FUNCTION = (
    "def shown(collection, bucket, names):\n    return {'1': {'title': f'{collection} {bucket}', 'link': '/one'}}\n"
)


def test_a_url_is_filled_in() -> None:
    show = shows("https://shop.example/{collection}/{bucket}?id={object}")
    assert show("goods", "a b", ["1", "x/y&z"]) == [
        Shown(link="https://shop.example/goods/a%20b?id=1"),
        Shown(link="https://shop.example/goods/a%20b?id=x%2Fy%26z"),
    ]


def test_the_cut_of_a_long_text_is_seen(tmp_path: Path) -> None:
    texts = ["x" * TEXT_MAX, "x" * LONG_TEXT_MAX, "x y" * LONG_TEXT_MAX]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"id": number, "text": text}) + "\n" for number, text in enumerate(texts)))
    function = {str(number): {"text": text} for number, text in enumerate(texts)}
    for most, whole in ((TEXT_MAX, 1), (LONG_TEXT_MAX, 2)):
        for show in (shows(str(path), most), shows(lambda *scope: function, most)):
            shown = [each.text or "" for each in show("c", "b", ["0", "1", "2"])]
            assert shown[:whole] == texts[:whole]
            for text, cut in zip(texts[whole:], shown[whole:], strict=True):
                assert cut[-1] == "\u2026" and text.startswith(cut[:-1]) and most - 1 <= len(cut) <= most + 1
    assert shows(str(path))("c", "b", ["2"]) == shows(str(path), TEXT_MAX)("c", "b", ["2"])


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_rows_of_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    csv = "id,title,text,link\n1,One,,/one\n2,,A text,javascript:alert(1)\n"
    json = '{"id": 1, "title": "One", "link": "/one"}\n\n'
    json += '{"object": "2", "text": "A text", "link": "javascript:alert(1)"}\n'
    path.write_text(csv if name.endswith("csv") else json)
    assert shows(str(path))("c", "b", ["2", "1", "3"]) == [Shown(text="A text"), Shown("One", link="/one"), Shown()]


def test_rows_with_other_columns_show_those_that_an_import_would_take(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("Price,Product Name,SKU,Description\n9,Lamp,a1,Brass,too many\n8,Desk,b2,\n")
    assert shows(str(path))("c", "b", ["a1", "b2"]) == [Shown("Lamp", "Brass"), Shown("Desk")]
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, "title": "One"}\n{"id": 2, "name": "not for display"}\n')
    assert shows(str(path))("c", "b", ["1", "2"]) == [Shown("One"), Shown()], "the first row has columns of its own"


def test_rows_of_one_collection_or_bucket(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,title,collection,bucket\n1,Any,,\n1,Goods,goods,\n1,Red,goods,red\n2,Blue,,blue\n")
    show = shows(str(path))
    shown = [show(*scope, ["1", "2"]) for scope in (("x", "y"), ("goods", "y"), ("goods", "red"), ("x", "blue"))]
    assert [[each.title for each in one] for one in shown] == [
        ["Any", None], ["Goods", None], ["Red", None], ["Any", "Blue"],
    ]  # fmt: skip


def test_a_function_of_a_module_or_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_of_test.py").write_text(FUNCTION)
    monkeypatch.syspath_prepend(tmp_path)
    for setting in ("shop_of_test:shown", f"{tmp_path}/shop_of_test.py:shown"):
        assert shows(setting)("c", "b", ["1", "2"]) == [Shown("c b", link="/one"), Shown()]
    sys.modules.pop("shop_of_test", None)


WRONG = [
    ("https://x/{objekt}", "shows no objects; allowed are a URL with {object}, a .jsonl or .csv file"),
    ("nothing", "allowed are a URL with {object}, a .jsonl or .csv file, or module:function"),
    ("javascript:alert('{object}')", "allowed are links that begin with http:, https: or a path"),
    ("missing.csv", "cannot be read as rows that show objects: No such file or directory"),
    ("no_such_module:function", "which shows objects, cannot be imported: No module named 'no_such_module'"),
    ("json:no_such_function", "cannot be imported"),
    ("/no/such/file.py:function", "cannot be imported"),
]


@pytest.mark.parametrize("content", ["def show(", "nothing", "raise KeyError('x')", "import sys; sys.path.no"])
def test_a_module_that_cannot_be_run_gets_a_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / "module.py").write_text(content)
    with pytest.raises(ConfigError, match="which shows objects, cannot be imported"):
        shows(f"{tmp_path}/module.py:show")


@pytest.mark.parametrize(("setting", "said"), WRONG)
def test_a_setting_that_names_nothing_gets_a_sentence(setting: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        shows(setting)
    assert said in str(refused.value)


def test_rows_without_an_id_get_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("colour,title\n1,One\n")
    with pytest.raises(ConfigError, match="a row has no column id or object"):
        shows(str(tmp_path / "rows.csv"))


def test_rows_that_are_nested_too_deeply_get_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(f'{{"id": 1, "title": {"[" * 100_000}\n')
    with pytest.raises(ConfigError, match="cannot be read as rows that show objects: a row is nested too deeply"):
        shows(str(tmp_path / "rows.jsonl"))


def test_only_links_that_run_no_code_are_kept() -> None:
    for link in ("https://a.example/", "HTTP://a.example", "/one", "one?b=c:d", "#top"):
        assert safe(link) == link
    for link in (
        "javascript:alert(1)",
        " java\nscript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "//evil.example",
        "file:///etc",
    ):
        assert safe(link) is None
