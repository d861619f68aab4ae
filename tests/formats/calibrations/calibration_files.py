"""Small calibration files of each dialect, all of one rig: two cameras half a metre apart."""

from __future__ import annotations

from pathlib import Path

CALISCOPE = """
CreationDate = 2023-03-31T09:56:43

[cameras.0]
cam_id = 0
size = [1280, 720]
error = 0.5
matrix = [[900.0, 0.0, 640.0], [0.0, 901.0, 360.0], [0.0, 0.0, 1.0]]
distortions = [-0.3, 0.05, 0.001, 0.002, 0.07]
rotation = [0.0, 0.0, 0.0]
translation = [0.0, 0.0, 0.0]

[cameras.1]
cam_id = 1
size = [1280, 720]
error = 0.4
matrix = [[900.0, 0.0, 640.0], [0.0, 901.0, 360.0], [0.0, 0.0, 1.0]]
distortions = [-0.3, 0.05, 0.001, 0.002, 0.07]
rotation = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
translation = [-0.5, 0.0, 0.0]

[charuco]
columns = 4
units = "inch"
"""

QUALISYS = """<?xml version='1.0' encoding='ASCII'?>
<calibration created="today" type="regular" wandLength="none">
  <cameras>
    <camera active="1" avg-residual="0.4" serial="cam01" viewrotation="0">
      <fov_video bottom="1919" left="8" right="1087" top="0"/>
      <transform r11="1" r12="0" r13="0" r21="0" r22="0" r23="1" r31="0" r32="-1" r33="0"
        x="500" y="-2000" z="1500"/>
      <intrinsic centerPointU="34880" centerPointV="61440" focalLengthU="107520" focalLengthV="107584"
        focallength="9.3" radialDistortion1="-0.05" radialDistortion2="0.14" radialDistortion3="0.0"
        tangentalDistortion1="0.001" tangentalDistortion2="0.002" skew="0"/>
    </camera>
  </cameras>
</calibration>
"""

KALIBR = """cam0:
  camera_model: pinhole
  intrinsics: [461.6, 460.1, 362.7, 246.0]
  distortion_model: radtan
  distortion_coeffs: [-0.27, 0.067, 0.00087, 0.00011]
  T_cam_imu:
  - [1.0, 0.0, 0.0, 0.1]
  - [0.0, 1.0, 0.0, 0.2]
  - [0.0, 0.0, 1.0, 0.3]
  - [0.0, 0.0, 0.0, 1.0]
  timeshift_cam_imu: -8.1e-05
  rostopic: /cam0/image_raw
  resolution: [752, 480]
cam1:
  camera_model: ds
  intrinsics: [-0.2, 0.6, 300.0, 301.0, 376.0, 240.0]
  distortion_model: none
  distortion_coeffs: []
  T_cn_cnm1:
  - [1.0, 0.0, 0.0, -0.5]
  - [0.0, 1.0, 0.0, 0.0]
  - [0.0, 0.0, 1.0, 0.0]
  - [0.0, 0.0, 0.0, 1.0]
  resolution: [752, 480]
"""

KALIBR_IMU = """accelerometer_noise_density: 1.86e-03
accelerometer_random_walk: 4.33e-04
gyroscope_noise_density: 1.87e-04
gyroscope_random_walk: 2.66e-05
rostopic: /imu0
update_rate: 200.0
"""

OPENCV = """%YAML:1.0
---
image_width: 640
image_height: 480
M1: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 5.348e+02, 0., 3.356e+02, 0., 5.348e+02, 2.406e+02, 0., 0., 1. ]
D1: !!opencv-matrix
   rows: 1
   cols: 5
   dt: d
   data: [ 2.95e-01, -1.03e+00, 0., 0., 0. ]
M2: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 5.348e+02, 0., 3.345e+02, 0., 5.348e+02, 2.420e+02, 0., 0., 1. ]
D2: !!opencv-matrix
   rows: 1
   cols: 5
   dt: d
   data: [ 0., 0., 0., 0., 0. ]
R: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 1., 0., 0., 0., 1., 0., 0., 0., 1. ]
T: !!opencv-matrix
   rows: 3
   cols: 1
   dt: d
   data: [ -0.5, 0., 0. ]
"""

OPENCV_XML = """<?xml version="1.0"?>
<opencv_storage>
<image_width>640</image_width>
<image_height>480</image_height>
<camera_matrix type_id="opencv-matrix"><rows>3</rows><cols>3</cols><dt>d</dt>
<data> 5.0e+02 0. 3.2e+02 0. 5.1e+02 2.4e+02 0. 0. 1.</data></camera_matrix>
<distortion_coefficients type_id="opencv-matrix"><rows>5</rows><cols>1</cols><dt>d</dt>
<data> -0.2 0.1 0. 0. 0.</data></distortion_coefficients>
<avg_reprojection_error>0.39</avg_reprojection_error>
</opencv_storage>
"""

TEXTS = {
    "camera_array.toml": CALISCOPE,
    "rig.qca.txt": QUALISYS,
    "camchain.yaml": KALIBR,
    "imu.yaml": KALIBR_IMU,
    "stereo.yml": OPENCV,
    "left_intrinsics.xml": OPENCV_XML,
}


def write(folder: Path, name: str) -> Path:
    (folder / name).write_text(TEXTS[name])
    return folder / name
