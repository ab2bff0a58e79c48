"""Tests of keys and tokens: the admitted secrets, their rights, and the time until which they are valid."""

import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import jwt
import pytest

import sonicpy
from sonicpy.access.admission import FRESH_S, Keys
from sonicpy.access.grant import Grant, NotPermitted, TooOften
from sonicpy.access.key import Key, hash_of, make_key, new_secret, pack_key, rights_of
from sonicpy.access.key_file import KeyFile
from sonicpy.access.key_store import KeyStore
from sonicpy.access.rates import KEYS_MAX, Rates
from sonicpy.access.scopes import scope_of
from sonicpy.access.tokens import LIFE_MAX_S, signing_secret
from sonicpy.cli.keys import time_of
from sonicpy.cli.main import main
from sonicpy.errors import ConfigError, InvalidArgument
from tests.support.patience import is_below

SECRET = "a secret of the server, at least 32 characters"
GIVEN: dict[str, Any] = {"verbs": ["query", "suggest"], "scopes": ["messages/user-*"]}


def added(store: KeyStore, name: str = "web", **given: Any) -> str:
    """Add a key to a store and return its secret."""
    secret = new_secret(name)
    assert store.put(make_key(name, hash_of(secret.encode()), {**GIVEN, **given}))
    return secret


def token(name: str = "web", secret: str = SECRET, **claims: Any) -> str:
    """Return a token as an application would make it."""
    claims = {"exp": int(time.time()) + 600, **claims}
    return jwt.encode(claims, signing_secret(secret, name), algorithm="HS256", headers={"kid": name})


def reason(keys: Keys, given: str) -> str:
    with pytest.raises(NotPermitted) as refused:
        keys.admit(given.encode())
    return str(refused.value)


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path)


@pytest.fixture
def keys(store: KeyStore) -> Keys:
    return Keys([store], SECRET)


def test_a_key_is_admitted_by_its_secret_alone(store: KeyStore, keys: Keys) -> None:
    assert keys.admit(b"web.nothing") is None
    secret = added(store)
    permit = keys.admit(secret.encode())
    assert permit is not None
    assert permit.grant == Grant("web", frozenset({"query", "suggest"}), (scope_of("messages/user-*"),))
    for wrong in (secret[:-1], f"{secret}x", secret.replace("web", "wep"), "web.", "web", ".x", "", "\udcff"):
        assert keys.admit(wrong.encode(errors="surrogateescape")) is None
    assert not store.put(make_key("web", bytes(32), GIVEN)), "a name is used once"


def test_a_revoked_key_ends_within_its_time(store: KeyStore, keys: Keys) -> None:
    permit = keys.admit(added(store).encode())
    assert permit is not None
    permit.use()
    assert store.remove("web")
    assert not store.remove("web")
    time.sleep(FRESH_S + 0.05)
    with pytest.raises(NotPermitted, match="was revoked or changed"):
        permit.use()


def test_no_secret_is_kept(store: KeyStore) -> None:
    secret = added(store)
    assert secret.partition(".")[2].encode() not in (store.path / "data.mdb").read_bytes()


def test_an_expired_key(store: KeyStore, keys: Keys) -> None:
    secret = added(store, expires=time.time() - 1)
    assert reason(keys, secret) == "not_permitted(the key web has expired)"


def test_a_token_narrows_its_key(store: KeyStore, keys: Keys) -> None:
    added(store)
    permit = keys.admit(token(buckets=["messages/user-7", "other"], sub="anyone").encode())
    assert permit is not None
    permit.use().check("query", [scope_of("messages/user-7")])
    for outside in ("messages/user-8", "other/user-7", "messages/user-*"):
        with pytest.raises(NotPermitted, match="does not reach"):
            permit.use().check("query", [scope_of(outside)])
    with pytest.raises(NotPermitted, match="does not allow push; it allows query, suggest"):
        permit.use().check("push", [scope_of("messages/user-7")])


def test_a_filter_of_a_token_adds_to_that_of_its_key(store: KeyStore, keys: Keys) -> None:
    added(store, filter="NOT draft")
    permit = keys.admit(token(filter="red").encode())
    assert permit is not None
    assert permit.grant.filters == ("NOT draft", "red")
    with pytest.raises(NotPermitted, match="has a fixed filter, which explain cannot obey"):
        replace(permit.grant, verbs=frozenset({"explain"})).check("explain", [])
    assert Keys([store], SECRET, takes_filters=False)._sources  # compat mode
    assert "which compat mode lacks" in reason(Keys([store], SECRET, takes_filters=False), token())


