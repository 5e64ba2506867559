"""Results on disk, one row per job, so that a killed run continues where it stopped."""

import json
import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FORMAT = 2  # of the file; 1 knew functions by name, and ignored the names of rows


class StoreError(ValueError):
    """The file cannot be used for this call.

    >>> issubclass(StoreError, ValueError)
    True
    """


class Store:
    """A table of results by key in an SQLite file; without a path, in memory.

    The results of a job are one transaction: after a crash they are all there, or none. `call` identifies the call
    that the results belong to; a file with those of another call is refused.
    """

    def __init__(self, path: str | Path | None, call: Mapping[str, Any]) -> None:
        self.name = str(path) if path is not None else "memory"
        try:
            self._db = sqlite3.connect(":memory:" if path is None else path, timeout=60)
            with ExitStack() as stack:
                stack.callback(self._db.close)
                with self._db:
                    self._open({"format": FORMAT, **call})
                stack.pop_all()  # it stays open unless it was refused
        except sqlite3.Error as error:
            raise StoreError(
                f"store {self.name} cannot be used ({error}); give a file written by an earlier run of this call, "
                "or a new one in an existing folder. Nothing in it was changed."
            ) from error

    def _open(self, call: Mapping[str, Any]) -> None:
        tables = {row[0] for row in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and "variegate_call" not in tables:
            raise StoreError(
                f"store {self.name} is another database (tables {', '.join(sorted(tables))}); give another path."
            )
        damage = self._db.execute("PRAGMA quick_check").fetchone()[0]
        if damage != "ok":
            raise sqlite3.DatabaseError(damage)
        self._db.execute("CREATE TABLE IF NOT EXISTS variegate_call (name TEXT PRIMARY KEY, value TEXT)")
        self._db.execute("CREATE TABLE IF NOT EXISTS results (task TEXT PRIMARY KEY, result TEXT)")
        mine = {name: json.dumps(value, sort_keys=True) for name, value in call.items()}
        theirs = dict(self._db.execute("SELECT name, value FROM variegate_call"))
        if not theirs:
            self._db.execute("BEGIN IMMEDIATE")  # another process may be doing the same
            theirs = dict(self._db.execute("SELECT name, value FROM variegate_call"))
        if not theirs:
            self._db.executemany("INSERT INTO variegate_call VALUES (?, ?)", list(mine.items()))
        elif differ := sorted(name for name in mine.keys() | theirs if mine.get(name) != theirs.get(name)):
            what = "; ".join(f"{name}: {theirs.get(name)} there, {mine.get(name)} here" for name in differ)
            raise StoreError(
                f"store {self.name} belongs to another call ({what}). Give another path, or repeat that call exactly."
            )

    def results(self) -> dict[str, Any]:
        """Return all results by job."""
        rows = self._db.execute("SELECT task, result FROM results")
        try:
            return {job: _checked(job, result) for job, result in rows}
        except (ValueError, TypeError, AttributeError, sqlite3.Error) as error:
            raise StoreError(f"store {self.name} is damaged ({error}); move it and start again.") from error

    def add(self, results: Mapping[str, Any]) -> None:
        """Write results, all or none; they replace earlier results of the same job."""
        rows = [(job, _with_checksum(job, json.dumps(result))) for job, result in results.items()]
        try:
            with self._db:
                self._db.executemany("INSERT OR REPLACE INTO results VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            raise StoreError(
                f"store {self.name} cannot be written ({error}). Its results are safe: once the disk has room and "
                "the file is writable, the same call continues there."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()


def _with_checksum(job: str, result: str) -> str:
    return f"{zlib.crc32(f'{job} {result}'.encode()):08x} {result}"


def _checked(job: str, stored: str) -> Any:
    """Return a result as it was written; SQLite does not notice a byte that changed on the disk."""
    _, _, result = stored.partition(" ")
    if stored != _with_checksum(job, result):
        raise ValueError(f"the result of job {job} has changed since it was written")
    return json.loads(result)
