"""The little world that synthetic sessions record: an arm, a cube on a table, and cameras that see them."""
