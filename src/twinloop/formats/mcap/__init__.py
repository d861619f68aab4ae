"""MCAP: a columnar reader over the container's own index (specification: https://mcap.dev/spec)."""
