"""Benchmarks against peer libraries, in CPU seconds: `python -m benchmarks.NAME [--quick]`."""
