"""Video files and still images, through PyAV (FFmpeg).

SVT-AV1's encoder writes a banner to stderr for each file unless ``SVT_LOG`` says not to; it reads the
variable when an encoder opens, so it is set here, before any module of this package can open one.
"""

import os

os.environ.setdefault("SVT_LOG", "1")
