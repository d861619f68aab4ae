"""Trajectories: files of poses as SLAM tools write them (TUM RGB-D, EuRoC, KITTI odometry).

- TUM: ``time x y z qx qy qz qw``, seconds, comment lines.
- EuRoC: ``#timestamp [ns], p_RS_R_x [m], ...``, quaternion wxyz, then velocity and biases where they are.
- KITTI: twelve numbers, the rows of a 3x4 matrix; times, if any, in a file of their own.
"""
