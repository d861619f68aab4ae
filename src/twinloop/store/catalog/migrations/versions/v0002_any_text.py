"""Texts of any length and content, no index over a text of people's, indexes for the listings.

Facts are read again after either way: their key is another one. The way down empties the catalog, because
the columns of 0001 may be too short for what is in it; twinloop reads everything again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

#: The texts of each table, with their lengths in 0001.
TEXTS: dict[str, dict[str, int | None]] = {
    "sessions": {
        "id": 26,
        "state": 16,
        "merged_into": 26,
        "taken_at": 32,
        **dict.fromkeys(("task", "operator", "site", "robot", "rig", "consent")),
    },
    "recordings": {"session": 26, "hash": 64, "name": None, "format": 64, "raw": 16, "taken_at": 32},
    "streams": {"session": 26, "recording": 64, "name": None, "kind": 32, "role": 32},
    "episodes": {
        "id": 26,
        "session": 26,
        "recording": 64,
        "outcome": 16,
        **dict.fromkeys(("task", "operator", "instruction", "excluded")),
    },
    "findings": {
        "session": 26,
        "recording": 64,
        "code": 16,
        "severity": 16,
        "fingerprint": 16,
        **dict.fromkeys(("name", "stream", "message")),
    },
    "journal": {"id": 26, "at": 32, "by": None, "kind": 32, "target": 64, "command": 26},
    "journal_files": {"key": None},
}
INDEXES = {
    "recordings_hash": ("recordings", ["hash"]),
    "episodes_session": ("episodes", ["session"]),
    "journal_target": ("journal", ["target"]),
}


def upgrade() -> None:
    """Widen the texts."""
    for name, (table, _) in INDEXES.items():
        op.drop_index(name, table)
    wide = sa.Text(collation="C") if op.get_bind().dialect.name == "postgresql" else sa.Text()
    for table, columns in TEXTS.items():
        with op.batch_alter_table(table) as batch:
            for column in columns:
                batch.alter_column(column, type_=wide)
    op.create_index("recordings_hash", "recordings", ["hash"], postgresql_using="hash")
    op.create_index("episodes_in_order", "episodes", ["session", "number"])
    op.create_index("journal_target", "journal", ["target"], postgresql_using="hash")
    op.create_index("journal_command", "journal", ["command"], postgresql_using="hash")
    op.drop_table("facts")
    op.create_table(
        "facts",
        sa.Column("noun", wide, primary_key=True),
        sa.Column("name", wide, primary_key=True),
        sa.Column("id", wide, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("at", wide, nullable=False),
        sa.Column("by", wide, nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
    )


def downgrade() -> None:
    """Empty the catalog and bring back the tables of 0001."""
    for table in TEXTS:
        op.execute(sa.delete(sa.table(table)))
    for name in ("recordings_hash", "episodes_in_order", "journal_target", "journal_command"):
        op.drop_index(name)
    for table, columns in TEXTS.items():
        with op.batch_alter_table(table) as batch:
            for column, length in columns.items():
                batch.alter_column(column, type_=sa.String(length) if length else sa.Text())
    for name, (table, indexed) in INDEXES.items():
        op.create_index(name, table, indexed)
    op.drop_table("facts")
    op.create_table(
        "facts",
        sa.Column("noun", sa.String(16), primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
    )
