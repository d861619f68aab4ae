"""KITTI: object frames, raw drives, tracking labels and detections.

- Object frames: a folder with `image_2`, `velodyne`, `label_2`, `calib`, each file named by its frame's number.
  No times.
- Raw drives: folders `image_02`, `velodyne_points`, `oxts` with `data` and `timestamps.txt`.
- Tracking: a text of boxes, frame by frame, of the ground truth (17 or 18 words) or of AB3DMOT's detections
  (15 numbers between commas). No times: the rate is not declared in the files.

Boxes lie in the rectified camera's frame; their given place is the middle of the bottom, and x, y, z of a box
are its length, height (downwards) and width.
"""
