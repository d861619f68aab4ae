"""LeRobot datasets, v2.0 to v3.0.

A dataset holds no capture times: `timestamp` is frame_index/fps and restarts with each episode. Stamps
here are that grid, moved by a base for each episode so that episodes follow one another without touching:
the running sum of ceil(length/fps) seconds. `StampSource.GRID` says so; nothing about drops or skew can
be concluded from them.
"""