DAY_S = 86_400
"""The test set takes up to some hours from the import of this module."""


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": int(time.time()) - 3600}, "the token has expired"),
        ({"exp": int(time.time()) + LIFE_MAX_S + DAY_S}, "more than 7 days ahead"),
        ({"nbf": int(time.time()) + DAY_S}, "not valid yet"),
        ({"buckets": []}, "buckets of the token is"),
        ({"buckets": "messages"}, "buckets of the token is"),
        ({"buckets": ["a/b/c"]}, "is not collection or collection/bucket"),
        ({"filter": ""}, "filter of the token"),
        ({"admin": True}, "has the claim 'admin'"),
        ({"exp": "soon"}, "exp of the token is 'soon'; allowed are seconds since 1970"),
        ({"exp": float("nan")}, "exp of the token is nan; allowed are seconds since 1970"),
        ({"exp": 10**400}, "exp of the token is a number of more than 128 digits; allowed are seconds"),
        ({"iat": None}, "iat of the token is None; allowed are seconds since 1970"),
        ({"nbf": True}, "nbf of the token is True; allowed are seconds since 1970"),
        ({"sub": ["anyone"]}, "sub of the token is of type list; allowed are texts and whole numbers"),
        ({"jti": 1.5}, "jti of the token is 1.5; allowed are texts and whole numbers"),
    ],
)
def test_a_token_that_is_signed_but_not_allowed(store: KeyStore, keys: Keys, claims: dict[str, Any], why: str) -> None:
    added(store)
    assert why in reason(keys, token(**claims))


def test_the_claims_of_the_application_are_texts_or_whole_numbers(store: KeyStore, keys: Keys) -> None:
    added(store)
    for claims in ({"sub": 7, "jti": 42}, {"sub": "anyone", "jti": "a-1"}, {"exp": time.time() + 60.5}):
        assert keys.admit(token(**claims).encode()) is not None


