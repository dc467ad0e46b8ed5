"""A short run of every fuzz target; `python -m tools.fuzz` runs them for as long as you like."""

from __future__ import annotations

import random

import pytest

from tools import fuzz

RUNS = {"logs": 40, "records": 60, "yaml": 30}


@pytest.mark.parametrize("target", RUNS)
def test_only_typed_errors_leave_a_reader(target):
    """Mutated logs, records and YAML at the doors; memory stays bounded."""
    done, _, _ = fuzz.fuzz(target, runs=RUNS[target])
    assert done == RUNS[target]


@pytest.mark.parametrize("part", range(2))
def test_no_generated_record_breaks_a_prompt(part):
    """A hundred prompts: nonce twice, roles, budget, idempotence, nothing of the caller changed."""
    shown = 0
    for seed in range(50):
        shown += len(fuzz.check_prompt(random.Random(part * 1000 + seed)).ids)
    assert shown > 30
