"""LeRobot datasets out of sessions: rows by a stated clock, video remuxed where that changes nothing.

v3.0 is that of lerobot 0.6.1, v2.1 that of lerobot 0.3, both read in its source.
"""
