"""Sources of settings: the file, the environment and flags, their precedence, and the location of wrong values."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.config import SEARCHED_FILES, Config, Loaded, load
from sonicpy.config.legacy import KNOWN
from sonicpy.config.settings import value_of
from sonicpy.errors import ConfigError

NO_FLAGS: Mapping[str, object] = {}

TAKEN = [
    ("", {"SONIC_SERVER__COMPAT": "sonic"}, "search.ranking", "sonic", "compat mode by environment"),
    ("", {"sonic_Search__query_alternates_TRY": "0"}, "search.query_alternates_try", 0, "any case, text as number"),
    ("", {"SONIC_SEARCH__LIVE_WORDS": "false"}, "search.live_words", False, "text as switch"),
    ("", {"SONIC_STOPWORDS__DENY": "foo, bar,,"}, "stopwords.deny", ("foo", "bar"), "a list with commas"),
    ("", {"SONIC_STOPWORDS__DENY": ""}, "stopwords.deny", (), "an empty list"),
    ("", {"SONIC_STORE__KV__DATABASE__FLUSH_AFTER": "5"}, "store.kv.database.flush_after", 5, "four levels"),
    ("", {"SONIC_STORE__KV__PATH": "/srv/sonic"}, "store.kv.path", Path("/srv/sonic"), "a path"),
    ("", {"SONIC_FOO": "1", "PATH": "/bin"}, "search.ranking", "bm25", "other variables are left alone"),
    ('search.query_limit_default = "7"', {}, "search.query_limit_default", 7, "a number in quotes"),
    ('channel.inet = "[::1]:1"', {}, "channel.inet", ("[::1]:1",), "one address, as in Sonic"),
    ('channel.inet = ["[::1]:1", "0.0.0.0:1"]', {}, "channel.inet", ("[::1]:1", "0.0.0.0:1"), "several addresses"),
    ("", {"SONIC_CHANNEL__INET": "[::1]:1,0.0.0.0:1"}, "channel.inet", ("[::1]:1", "0.0.0.0:1"), "the same as text"),
    ("", {"SONIC_CHANNEL__UNIX_SOCKET": ""}, "channel.unix_socket", None, "an empty path is none"),
    ("", {"SONIC_METRICS__INET": ""}, "metrics.inet", None, "an empty address is none"),
    ('stopwords.allow = ["the", "of"]', {}, "stopwords.allow", ("the", "of"), "a list"),
    ('normalization.unicode_normalization = "NFC"', {}, "normalization.unicode_normalization", "nfc", "any case"),
    ('server.log_level = "Debug"', {}, "server.log_level", "debug", "any case"),
    (
        "\ufeffchannel.tcp_timeout = 0",
        {},
        "channel.tcp_timeout",
        0,
        "a byte order mark, as editors on Windows write it",
    ),
    ("channel.tcp_timeout = 1\r\n", {}, "channel.tcp_timeout", 1, "line ends of Windows"),
    ('channel.auth_password = "${env.SECRET}"', {"SECRET": "s3"}, "channel.auth_password", "s3", "a reference"),
    ('channel.auth_password = "x${env.SECRET}"', {}, "channel.auth_password", "x${env.SECRET}", "not the whole value"),
    ('channel.auth_password = "${env.A}"', {"A": "${env.B}"}, "channel.auth_password", "${env.B}", "replaced once"),
    (
        "",
        {"SONIC_STORE__KV__PATH": "${env.DATA}", "DATA": "/srv"},
        "store.kv.path",
        Path("/srv"),
        "a reference in a variable",
    ),
    (
        'server.compat = "sonic"\nsearch.ranking = "bm25"',
        {"SONIC_STOPWORDS__MODE": "weigh"},
        "stopwords.mode",
        "weigh",
        "given by environment, so it wins over the compat mode of the file",
    ),
]

PRECEDENCE = [
    ("", {}, None, "warn"),
    ('server.log_level = "error"', {}, None, "error"),
    ('server.log_level = "error"', {"SONIC_SERVER__LOG_LEVEL": "info"}, None, "info"),
    ('server.log_level = "error"', {"SONIC_SERVER__LOG_LEVEL": "info"}, "trace", "trace"),
    ('server.log_level = "error"', {}, "trace", "trace"),
]

WRONG = [
    (
        "[search]\nranking = 'best'",
        {},
        NO_FLAGS,
        'FILE:2: search.ranking is "best"; allowed is "bm25", "sonic" or "newest".',
    ),
    (
        "",
        {"SONIC_SEARCH__LIVE_WORDS": "x"},
        NO_FLAGS,
        'environment variable SONIC_SEARCH__LIVE_WORDS: search.live_words is "x"; allowed is true or false.',
    ),
    (
        "",
        {},
        {"channel.inet": "local host:1491"},
        'flag --inet: channel.inet holds "local host:1491"; allowed is an address and a '
        'port, such as "127.0.0.1:1491", "[::1]:1491" or "localhost:1491", or a list of them.',
    ),
    ("server = 1", {}, NO_FLAGS, "FILE:1: server is 1; allowed is a section with keys."),
    (
        "channel.auth_password = {}",
        {},
        NO_FLAGS,
        "FILE:1: channel.auth_password is a value of type dict; allowed is text in quotes, in UTF-8.",
    ),
    (
        "channel = {auth_password = {}}",
        {},
        NO_FLAGS,
        "FILE:1: channel.auth_password is a value of type dict; allowed is text in quotes, in UTF-8.",
    ),
    (
        "[channel.auth_password]",
        {},
        NO_FLAGS,
        "FILE:1: channel.auth_password is a value of type dict; allowed is text in quotes, in UTF-8.",
    ),
    ("[search]\nranking = {}", {}, NO_FLAGS, 'FILE:2: search.ranking is {}; allowed is "bm25", "sonic" or "newest".'),
    (
        "[[channel]]\nauth_password = 'x'",
        {},
        NO_FLAGS,
        "FILE:1: channel is a value of type list; allowed is a section with keys.",
    ),
    (
        "",
        {"SONIC_CHANNEL": "x"},
        NO_FLAGS,
        'environment variable SONIC_CHANNEL: channel is "x"; allowed is a section with keys.',
    ),
    (
        "channel.auth_password = '${env.MISSING}'",
        {},
        NO_FLAGS,
        'FILE:1: channel.auth_password is "${env.MISSING}", but there is no environment variable MISSING.',
    ),
    (
        "store.fst.pool.inactive_after = 90",
        {"SONIC_STORE__FST__GRAPH__CONSOLIDATE_AFTER": "91"},
        NO_FLAGS,
        "environment variable SONIC_STORE__FST__GRAPH__CONSOLIDATE_AFTER: store.fst.graph.consolidate_after is 91; "
        "allowed is less than store.fst.pool.inactive_after, which is 90.",
    ),
    (
        "channel.inet = []",
        {},
        NO_FLAGS,
        "FILE:1: channel.inet is empty; allowed is at least one address, unless channel.unix_socket is set.",
    ),
    (
        "",
        {"SONIC_CHANNEL__INET": ""},
        NO_FLAGS,
        "environment variable SONIC_CHANNEL__INET: channel.inet is empty; "
        "allowed is at least one address, unless channel.unix_socket is set.",
    ),
    (
        "channel.inet = ['[::1]:1491', 'x']",
        {},
        NO_FLAGS,
        'FILE:1: channel.inet holds "x"; allowed is an address and a port, such as "127.0.0.1:1491", '
        '"[::1]:1491" or "localhost:1491", or a list of them.',
    ),
    (
        "metrics.inet = 'x'",
        {},
        NO_FLAGS,
        'FILE:1: metrics.inet is "x"; allowed is an address and a port, such as "127.0.0.1:1491", "[::1]:1491" or '
        '"localhost:1491".',
    ),
    (
        "channel.tls_certificate = 'a.pem'",
        {},
        NO_FLAGS,
        "FILE:1: channel.tls_certificate is set; allowed is to set channel.tls_key too, or neither.",
    ),
    (
        "",
        {"SONIC_CHANNEL__TLS_KEY": "a.pem"},
        NO_FLAGS,
        "environment variable SONIC_CHANNEL__TLS_KEY: channel.tls_key is set; "
        "allowed is to set channel.tls_certificate too, or neither.",
    ),
    (
        "stopwords.allow = ['der']\nstopwords.deny = ['der']",
        {},
        NO_FLAGS,
        'FILE:2: stopwords.deny holds "der"; allowed are words that stopwords.allow does not hold.',
    ),
    (
        "[server\n",
        {},
        NO_FLAGS,
        "FILE is not TOML: Expected ']' at the end of a table declaration (at line 1, column 8).",
    ),
    (
        '# ranking = "x"\n[search]\nranking = """\n[search]\n"""\nquery_limit_maximum = 70000\n',
        {"SONIC_SEARCH__RANKING": "bm25"},
        NO_FLAGS,
        "FILE:6: search.query_limit_maximum is 70000; allowed is a whole number from 0 to 65535.",
    ),
    (
        '[channel]\nsearch = { query_limit_default = 5,"query_limit_maximum" = -1 }',
        {},
        NO_FLAGS,
        "FILE:2: channel.search.query_limit_maximum is -1; allowed is a whole number from 0 to 65535.",
    ),
    ("a = 1\na = 2", {}, NO_FLAGS, "FILE is not TOML: Cannot overwrite a value (at end of document)."),
]


DOUBTFUL = [
    (
        "[channel.search]\nquery_limit_default = 500",
        {},
        "FILE:2: channel.search.query_limit_default is 500, which is above search.query_limit_maximum (100 by "
        "default); a command without LIMIT still gives up to 500 results.",
    ),
    (
        "\n[search]\nsuggest_limit_maximum = 4",
        {},
        "FILE:3: search.suggest_limit_maximum is 4, which is below search.suggest_limit_default (5 by default); "
        "a command without LIMIT still gives up to 5 results.",
    ),
    (
        "search.list_limit_maximum = 7",
        {"SONIC_SEARCH__LIST_LIMIT_DEFAULT": "8"},
        "environment variable SONIC_SEARCH__LIST_LIMIT_DEFAULT: search.list_limit_default is 8, which is above "
        "search.list_limit_maximum (7); a command without LIMIT still gives up to 8 results.",
    ),
    (
        '[channel]\nauth_password = "two words"',
        {},
        "FILE:2: channel.auth_password holds white space, which Sonic Channel cannot send: no client gets in.",
    ),
]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, without settings in /etc, so that no test reads those of the machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sonicpy.config.searched_files.SEARCHED_FILES", (Path("./sonicpy.cfg"), Path("./config.cfg")))
    return tmp_path


def write(content: str) -> Path:
    path = Path("given.cfg")
    path.write_bytes(content.encode())
    return path


def test_a_value_is_taken() -> None:
    for content, environ, key, value, why in TAKEN:
        loaded = load(write(content), environ, {})
        assert value_of(loaded.config, key) == value, why
        assert loaded.warnings == ()


def test_later_sources_win() -> None:
    for content, environ, flag, level in PRECEDENCE:
        assert load(write(content), environ, {"server.log_level": flag}).config.server.log_level == level


def test_a_wrong_value_says_where_it_stands() -> None:
    for content, environ, flags, sentence in WRONG:
        with pytest.raises(ConfigError) as caught:
            load(write(content), environ, flags)
        assert str(caught.value) == sentence.replace("FILE", "given.cfg")


def test_a_default_above_its_maximum_is_a_warning() -> None:
    for content, environ, sentence in DOUBTFUL:
        warnings = load(write(content), environ, {}).warnings
        assert warnings[-1] == sentence.replace("FILE", "given.cfg")


def test_a_default_of_1_0_is_not_held_against_its_files() -> None:
    loaded = load(write("store.kv.pool.inactive_after = 5"), {}, {})
    assert (loaded.warnings, loaded.ignored) == ((), ("store.kv.pool.inactive_after",))


ENDLESS = ["a = " + "[" * 5000 + "]" * 5000, "a." * 5000 + "a = 1", "[" + "a." * 5000 + "a]"]


def test_nesting_without_end_is_no_traceback() -> None:
    for content in ENDLESS:
        try:
            loaded = load(write(content), {}, {})
        except ConfigError as error:
            assert str(error).startswith("given.cfg is not TOML")
        else:
            assert loaded.config == Config()


def test_without_any_source_the_defaults_hold() -> None:
    loaded = load(None, {}, {"channel.inet": None})
    assert (loaded.source, loaded.warnings, loaded.ignored) == (None, (), ())
    assert loaded.config.channel.inet_is_default


def test_the_first_existing_file_is_read() -> None:
    Path("config.cfg").write_text("channel.tcp_timeout = 2")
    assert load(None, {}, {}).source == Path("config.cfg")
    Path("sonicpy.cfg").write_text("channel.tcp_timeout = 1")
    loaded = load(None, {}, {})
    assert (loaded.source, loaded.config.channel.tcp_timeout) == (Path("sonicpy.cfg"), 1)


def test_a_named_file_replaces_the_search() -> None:
    Path("sonicpy.cfg").write_text("channel.tcp_timeout = 1")
    loaded = load(write("channel.tcp_timeout = 9"), {}, {})
    assert (loaded.source, loaded.config.channel.tcp_timeout) == (Path("given.cfg"), 9)


def test_the_searched_files_are_sonics_and_ours() -> None:
    assert [str(path) for path in SEARCHED_FILES] == [
        "sonicpy.cfg",
        "config.cfg",
        "/etc/sonicpy.cfg",
        "/etc/sonic.cfg",
        "/etc/sonic/config.toml",
        "/etc/sonic/sonic.cfg.toml",
        "/etc/sonic/sonic.cfg",
    ]


def test_a_named_file_must_be_there() -> None:
    with pytest.raises(ConfigError, match=r"^none\.cfg cannot be read: No such file or directory\.$"):
        load(Path("none.cfg"), {}, {})


@pytest.mark.parametrize("named", [True, False])
def test_a_folder_is_never_taken_for_a_missing_file(named: bool) -> None:
    path = Path("config.cfg")
    path.mkdir()
    with pytest.raises(ConfigError, match=r"^config\.cfg is a folder; allowed is a TOML file[.;]"):
        load(path if named else None, {}, {})


def test_a_searched_file_that_cannot_be_seen_is_no_missing_file() -> None:
    Path("sonicpy.cfg").symlink_to("sonicpy.cfg")
    with pytest.raises(ConfigError, match=r"^sonicpy\.cfg cannot be read: .*symbolic links; without -c it is read "):
        load(None, {}, {})


def test_a_file_must_be_utf8() -> None:
    path = Path("latin.cfg")
    path.write_bytes(b'[server]\n\nlog_level = "\xe9"\n')
    with pytest.raises(ConfigError, match=r"^latin\.cfg is not TOML: the text is not UTF-8 \(at line 3\)\.$"):
        load(path, {}, {})


@pytest.mark.parametrize("content", [b"[mysql]\nuser = root\n", b"name: \xe9\n", b"{}", b"<config/>"])
def test_a_file_of_another_program_says_how_to_read_none(content: bytes) -> None:
    """A settings file is found by its name; the error for a config.cfg of another program says how to read none."""
    Path("config.cfg").write_bytes(content)
    said = (
        r"^config\.cfg is not TOML: .*; without -c it is read because of its name, and -c names another file \(-c /dev/"
    )
    with pytest.raises(ConfigError, match=said):
        load(None, {}, {})
    with pytest.raises(ConfigError, match=r"^config\.cfg is not TOML: [^;]*\.$"):
        load(Path("config.cfg"), {}, {})
    assert load(Path("/dev/null"), {}, {}).config == Config()


def test_a_number_without_end_is_no_traceback() -> None:
    with pytest.raises(ConfigError, match=r"^given\.cfg is not TOML: "):
        load(write("channel.tcp_timeout = " + "9" * 5000), {}, {})


TOML_VALUES = st.one_of(
    st.sampled_from(["true", "nan", "-inf", "1979-05-27", "{}", "{a = 1}", "[[]]", "[1, 'x']", "'${env.A}'", "''"]),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
)


@given(st.dictionaries(st.sampled_from(KNOWN), TOML_VALUES, max_size=5))
def test_any_value_in_a_file_is_taken_or_named(settings: dict[str, str]) -> None:
    lines = [f"{key} = {value}" for key, value in settings.items()]
    taken_or_named(write("\n".join(lines)), {})


# An environment variable that is not UTF-8 reaches Python as text with surrogates.
@given(st.dictionaries(st.sampled_from(KNOWN), st.text(st.characters()), max_size=5))
def test_any_value_in_the_environment_is_taken_or_named(settings: dict[str, str]) -> None:
    environ = {f"SONIC_{key.upper().replace('.', '__')}": value for key, value in settings.items()}
    taken_or_named(None, environ)


def taken_or_named(path: Path | None, environ: dict[str, str]) -> None:
    try:
        loaded = load(path, environ, {})
    except ConfigError as error:
        assert str(error).endswith(".")
        assert "\n" not in str(error)
    else:
        assert isinstance(loaded, Loaded)
