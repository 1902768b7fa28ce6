"""The tables of the store, and how those of older releases become them."""

from __future__ import annotations

import sqlite3

SCHEMA = """
create table if not exists docs (
    kind text not null, id text not null, at real not null, doc text not null,
    primary key (kind, id)
) without rowid;
create view if not exists incidents as select id, at,
    json_extract(doc, '$.run') run, json_extract(doc, '$.trouble') class,
    json_extract(doc, '$.severity') severity, json_extract(doc, '$.state') state,
    json_extract(doc, '$.opened_at') opened_at, json_extract(doc, '$.summary') summary, doc
    from docs where kind = 'incident';
create view if not exists runs as select id, at,
    json_extract(doc, '$.spec.name') name, json_extract(doc, '$.state') state, doc
    from docs where kind = 'run';
create view if not exists outbox as select id, at,
    json_extract(doc, '$.title') title, json_extract(doc, '$.state') state, doc
    from docs where kind = 'message';
"""
SCHEMA_VERSION = 1
"""Kept as ``user_version`` of the database; 0 is that of release 0.1.0, whose table is the same."""
MIGRATIONS: dict[int, str] = {1: ""}
"""Version -> what makes it from the one before, in one transaction."""
COLUMNS = ("kind", "id", "at", "doc")
INSERT = f"insert or replace into docs ({', '.join(COLUMNS)}) values (?, ?, ?, ?)"
_NOT_OURS = "not a database of this release"


def migrate(db: sqlite3.Connection) -> None:
    """Bring the tables to :data:`SCHEMA_VERSION`. Raises sqlite3.Error, also for a database that we
    cannot use: that of a newer release, or one whose table is not ours."""
    (version,) = db.execute("pragma user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise sqlite3.DatabaseError(
            f"{_NOT_OURS}: its version is {version}, and {SCHEMA_VERSION} is the newest known here"
        )
    db.executescript(SCHEMA)
    columns = {name for _, name, *_ in db.execute("pragma table_info(docs)")}
    if not columns >= set(COLUMNS):
        raise sqlite3.DatabaseError(f"{_NOT_OURS}: its table has the columns {sorted(columns)}")
    for number in range(version + 1, SCHEMA_VERSION + 1):
        change = MIGRATIONS[number]
        try:
            db.executescript(f"begin; {change}; pragma user_version = {number}; commit;")
        except sqlite3.OperationalError:  # a full or read-only disk
            if db.in_transaction:
                db.execute("rollback")
            if change:
                raise
            return  # what is there can be used; the version is written at a later start
