"""browser-use agent history: `{"history": [{model_output, result, state, metadata}]}`. Screenshots are dropped.

The task is not in the file: a `task` key beside `history` is used when someone added one. `success` in the last result
is the agent's own claim; `judgement` (0.13) is the verdict of browser-use's judge, a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ufo_experience.traces.draft import Draft
from ufo_experience.traces.rows import RowsReader
from ufo_experience.traces.values import (
    as_amount,
    as_dict,
    as_dicts,
    as_host,
    as_name,
    first_name,
    first_of,
    short_object,
)

_NAMES = ("aria-label", "ax_name", "name", "placeholder", "title", "alt", "value", "id")


class BrowserUseReader(RowsReader):
    """One browser-use history a file."""

    name = "browser-use"
    tasks = ("task", "request")
    env = "browser"
    untold = "a history of browser-use"

    def is_row(self, row: dict[str, Any]) -> bool:
        return any(item.keys() & {"model_output", "state"} for item in as_dicts(row.get("history")))

    def fill(self, draft: Draft, row: dict[str, Any]) -> dict[str, Any]:
        items = [item for item in as_dicts(row.get("history")) if item]
        for item in items:
            for step in steps_of(item):
                draft.step(**step, agent=self.name)
        last = as_dicts(items[-1].get("result"))
        done = any(result.get("is_done") for result in last)
        errors = [as_name(result.get("error")) for result in last if result.get("error")]
        times = [as_dict(item.get("metadata")) for item in items]
        start, end = as_amount(times[0].get("step_start_time")), as_amount(times[-1].get("step_end_time"))
        return {
            **outcome_of(last, done),
            "failure_reason": reason_of(last) or (errors[-1] if errors else _given_up(last)),
            "tokens": int(sum(as_amount(time.get("input_tokens")) or 0 for time in times)) or None,
            "latency_ms": 1000 * (end - start) if start is not None and end is not None and end >= start else None,
            "started_at": times[0].get("step_start_time"),
            "complete": done,
        }


def steps_of(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of one item of the history, as `Draft.step` takes them.

    `action`, `result` and `interacted_element` are parallel lists; each action object has one key, its name. The
    model's state is nested in older releases, and beside the actions in newer ones.
    """
    output, state = as_dict(item.get("model_output")), as_dict(item.get("state"))
    results, elements = as_dicts(item.get("result")), as_dicts(state.get("interacted_element"))
    thought = first_of(as_dict(output.get("current_state")) or output, ("memory", "next_goal", "thinking"))
    for place, action in enumerate(as_dicts(output.get("action"))):
        name = next(iter(action), "")
        if name in ("", "done"):
            continue
        element = elements[place] if place < len(elements) else {}
        done = place < len(results)
        result = results[place] if done else {}
        yield {
            "action_type": name,
            "control": control_of(element),
            "control_type": element.get("node_name") or element.get("tag_name"),
            "parameters": short_object(action[name]),
            "observation": thought,
            "result": result.get("extracted_content") if done else "skipped",
            "error": (as_name(result.get("error")) or None) if done else "skipped: an earlier action ended this step",
            "application": as_host(state.get("url")),
            "timestamp": as_dict(item.get("metadata")).get("step_start_time"),
            "secret": as_name(as_dict(element.get("attributes")).get("type")).casefold() == "password",
        }


def control_of(element: dict[str, Any]) -> str:
    """What an element is called: by its label or its text, else by its place in the page."""
    attributes = as_dict(element.get("attributes"))
    named = (as_name(element.get(key)) or as_name(attributes.get(key)) for key in _NAMES)
    return next((name for name in named if name), first_name(element, "x_path", "xpath"))


def outcome_of(results: list[dict[str, Any]], done: bool) -> dict[str, Any]:
    """The verdict of browser-use's judge; without one, or where the page or the task stopped it, nobody judged."""
    judgement = _judgement(results)
    verdict = judgement.get("verdict")
    stopped = judgement.get("reached_captcha") is True or judgement.get("impossible_task") is True
    if isinstance(verdict, bool) and not stopped:
        return {"success": verdict, "evaluated_by": "evaluator", "judge": "model"}
    return {"success": None, "evaluated_by": "agent" if done else "none"}


def reason_of(results: list[dict[str, Any]]) -> str | None:
    """What the judge says went wrong, or stopped the run."""
    judgement = _judgement(results)
    if judgement.get("reached_captcha") is True:
        return "the judge says a captcha stopped the run"
    if judgement.get("impossible_task") is True:
        return "the judge says the task cannot be done"
    return as_name(judgement.get("failure_reason")) or None


def _judgement(results: list[dict[str, Any]]) -> dict[str, Any]:
    return next((found for result in reversed(results) if (found := as_dict(result.get("judgement")))), {})


def _given_up(results: list[dict[str, Any]]) -> str | None:
    claimed = any(result.get("is_done") and result.get("success") is False for result in results)
    return "the agent says it did not succeed" if claimed else None
