"""A report as JSON: schema 1, a contract.

Times in nanoseconds are decimal strings, since JSON numbers lose them; seconds count from the episode's
start. New keys may be added to schema 1; none changes its meaning or goes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twinloop.core.finding import CheckReport

_TEXT = {"type": ["string", "null"]}
_INTEGER = {"type": ["integer", "null"]}
_NUMBER = {"type": ["number", "null"]}
_NANOSECONDS = {"type": ["string", "null"], "pattern": "^-?[0-9]+$"}


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_NOTE = _object({"code": {"type": "string"}, "why": {"type": "string"}})

#: JSON Schema (2020-12) of what `render_json` gives.
SCHEMA: dict[str, object] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "twinloop check report",
    **_object(
        {
            "schema": {"const": 1},
            "path": {"type": "string"},
            "session": _TEXT,
            "findings": {
                "type": "array",
                "items": _object(
                    {
                        "code": {"type": "string", "pattern": "^[A-Z]{3}[0-9]{3}$"},
                        "name": {"type": "string"},
                        "severity": {"enum": ["error", "warning", "info"]},
                        "episode": _INTEGER,
                        "stream": _TEXT,
                        "start_ns": _NANOSECONDS,
                        "end_ns": _NANOSECONDS,
                        "start_s": _NUMBER,
                        "end_s": _NUMBER,
                        "clock": {"type": "string"},
                        "where": _object({"file": _TEXT, "byte": _INTEGER, "row": _INTEGER}),
                        "value": _NUMBER,
                        "limit": _NUMBER,
                        "unit": {"type": "string"},
                        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                        "message": {"type": "string"},
                        "fix": {"type": "string"},
                        "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
                    }
                ),
            },
            "not_run": {"type": "array", "items": _NOTE},
            "failed": {"type": "array", "items": _NOTE},
        }
    ),
}


def render_json(report: CheckReport) -> str:
    """The report as a JSON document of `SCHEMA`."""
    return json.dumps(report.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
