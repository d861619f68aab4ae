"""Frames of an RGB-D camera as 7-Scenes and TSDF tools write them.

``frame-000150.color.png``, ``.depth.png`` (16 bits, millimetres; 0 is no measurement) and ``.pose.txt`` (4x4,
camera to world); ``camera-intrinsics.txt`` (3x3) in the folder or above it. There are no times: a frame is
known by its number, and any of its files may be missing.
"""
