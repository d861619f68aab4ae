"""Argoverse 2 sensor logs: a folder of Feather files named by their times.

`sensors/lidar/<ns>.feather` are sweeps whose points have a time of their own (`offset_ns`, from the sweep's);
`sensors/cameras/<camera>/<ns>.jpg` pictures; `annotations.feather` cuboids in the vehicle's frame;
`city_SE3_egovehicle.feather` its poses in the city. Times count nanoseconds from a start that the files do
not declare. The lens has three radial terms and no tangential ones.
"""
