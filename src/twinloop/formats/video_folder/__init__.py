"""Folders of video files, one a camera, with a table of their images' times; single video files too.

The table's times are the truth: a container's own rate is only what a program declared when it opened the
file. Without a table the container's pts are all there is: a constant rate is a grid (`StampSource.GRID`),
a varying one was set by the recording program (`StampSource.DRIVER`).
"""
