"""Rows of a database: a table or a query, given by a URL. SQLite needs no package; others need SQLAlchemy and a driver.

sqlite:///shop.db?table=products
sqlite:////var/lib/shop.db?query=SELECT id, title FROM products WHERE visible
postgresql+psycopg://user:password@host/shop?table=products
"""

import contextlib
import importlib
import re
import sqlite3
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from sonicpy.database_urls import without_password
from sonicpy.errors import ConfigError, SonicError

ROWS_AT_ONCE = 1_000
SCHEME = re.compile(r"[a-z][a-z0-9+]*://", re.IGNORECASE)
_QUERY = re.compile(r"(?:^|&)query=(.*)", re.DOTALL)
_OF_VALUES = (OSError, ValueError, LookupError, ArithmeticError)
"""Errors of a driver about a value that it cannot read or send, such as a text that is no UTF-8."""


def is_database(source: str) -> bool:
    """Return whether a source is the URL of a database."""
    return SCHEME.match(source) is not None


class TableSource:
    """A table or a query of a database.

    Args:
        url: the URL of the database, with `table` or `query` among its parameters.
        watermark: a column; rows are read in its order, from a value on.

    Raises:
        ConfigError: the URL is wrong, or a package is missing.
    """

    repeated: frozenset[str] = frozenset()  # a database renames them

    def __init__(self, url: str, watermark: str | None = None) -> None:
        place, _, query = url.partition("?")
        parameters = _parameters(query)
        self._table, self._query = parameters.pop("table", "") or None, parameters.pop("query", "") or None
        if (self._table is None) == (self._query is None):
            raise ConfigError(f"{without_password(url)} has to name one of ?table=NAME and ?query=SELECT ...")
        self._watermark = watermark
        self._name = without_password(url)
        address = f"{place}?{urlencode(parameters)}" if parameters else place
        self._database: _Sqlite | _Alchemy
        path = place.removeprefix("sqlite://")
        self._database = _Alchemy(address, self._name) if path == place else _Sqlite(path, self._name)

    def count(self, since: Any = None) -> int | None:
        """Return the number of rows from the value `since` of the watermark on. Raises SonicError."""
        with self._explained():
            ((number,),) = self._database.rows(f"SELECT count(*) FROM ({self._select(since)}) AS counted", since)
        return int(number)

    def rows(self, since: Any = None) -> Iterator[Mapping[str, Any]]:
        """Yield rows from the value `since` of the watermark on; None: all rows. Raises SonicError."""
        with self._explained():
            statement = self._select(since)
            if self._watermark is not None:
                statement += f" ORDER BY {self._database.quoted(self._watermark)}"
            yield from self._database.mappings(statement, since)

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def _select(self, since: Any) -> str:
        if self._table is None:
            whole = f"({(self._query or '').rstrip().removesuffix(';')}\n)"  # its last line may be a comment
        else:
            whole = self._database.quoted_path(self._table)
        statement = f"SELECT * FROM {whole} AS source"
        if since is not None and self._watermark is not None:
            statement += f" WHERE {self._database.quoted(self._watermark)} >= {self._database.placeholder}"
        return statement

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SonicError:
            raise
        except self._database.errors as error:
            reason = " ".join(str(getattr(error, "orig", None) or error).split())
            raise SonicError(f"{self._name} cannot be read: {reason}") from error


class MissingFile(ConfigError):
    """The file of a database is not there."""


class _Sqlite:
    """A file of SQLite, opened read-only."""

    placeholder = "?"
    errors: tuple[type[Exception], ...] = (sqlite3.Error, *_OF_VALUES)

    def __init__(self, path: str, name: str) -> None:
        file = Path(path.removeprefix("/"))
        if not file.is_file():
            raise MissingFile(f"{name}: there is no file {file}; a path from the root has four slashes: sqlite:////...")
        try:
            self._connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise SonicError(f"{name} cannot be opened: {error}") from error

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def quoted_path(self, name: str) -> str:
        return self.quoted(name)

    def rows(self, statement: str, since: Any) -> Iterator[tuple[Any, ...]]:
        cursor = self._connection.execute(statement, () if since is None else (since,))
        while some := cursor.fetchmany(ROWS_AT_ONCE):
            yield from some

    def mappings(self, statement: str, since: Any) -> Iterator[Mapping[str, Any]]:
        cursor = self._connection.execute(statement, () if since is None else (since,))
        names = [column[0] for column in cursor.description]
        while some := cursor.fetchmany(ROWS_AT_ONCE):
            yield from map(dict, map(partial(zip, names), some))

    def close(self) -> None:
        self._connection.close()


class _Alchemy:
    """A database that SQLAlchemy connects to."""

    placeholder = ":sonicpy_since"  # a name that no query holds

    def __init__(self, url: str, name: str) -> None:
        try:
            self._sqlalchemy = importlib.import_module("sqlalchemy")
        except ImportError as missing:
            raise ConfigError(
                f"{name} needs SQLAlchemy and a driver of the database: pip install SQLAlchemy"
            ) from missing
        self.errors: tuple[type[Exception], ...] = (self._sqlalchemy.exc.SQLAlchemyError, *_OF_VALUES)
        try:
            self._engine = self._sqlalchemy.create_engine(url)
        except (self._sqlalchemy.exc.SQLAlchemyError, ImportError) as error:
            raise ConfigError(f"{name} cannot be opened: {' '.join(str(error).split())}") from error
        except ValueError:  # its message may hold a part of a password
            raise ConfigError(f"{name} cannot be opened: its port is no number.") from None

    def quoted(self, name: str) -> str:
        quoted: str = self._engine.dialect.identifier_preparer.quote(name)
        return quoted

    def quoted_path(self, name: str) -> str:
        return ".".join(map(self.quoted, name.split(".")))

    def rows(self, statement: str, since: Any) -> Iterator[tuple[Any, ...]]:
        yield from self._result(statement, since)

    def mappings(self, statement: str, since: Any) -> Iterator[Mapping[str, Any]]:
        for row in self._result(statement, since):
            yield dict(row._mapping)

    def _result(self, statement: str, since: Any) -> Iterator[Any]:
        with self._engine.connect() as connection:
            streamed = connection.execution_options(yield_per=ROWS_AT_ONCE)
            yield from streamed.execute(
                self._sqlalchemy.text(statement.replace(":", r"\:").replace("\\" + self.placeholder, self.placeholder)),
                {} if since is None else {self.placeholder[1:]: since},
            )

    def close(self) -> None:
        self._engine.dispose()


def _parameters(text: str) -> dict[str, str]:
    """Return the parameters of a URL. If they hold white space they are not encoded, and `query` is the last one, so
    `LIKE '%ab%'`, `id + 1` and `kind & 1` stay as they are.
    """
    if not re.search(r"\s", text):
        return dict(parse_qsl(text, keep_blank_values=True))
    found = _QUERY.search(text)
    before = text if found is None else text[: found.start()]
    pairs = (pair.partition("=") for pair in before.split("&") if pair)
    return {**{name: value for name, _, value in pairs}, **({} if found is None else {"query": found[1]})}
