"""Steps that several tasks of an application begin with: sign in, open the settings page.

They are told once, as a way of its own, to a task of that application for which no procedure is known. Only what may
stand in any task's block is told: labels of fixed controls, no value, nothing that a person is asked before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile

from ufo_experience.controls import bare, is_fixed
from ufo_experience.procedure.runs import request_of
from ufo_experience.procedure.steps import ProcedureStep, read_steps
from ufo_experience.request import holds
from ufo_experience.schema import Experience
from ufo_experience.trust.labels import is_label

TASKS, STEPS = 3, 2  # fewer tasks may share steps by chance, and one step says nothing
_TOLD = frozenset({"click", "type", "select", "switch"})


def shared_beginning(runs: Iterable[Experience]) -> tuple[ProcedureStep, ...]:
    """The steps that most of some runs (one of each task) begin with, as long as three tasks share them; none below two
    steps. What is typed is left open.
    """
    ways = [_fixed_steps(one) for one in runs]
    found: list[ProcedureStep] = []
    while True:
        ways = [way for way in ways if len(way) > len(found)]
        keys = [(way[len(found)].kind, bare(way[len(found)].name), way[len(found)].role) for way in ways]
        key, tasks = Counter(keys).most_common(1)[0] if keys else (None, 0)
        if tasks < TASKS:
            return tuple(found) if len(found) >= STEPS else ()
        ways = [way for way, own in zip(ways, keys, strict=True) if own == key]
        found.append(replace(ways[0][len(found)], parameters={}, after=""))


def _fixed_steps(run: Experience) -> list[ProcedureStep]:
    """The first steps of a run, up to one that is its own or is asked before."""
    values = [value.text for value in request_of(run).values]

    def may_be_told(step: ProcedureStep) -> bool:
        fixed = step.kind in _TOLD and (not step.role or is_fixed(step.role)) and not step.ask_first
        return fixed and is_label(step.name) and not any(holds(step.name, value) for value in values)

    return list(takewhile(may_be_told, read_steps(run)))
