"""A small robot with two moving joints and a mesh."""

from __future__ import annotations

from pathlib import Path

URDF = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"><visual><geometry><mesh filename="package://arm/meshes/base.stl"/></geometry></visual></link>
  <link name="upper"/><link name="lower"/><link name="tool"/>
  <joint name="lift" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1.5" upper="1.5" effort="10" velocity="3"/></joint>
  <joint name="slide" type="prismatic"><parent link="upper"/><child link="lower"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.2" effort="10" velocity="1"/></joint>
  <joint name="mount" type="fixed"><parent link="lower"/><child link="tool"/></joint>
</robot>
"""


def write_robot(folder: Path) -> Path:
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    (folder / "meshes/base.stl").write_bytes(b"solid base\nendsolid\n")
    path = folder / "urdf/arm.urdf"
    path.write_text(URDF)
    return path
