"""The first catalog."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(26), primary_key=True),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("merged_into", sa.String(26)),
        sa.Column("taken_at", sa.String(32)),
        sa.Column("task", sa.Text),
        sa.Column("operator", sa.Text),
        sa.Column("site", sa.Text),
        sa.Column("robot", sa.Text),
        sa.Column("rig", sa.Text),
        sa.Column("consent", sa.Text),
        sa.Column("meta", sa.JSON, nullable=False),
        sa.Column("start_ns", sa.BigInteger),
        sa.Column("end_ns", sa.BigInteger),
        sa.Column("bytes", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "recordings",
        sa.Column("session", sa.String(26), primary_key=True),
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("format", sa.String(64), nullable=False),
        sa.Column("raw", sa.String(16), nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("taken_at", sa.String(32), nullable=False),
        sa.Column("lost", sa.Boolean, nullable=False),
    )
    op.create_index("recordings_hash", "recordings", ["hash"])
    op.create_table(
        "streams",
        sa.Column("session", sa.String(26), primary_key=True),
        sa.Column("recording", sa.String(64), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("role", sa.String(32)),
        sa.Column("count", sa.BigInteger),
        sa.Column("start_ns", sa.BigInteger),
        sa.Column("end_ns", sa.BigInteger),
    )
    op.create_table(
        "episodes",
        sa.Column("id", sa.String(26), primary_key=True),
        sa.Column("session", sa.String(26), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("recording", sa.String(64), nullable=False),
        sa.Column("start_ns", sa.BigInteger, nullable=False),
        sa.Column("end_ns", sa.BigInteger, nullable=False),
        sa.Column("task", sa.Text),
        sa.Column("operator", sa.Text),
        sa.Column("instruction", sa.Text),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("excluded", sa.Text),
    )
    op.create_index("episodes_session", "episodes", ["session"])
    op.create_table(
        "findings",
        sa.Column("session", sa.String(26), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("recording", sa.String(64), nullable=False),
        sa.Column("code", sa.String(16), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("severity", sa.String(16), nullable=False),
        sa.Column("episode", sa.Integer),
        sa.Column("stream", sa.Text),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.String(16), nullable=False),
    )
    op.create_table(
        "journal",
        sa.Column("id", sa.String(26), primary_key=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("target", sa.String(64), nullable=False),
        sa.Column("command", sa.String(26), nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
    )
    op.create_index("journal_target", "journal", ["target"])
    op.create_table(
        "journal_files",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("read", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "facts",
        sa.Column("noun", sa.String(16), primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
    )


def downgrade() -> None:
    """Take all tables away."""
    tables = "sessions recordings streams episodes findings journal journal_files facts"
    for table in tables.split():
        op.drop_table(table)
