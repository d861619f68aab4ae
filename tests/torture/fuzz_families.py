"""The families of formats to fuzz, and a small sample of each: those of the readers' conformance suites."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from twinloop.testing.conformance import ReaderConformance

FORMATS = Path(__file__).parents[1] / "formats"


@cache
def families() -> dict[str, list[type[ReaderConformance]]]:
    """Reader's name -> its conformance suites, each of which makes a sample of another kind."""
    # As pytest does: a test's helpers lie beside it.
    sys.path[:0] = [str(folder) for folder in (FORMATS, *FORMATS.iterdir()) if folder.is_dir()]
    for file in sorted(FORMATS.rglob("test*conformance*.py")):
        _load(file)
    found: dict[str, list[type[ReaderConformance]]] = {}
    todo = [ReaderConformance]
    while todo:
        for suite in todo.pop().__subclasses__():
            todo.append(suite)
            if hasattr(suite, "reader") and suite.__name__.startswith("Test"):
                found.setdefault(suite.reader.name, []).append(suite)
    return dict(sorted(found.items()))


def _load(file: Path) -> ModuleType:
    """A test module, under the name that pytest gives it: its stem."""
    name = file.stem
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
