"""What pyarrow raises on a parquet file that is cut off, damaged or none at all."""

from __future__ import annotations

import pyarrow as pa

#: ValueError: a column name that is no UTF-8; KeyError: a column that is not there.
PARQUET_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError)
