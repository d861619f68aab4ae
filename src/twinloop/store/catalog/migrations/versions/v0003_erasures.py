"""The erasures that a catalog has seen to; what was erased in a store elsewhere leaves this machine's, too."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """None is seen to yet: a catalog that may hold what was erased is made anew."""
    text = sa.Text(collation="C") if op.get_bind().dialect.name == "postgresql" else sa.Text()
    op.create_table("erasures", sa.Column("id", text, primary_key=True))


def downgrade() -> None:
    """Forget them."""
    op.drop_table("erasures")
