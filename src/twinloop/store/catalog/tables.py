"""The catalog's tables as the code asks them. `migrations/` makes them; a test holds the two equal.

Texts have no length and compare by code point in every database. No text that people write stands in an index
that would limit its size: PostgreSQL's B-trees end at 2.7 kB, its hash indexes do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy import JSON, BigInteger, Boolean, Column, Index, Integer, MetaData, Table

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

#: The migration that these tables are of.
SCHEMA = "0003"

TABLES = MetaData()

_UNSTORABLE = re.compile("[\0\u2400\ud800-\udfff]")


class CatalogText(sa.types.TypeDecorator[str]):
    """Text of any characters. Those that a database refuses (NUL, lone surrogates) are escaped: ``␀0000``."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> sa.types.TypeEngine[str]:
        """Plain text; where databases have locales, without one."""
        return sa.Text(collation="C" if dialect.name == "postgresql" else None)

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The text with what no database holds escaped."""
        return None if value is None else _UNSTORABLE.sub(lambda sign: f"\u2400{ord(sign[0]):04x}", value)


sessions = Table(
    "sessions",
    TABLES,
    Column("id", CatalogText, primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("state", CatalogText, nullable=False),
    Column("merged_into", CatalogText),
    Column("taken_at", CatalogText),
    Column("task", CatalogText),
    Column("operator", CatalogText),
    Column("site", CatalogText),
    Column("robot", CatalogText),
    Column("rig", CatalogText),
    Column("consent", CatalogText),
    Column("meta", JSON, nullable=False),
    Column("start_ns", BigInteger),
    Column("end_ns", BigInteger),
    Column("bytes", BigInteger, nullable=False),
)
recordings = Table(
    "recordings",
    TABLES,
    Column("session", CatalogText, primary_key=True),
    Column("hash", CatalogText, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", CatalogText, nullable=False),
    Column("format", CatalogText, nullable=False),
    Column("raw", CatalogText, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("taken_at", CatalogText, nullable=False),
    Column("lost", Boolean, nullable=False),
    Index("recordings_hash", "hash", postgresql_using="hash"),
)
streams = Table(
    "streams",
    TABLES,
    Column("session", CatalogText, primary_key=True),
    Column("recording", CatalogText, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", CatalogText, nullable=False),
    Column("kind", CatalogText, nullable=False),
    Column("role", CatalogText),
    Column("count", BigInteger),
    Column("start_ns", BigInteger),
    Column("end_ns", BigInteger),
)
episodes = Table(
    "episodes",
    TABLES,
    Column("id", CatalogText, primary_key=True),
    Column("session", CatalogText, nullable=False),
    Column("number", Integer, nullable=False),
    Column("recording", CatalogText, nullable=False),
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger, nullable=False),
    Column("task", CatalogText),
    Column("operator", CatalogText),
    Column("instruction", CatalogText),
    Column("outcome", CatalogText, nullable=False),
    Column("excluded", CatalogText),
    Index("episodes_in_order", "session", "number"),
)
findings = Table(
    "findings",
    TABLES,
    Column("session", CatalogText, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("recording", CatalogText, nullable=False),
    Column("code", CatalogText, nullable=False),
    Column("name", CatalogText, nullable=False),
    Column("severity", CatalogText, nullable=False),
    Column("episode", Integer),
    Column("stream", CatalogText),
    Column("message", CatalogText, nullable=False),
    Column("fingerprint", CatalogText, nullable=False),
)
journal = Table(
    "journal",
    TABLES,
    Column("id", CatalogText, primary_key=True),
    Column("at", CatalogText, nullable=False),
    Column("by", CatalogText, nullable=False),
    Column("kind", CatalogText, nullable=False),
    Column("target", CatalogText, nullable=False),
    Column("command", CatalogText, nullable=False),
    Column("data", JSON, nullable=False),
    Index("journal_target", "target", postgresql_using="hash"),
    Index("journal_command", "command", postgresql_using="hash"),
)
journal_files = Table(
    "journal_files",
    TABLES,
    Column("key", CatalogText, primary_key=True),
    Column("read", BigInteger, nullable=False),
)
facts = Table(
    "facts",
    TABLES,
    Column("noun", CatalogText, primary_key=True),
    #: The entry's folder; ids may be of any length.
    Column("name", CatalogText, primary_key=True),
    Column("id", CatalogText, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("at", CatalogText, nullable=False),
    Column("by", CatalogText, nullable=False),
    Column("data", JSON, nullable=False),
)
#: Erasures of which nothing is left in the catalog.
erasures = Table("erasures", TABLES, Column("id", CatalogText, primary_key=True))
