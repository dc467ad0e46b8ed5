"""Steps that several tasks of an application begin with: sign in, open the settings page.

They are told once, as a way of its own, to a task of that application for which no procedure is known. Only what may
stand in any task's block is told: labels of fixed controls, no value, nothing that a person is asked before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from ufo_experience.actions import plain
from ufo_experience.procedure.runs import request_of
from ufo_experience.procedure.steps import ProcedureStep, read_step
from ufo_experience.request import holds
from ufo_experience.schema import Experience, Step
from ufo_experience.trust.labels import is_fixed, is_label
from ufo_experience.trust.risk import asks_first

TASKS, STEPS = 3, 2  # fewer tasks may share steps by chance, and one step says nothing
_LINKS = frozenset({"link", "hyperlink"})  # what the links of three tasks share belongs to the application
_TOLD = frozenset({"click", "type", "select", "switch"})


def shared_beginning(runs: Iterable[Experience]) -> tuple[ProcedureStep, ...]:
    """The steps that most of some runs (one of each task) begin with, as long as three tasks share them; none below two
    steps. What is typed is left open.
    """
    ways = [_fixed_steps(one) for one in runs]
    found: list[ProcedureStep] = []
    while True:
        at = len(found)
        ways = [way for way in ways if len(way) > at]
        counts = Counter(_key(way[at]) for way in ways)
        key, tasks = counts.most_common(1)[0] if counts else (None, 0)
        if tasks < TASKS:
            return tuple(found) if at >= STEPS else ()
        ways = [way for way in ways if _key(way[at]) == key]
        found.append(replace(read_step(at + 1, ways[0][at]), parameters={}))


def _fixed_steps(run: Experience) -> Sequence[Step]:
    """The first steps of a run, up to one that is its own, failed, or is asked before."""
    values = [value.text for value in request_of(run).values]
    return [*takewhile(lambda step: _is_fixed(step, values), run.action.steps)]


def _is_fixed(step: Step, values: Sequence[str]) -> bool:
    control = step.target_control
    fixed = is_fixed(control) or plain(control.type or "") in _LINKS
    own = any(holds(control.name, value) for value in values)
    told = step.ok and read_step(1, step).kind in _TOLD
    return told and fixed and is_label(control.name) and not own and not asks_first(step)


def _key(step: Step) -> tuple[str, str, str]:
    return plain(step.action_type), step.target_control.name.casefold(), plain(step.target_control.type or "")
