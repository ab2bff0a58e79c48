"""Tests of URLs of servers: every valid form, and for every invalid one an error message without the password."""

import ssl
from pathlib import Path

import pytest

from sonicpy.client.address import Address, read_url, read_urls
from sonicpy.errors import ConfigError

FORMS = [
    ("sonic://", Address(), "localhost:1491"),
    ("sonic://example.net", Address("example.net"), "example.net:1491"),
    ("sonic://example.net/", Address("example.net"), "example.net:1491"),
    ("sonic://:secret@example.net:1492", Address("example.net", 1492, password="secret"), "example.net:1492"),
    ("sonic://anybody:secret@example.net", Address("example.net", password="secret"), "example.net:1491"),
    ("sonic://:p%40ss%2Fw%3A%25@h", Address("h", password="p@ss/w:%"), "h:1491"),
    ("sonic://:%C3%B6%FF@h", Address("h", password="ö\udcff"), "h:1491"),
    ("sonic://h?password=a%26b", Address("h", password="a&b"), "h:1491"),
    ("sonic://:@h", Address("h"), "h:1491"),
    ("sonic://:secret@[::1]:1492", Address("::1", 1492, password="secret"), "[::1]:1492"),
    ("sonic+unix:///run/a%20b.sock", Address(unix=Path("/run/a b.sock")), "/run/a b.sock"),
    ("sonic+unix:///run/s?password=x", Address(unix=Path("/run/s"), password="x"), "/run/s"),
]


def test_forms() -> None:
    for url, expected, shown in FORMS:
        address = read_url(url)
        assert address == expected
        assert str(address) == shown
        assert "secret" not in repr(address)


def test_tls_is_checked_by_default() -> None:
    address = read_url("sonics://example.net")
    assert address.tls is not None
    assert address.tls.verify_mode == ssl.CERT_REQUIRED
    assert address.tls.check_hostname
    given = ssl.create_default_context()
    assert read_url("sonics://example.net", tls=given).tls is given


def test_a_password_apart_wins() -> None:
    assert read_url("sonic://:one@h", password="two").password == "two"


SEVERAL = [
    ("sonic://a:1,b", ["a:1", "b:1491"]),
    ("sonic://:x,y@a,[::1]:2?password=z,z", ["a:1491", "[::1]:2"]),
    ("sonic://a,b,sonic+unix:///run/s,1,sonic://c", ["a:1491", "b:1491", "/run/s,1", "c:1491"]),
    (["sonic://a,b", "sonic://b", "sonic://c:3"], ["a:1491", "b:1491", "c:3"]),
    (("sonic://a",), ["a:1491"]),
]


def test_several() -> None:
    for urls, shown in SEVERAL:
        assert [str(address) for address in read_urls(urls)] == shown
    one, two = read_urls("sonic://:x,y@a,b")
    assert (one.password, two.password) == ("x,y", "x,y")
    assert [address.password for address in read_urls("sonic://a,sonic://:x@b", password="y")] == ["y", "y"]


def test_what_are_not_several() -> None:
    for urls, complaint in (
        ([], "no address"),
        ("sonic://:hidden@a,", 'no host beside a comma in "a,"'),
        ("sonic://:hidden@a,b:port", "cannot be read"),
        ("sonic://:hidden,,x/y@a", "no host beside a comma."),
        ("sonic://:hidden@a,http://b", "after the port"),
        (5, "of type int"),
        (["sonic://a", None], "of type NoneType"),
    ):
        with pytest.raises(ConfigError, match=complaint) as caught:
            read_urls(urls)  # type: ignore[arg-type]
        assert "hidden" not in str(caught.value)


NO_URLS = [
    ("http://:hidden@h", 'begins with "http:"'),
    ("localhost:1491", 'begins with "localhost:"'),
    ("", "does not begin with sonic://"),
    ("127.0.0.1:1491", "does not begin with sonic://"),
    ("sonic://:hidden@h:port", "cannot be read"),
    ("sonic://:hidden@h:99999", "cannot be read"),
    ("sonic://:hidden@[::1", "cannot be read"),
    ("sonic://:hidden[@h", "cannot be read"),
    ("sonic://:[hidden]@h", "cannot be read"),
    ("sonic://:hidden\u2100@h", "cannot be read"),
    ("sonic://:hidden/word@h:1491", "its port is no number"),
    ("sonic://:hidden?word@h:1491", "its port is no number"),
    ("sonic://:hidden#word@h:1491", "its port is no number"),
    ("sonic://:12/hidden@h:1491", "an @ after the port"),
    ("sonic://:12#hidden@h:1491", "an @ after the port"),
    ("sonic://:12?hidden@h:1491", "an unknown option;"),
    ("sonic://:12?hidden=3@h:1491", "an unknown option;"),
    ("sonic://:hidden@h/collection", 'has "/collection" after the port'),
    ("sonic://:hidden@h?timeout=3", 'an unknown option "timeout"'),
    ("sonic://:hidden%20word@h", "white space"),
    ("sonic+unix://:hidden@h/run/s", "three slashes"),
    ("sonic+unix:///?password=hidden", "three slashes"),
    ("sonic+unix:///run/s?ca=x", 'an unknown option "ca"'),
]


def test_what_is_none() -> None:
    for url, complaint in NO_URLS:
        with pytest.raises(ConfigError) as caught:
            read_url(url)
        sentence = str(caught.value)
        assert complaint in sentence
        assert "hidden" not in sentence
        assert sentence.endswith(".")
        assert "\n" not in sentence
