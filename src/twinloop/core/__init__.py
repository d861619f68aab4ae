"""The types that every stage shares."""
