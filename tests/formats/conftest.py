"""The conformance tests use the sample writers of single formats."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / name) for name in ("video", "lerobot")]
