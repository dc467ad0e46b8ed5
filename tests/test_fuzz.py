"""A short run of every fuzz target; `python -m tools.fuzz` runs them for as long as you like."""

from __future__ import annotations

import random

import pytest

from tools import fuzz

RUNS = {"logs": 80, "records": 300, "yaml": 80, "manifest": 300}


@pytest.mark.parametrize("target", RUNS)
def test_only_typed_errors_leave_a_reader(target):
    """Mutated logs, records, YAML and manifests; memory stays bounded."""
    done, _, _ = fuzz.fuzz(target, runs=RUNS[target])
    assert done == RUNS[target]


@pytest.mark.parametrize("part", range(4))
def test_no_generated_record_breaks_a_prompt(part):
    """2,000 records in four parts: nonce twice, roles, budget, idempotence, nothing of the caller changed."""
    shown = 0
    for seed in range(167):
        shown += len(fuzz.check_prompt(random.Random(part * 1000 + seed)).ids)
    assert shown > 100
