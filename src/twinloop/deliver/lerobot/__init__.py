"""LeRobot v3.0 datasets out of sessions: rows by a stated clock, video remuxed where that changes nothing.

The format is that of lerobot 0.6.1 (``codebase_version`` v3.0), read in its source.
"""
