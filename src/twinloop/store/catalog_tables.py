"""The catalog's tables as the code asks them. `migrations/` makes them; a test holds the two equal."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Integer, MetaData, String, Table, Text

#: The migration that these tables are of.
SCHEMA = "0001"

TABLES = MetaData()

sessions = Table(
    "sessions",
    TABLES,
    Column("id", String(26), primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("merged_into", String(26)),
    Column("taken_at", String(32)),
    Column("task", Text),
    Column("operator", Text),
    Column("site", Text),
    Column("robot", Text),
    Column("rig", Text),
    Column("consent", Text),
    Column("meta", JSON, nullable=False),
    Column("start_ns", BigInteger),
    Column("end_ns", BigInteger),
    Column("bytes", BigInteger, nullable=False),
)
recordings = Table(
    "recordings",
    TABLES,
    Column("session", String(26), primary_key=True),
    Column("hash", String(64), primary_key=True, index=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("format", String(64), nullable=False),
    Column("raw", String(16), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("taken_at", String(32), nullable=False),
    Column("lost", Boolean, nullable=False),
)
streams = Table(
    "streams",
    TABLES,
    Column("session", String(26), primary_key=True),
    Column("recording", String(64), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("role", String(32)),
    Column("count", BigInteger),
    Column("start_ns", BigInteger),
    Column("end_ns", BigInteger),
)
episodes = Table(
    "episodes",
    TABLES,
    Column("id", String(26), primary_key=True),
    Column("session", String(26), nullable=False, index=True),
    Column("number", Integer, nullable=False),
    Column("recording", String(64), nullable=False),
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger, nullable=False),
    Column("task", Text),
    Column("operator", Text),
    Column("instruction", Text),
    Column("outcome", String(16), nullable=False),
    Column("excluded", Text),
)
findings = Table(
    "findings",
    TABLES,
    Column("session", String(26), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("recording", String(64), nullable=False),
    Column("code", String(16), nullable=False),
    Column("name", Text, nullable=False),
    Column("severity", String(16), nullable=False),
    Column("episode", Integer),
    Column("stream", Text),
    Column("message", Text, nullable=False),
    Column("fingerprint", String(16), nullable=False),
)
journal = Table(
    "journal",
    TABLES,
    Column("id", String(26), primary_key=True),
    Column("at", String(32), nullable=False),
    Column("by", Text, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("target", String(64), nullable=False, index=True),
    Column("command", String(26), nullable=False),
    Column("data", JSON, nullable=False),
)
journal_files = Table(
    "journal_files",
    TABLES,
    Column("key", Text, primary_key=True),
    Column("read", BigInteger, nullable=False),
)
facts = Table(
    "facts",
    TABLES,
    Column("noun", String(16), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("at", String(32), nullable=False),
    Column("by", Text, nullable=False),
    Column("data", JSON, nullable=False),
)
