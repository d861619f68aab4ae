"""Calibration files of caliscope, Qualisys, Kalibr and OpenCV, as `core.calibration` has them.

One module a dialect: `claims(head)` says whether a file is of it, `parse(text, file)` what it holds. A file
alone is a recording without streams; beside videos or images it belongs to their recording (`beside`).
"""
