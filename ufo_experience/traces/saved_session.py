"""Saved sessions and follower plans, as UFO's session documentation shows them.

    saved session   {"task", "request", "trajectory": [{round, agent, observation, action, parameters}],
                     "outcome": "success", "evaluation_score": 0.95, "cost", "tokens"}
    plan file       {"request", "actions": [{agent, action, parameters}]}   or   {"task", "steps": ["…"], "object"}

A plan is what is to be replayed, not what happened: its steps say "not executed" and its outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.errors import TraceError
from ufo_experience.ids import content_hash
from ufo_experience.schema import NOT_EXECUTED, Problem, Trajectory
from ufo_experience.traces.builder import Draft, content_key
from ufo_experience.traces.coerce import as_amount, as_dict, as_int, as_lines, as_list, as_name
from ufo_experience.traces.common_keys import stated_outcome, states_outcome
from ufo_experience.traces.json_lines import load_document, peek
from ufo_experience.traces.reader import ReadReport

_APPLICATION = ("app_name", "application", "application_name")
_CONTROL = ("label", "control_text", "control_name", "name")


class SavedSessionReader:
    """Reads one saved session or one plan file."""

    name = "ufo-session"

    def recognises(self, path: Path) -> bool:
        """True for a JSON object with a request or task, and a trajectory, actions, or steps that are sentences."""
        first = as_dict(next(iter(peek(path)), None))
        steps = as_list(first.get("steps"))
        return bool(first.keys() & {"task", "request"}) and (
            _are_of_ufo(first.get("trajectory"))
            or _are_of_ufo(first.get("actions"))
            or (_are_objects(first.get("actions")) and not states_outcome(first))
            or (bool(steps) and all(isinstance(step, str) for step in steps))
        )

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the session. Raises `TraceError` when it has no action and no step."""
        problems: list[Problem] = []
        record = as_dict(load_document(path, problems))
        executed = isinstance(record.get("trajectory"), list)
        actions = [
            item for item in as_list(record.get("trajectory" if executed else "actions")) if isinstance(item, dict)
        ]
        plan = as_lines([step for step in as_list(record.get("steps")) if isinstance(step, str)])
        if not actions and not plan:
            raise TraceError("no action in it", file=str(path), code="E_EMPTY")
        request = record.get("request") or record.get("task")
        draft = Draft(path, format=self.name, session=content_key(path.stem, 1, content_hash(record)), request=request)
        application = as_name(record.get("application") or record.get("object")) or None
        for item in actions:
            application = _add_step(draft, item, executed, application)
        report.problems += problems
        yield draft.finish(
            **_outcome(record, executed),
            cost=record.get("cost"),
            tokens=as_int(record.get("tokens")),
            plan=plan or as_lines(record.get("plan")),
            agent="UFO",
            started_at=record.get("timestamp"),
            problems=problems,
        )


def _add_step(draft: Draft, item: dict[str, Any], executed: bool, application: str | None) -> str | None:
    """Add an action and return the application in use after it: one that selects an application names it."""
    parameters = dict(as_dict(item.get("parameters")))
    selected = next((as_name(parameters[key]) for key in _APPLICATION if as_name(parameters.get(key))), None)
    application = as_name(item.get("application")) or selected or application
    control = item.get("control_text") or item.get("target_control")
    if not control:
        key = next((key for key in _CONTROL if isinstance(parameters.get(key), str)), None)
        control = parameters.pop(key) if key else selected
    draft.step(
        item.get("action") or item.get("action_type"),
        control=control,
        parameters=parameters,
        observation=item.get("observation") or item.get("thought"),
        result=item.get("result") if executed else NOT_EXECUTED,
        error=as_name(item.get("error")) or None,
        agent=item.get("agent"),
        application=application,
        timestamp=item.get("timestamp"),
        cost=item.get("cost"),
    )
    return application


def _outcome(record: dict[str, Any], executed: bool) -> dict[str, Any]:
    """What the file says of its outcome; a score with it means that an evaluator judged."""
    if not executed:
        return {"success": None}
    judged = as_amount(record.get("evaluation_score")) is not None
    outcome = stated_outcome(record)
    if judged and outcome["success"] is not None:
        outcome |= {"evaluated_by": "evaluator", "judge": "llm"}
    return outcome | {"score": record.get("evaluation_score")}


def _are_objects(value: Any) -> bool:
    """True for a list of objects that name an action each, as far as the first tells."""
    first = as_dict(value[0]) if isinstance(value, list) and value else {}
    return isinstance(first.get("action"), str)


def _are_of_ufo(value: Any) -> bool:
    """True for steps as UFO saves them: which agent acted, in which round. Others are the plain format's."""
    return _are_objects(value) and bool(value[0].keys() & {"agent", "round"})
