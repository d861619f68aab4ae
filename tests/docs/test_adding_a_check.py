"""The rule in docs/adding-a-check.md is a rule, and finds what it says."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from twinloop.checks.catalog import RULES
from twinloop.checks.run import check
from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature, Mapping
from twinloop.testing.memory import MemoryRecording, memory_stream

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-check.md"


@pytest.fixture
def example():
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    module = ModuleType("example_rule")
    sys.modules[module.__name__] = module
    exec(compile(source, str(PAGE), "exec"), module.__dict__)
    RULES.register("too_fast")(module.too_fast)
    yield module.too_fast
    RULES.unregister("too_fast")
    del sys.modules[module.__name__]


def arm(position: np.ndarray) -> MemoryRecording:
    times = 1_700_000_000_000_000_000 + np.arange(len(position)) * 10_000_000
    return MemoryRecording(
        [memory_stream("/arm", Kind.JOINTS, {"position": position}, stamp_ns=times, names=("elbow", "gripper"))]
    )


def test_the_example_rule_finds_a_jump_and_nothing_else(example):
    mapping = Mapping((Feature("observation.state", "/arm", Role.OBSERVATION, field="position"),))
    position = np.sin(np.arange(200) / 20)[:, None] * [1.0, 0.5]
    assert not check(arm(position), mapping=mapping, select=["XMP001"]).findings
    position[120:, 1] += 2 * np.pi
    (finding,) = check(arm(position), mapping=mapping, select=["XMP001"]).findings
    assert "gripper" in finding.message
    assert finding.start_s == pytest.approx(1.19)


def test_its_docstring_has_the_headings_of_every_rule(example):
    assert example.documentation.summary == "A joint moves faster than it can."
