"""Scenes of cars with cameras and LiDAR: nuScenes' tables, and the infos that mmdetection3d makes of them.

- Tables: a folder with ``v1.0-*/sample_data.json`` and its sisters; times in microseconds.
- Infos: a JSON file with ``metainfo`` and ``data_list``, of nuScenes or KITTI; times in seconds, or none.

Every picture and sweep keeps its own time. nuScenes says of them: a picture's is the trigger of its exposure,
a sweep's the moment when the turn is complete. Pictures are undistorted, so cameras are pinholes.
"""
