"""COLMAP's sparse models: `cameras`, `images` and `points3D`, as text or binary.

Cameras are calibration (COLMAP's pixel centres are at half pixels, which is told with them); images are poses
with names, without times; points are one cloud, in parts where it is large. The scale of the world is
arbitrary: its unit is undeclared.
"""