def test_the_clock_of_a_token_may_differ_but_not_that_of_a_key(
    store: KeyStore, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(store)
    over = "not_permitted(the token has expired; its exp is over)"
    permit = keys.admit(token(exp=int(time.time()) - 20, iat=time.time() + 20, nbf=time.time() + 20).encode())
    assert permit is not None
    assert reason(keys, token(exp=int(time.time()) - 61)) == over
    permit.use()
    now, past = time.monotonic(), time.time()
    monkeypatch.setattr(time, "monotonic", lambda: now + 41)
    monkeypatch.setattr(time, "time", lambda: past + 41)
    with pytest.raises(NotPermitted) as refused:
        permit.use()
    assert str(refused.value) == over
    monkeypatch.undo()
    added(store, "brief", expires=time.time() - 1)
    assert reason(keys, token("brief")) == "not_permitted(the key brief has expired)"


def test_a_token_without_an_end(store: KeyStore, keys: Keys) -> None:
    added(store)
    endless = jwt.encode({}, signing_secret(SECRET, "web"), algorithm="HS256", headers={"kid": "web"})
    assert "has no exp" in reason(keys, endless)


def test_forged_tokens(store: KeyStore, keys: Keys) -> None:
    added(store)
    claims = {"exp": int(time.time()) + 600}
    headers = {"kid": "web"}
    forged = [
        token(secret="another secret of at least 32 characters"),
        token(name="other"),
        jwt.encode(claims, "", algorithm="none", headers=headers),
        jwt.encode(claims, signing_secret(SECRET, "web"), algorithm="HS512", headers=headers),
        jwt.encode(claims, signing_secret(SECRET, "other"), algorithm="HS256", headers=headers),
        jwt.encode(claims, SECRET, algorithm="HS256"),
        token()[:-2],
        "ey.ey.ey",
        "ey" + "x" * 9000 + "..",
    ]
    assert [keys.admit(each.encode()) for each in forged] == [None] * len(forged)
    assert Keys([store], None).admit(token().encode()) is None, "without server.secret there are no tokens"
    store.remove("web")
    assert keys.admit(token().encode()) is None, "a revoked key ends its tokens"


def test_rates() -> None:
    rates, grant = Rates(), Grant("web", rate=5.0)
    for _ in range(5):
        rates.count(grant)
    with pytest.raises(TooOften, match=r"may ask 5 times a second; it may ask again in 0\.[012]"):
        rates.count(grant)
    time.sleep(0.25)
    rates.count(grant)
    for number in range(KEYS_MAX + 10):
        rates.count(Grant(f"k{number}", rate=1.0))
    assert len(rates._left) == KEYS_MAX


def test_a_file_of_keys_is_read_again(store: KeyStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = added(store, filter='NOT "dra\\\\ft"', rate=2.5, expires=4e9)
    folder = ["--data", str(tmp_path)]
    assert main(["keys", "export", *folder]) == 0
    path = tmp_path / "keys.toml"
    path.write_text(capsys.readouterr().out)
    file = KeyFile(path)
    assert [rights_of(key) for key in file.all()] == [rights_of(key) for key in store.all()]
    keys = Keys([file], None)
    assert keys.admit(secret.encode()) is not None
    path.write_text("")
    assert keys.admit(secret.encode()) is None
    path.write_text("[web]\nhash = 'zz'\nscopes = ['a']")
    with pytest.raises(ConfigError, match="the key 'web' cannot be read"):
        KeyFile(path)
    path.write_text(f"web = {'[' * 100_000}")
    with pytest.raises(ConfigError, match="keys.toml cannot be read: they are nested too deeply"):
        KeyFile(path)


def test_keys_of_a_cluster_in_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nats", reason="needs nats-py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SONICPY_CLUSTER", "http://me:secret@host")
    for verb in (["add", "web", "--bucket", "c"], ["list"], ["revoke", "web"], ["export"]):
        assert main(["keys", *verb]) == 2
        said = capsys.readouterr().err
        assert "--cluster" in said
        assert "secret" not in said
    assert not list(tmp_path.iterdir()), "no key is made beside the index"
    assert main(["keys", "add", "web", "--bucket", "c", "--data", str(tmp_path / "d")]) == 0
    assert (tmp_path / "d").is_dir()


def test_verbs_that_read_keys_need_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb, folder in product(("list", "export"), (tmp_path / "nope", tmp_path)):
        assert main(["keys", verb, "--data", str(folder)]) == 1
        assert capsys.readouterr() == ("", f"sonicpy: there is no index in {folder}\n")
    sonicpy.open(tmp_path / "store").close()
    assert main(["keys", "list", "--data", str(tmp_path / "store")]) == 0, "an index without keys"
    before = ["--data", str(tmp_path / "before")]
    assert main(["keys", "add", "web", "--bucket", "c", *before]) == 0, "keys may come before the index"
    assert main(["keys", "list", *before]) == 0
    assert "web" in capsys.readouterr().out


def test_the_verbs_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--data", str(tmp_path)]
    assert main(["keys", "add", "web", "--bucket", "messages/a,messages/b", "--expires", "2d", *folder]) == 0
    secret = capsys.readouterr().out.strip()
    assert secret.startswith("web.")
    assert len(secret) >= len("web.") + 160 / 6
    for scope, said in (
        ("messages", "there is a key web already"),
        ("a b/*", "collection is 'a b'; allowed"),
    ):
        assert main(["keys", "add", "web", "--bucket", scope, *folder]) == 2
        assert said in capsys.readouterr().err
    assert main(["keys", "list", *folder]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("web  search  messages/a messages/b  until 20")
    assert secret not in listed
    assert main(["keys", "revoke", "web", *folder]) == 0
    assert main(["keys", "revoke", "web", *folder]) == 1
    assert main(["keys", "sign", "web", *folder]) == 2
    assert "server.secret is not set" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"verbs": ["dance"]}, "the verb 'dance' is not known"),
        ({"verbs": []}, "allows nothing"),
        ({"scopes": []}, "scopes is"),
        ({"rate": 0}, "rate is 0"),
        ({"rate": True}, "rate is True"),
        ({"filter": " "}, "filter is"),
        ({"colour": 1}, "colour is not known for a key"),
    ],
)
def test_wrong_rights_get_a_sentence(given: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        make_key("web", bytes(32), {**GIVEN, **given})


@pytest.mark.full
def test_a_hundred_thousand_keys(store: KeyStore, keys: Keys) -> None:
    secret = added(store)
    key = next(iter(store.all()))
    environment = store._opened(makes=True).environment
    with environment.begin(write=True) as transaction:
        for number in range(100_000):
            transaction.put(f"key-{number}".encode(), pack_key(Key(**{**_parts(key), "name": f"key-{number}"})))
    began = time.thread_time()
    assert keys.admit(secret.encode()) is not None
    assert is_below(time.thread_time() - began, 0.05)


def _parts(key: Key) -> dict[str, Any]:
    return {name: getattr(key, name) for name in Key.__slots__}


@pytest.mark.parametrize("text", ["2020-01-01", "2020-01-01T12:00:00+02:00", "0s"])
def test_a_key_that_is_over_before_it_begins_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"which is over; allowed are times to come"):
        time_of(text)
