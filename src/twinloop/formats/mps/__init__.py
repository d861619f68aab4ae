"""What machine perception made of an Aria recording (MPS), and the ground truth and speech of Aria's datasets.

Tables beside a recording: gaze, trajectories, hands, points, calibration over time, speech, boxes, skeletons.
Times are the device's (`tracking_timestamp_us`), so they lie on the recording's own timeline. Facts: the
readers in `core/mps` of facebookresearch/projectaria_tools and the pages of its wiki on data formats.
"""
