"""How much to torture."""

from __future__ import annotations

import pytest


@pytest.fixture
def torture(request: pytest.FixtureRequest) -> bool:
    """Whether the full numbers are asked for (`make torture`)."""
    return bool(request.config.getoption("--torture"))
