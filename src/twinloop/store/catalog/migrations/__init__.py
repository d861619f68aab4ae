"""Alembic's migrations of the catalog's schema."""
