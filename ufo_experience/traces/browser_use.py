"""browser-use agent history: `{"history": [{model_output, result, state, metadata}]}`. Screenshots are dropped.

The task is not in the file: a `task` key beside `history` is used when someone added one. `success` in the last result
is the agent's own claim; `judgement` (0.13) is the verdict of browser-use's judge, a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ufo_experience.errors import TraceError
from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.builder import NO_TASK, Draft, content_key
from ufo_experience.traces.coerce import as_amount, as_dict, as_list, as_name, short_object
from ufo_experience.traces.json_lines import load_document, peek
from ufo_experience.traces.reader import ReadReport

_NAMES = ("aria-label", "ax_name", "name", "placeholder", "title", "alt", "value", "id")


class BrowserUseReader:
    """Reads one browser-use history file."""

    name = "browser-use"

    def recognises(self, path: Path) -> bool:
        """True for a JSON object whose `history` holds model outputs or browser states."""
        first = next(iter(peek(path)), None)
        items = as_list(as_dict(first).get("history"))
        return any(isinstance(item, dict) and item.keys() & {"model_output", "state"} for item in items)

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the run. Raises `TraceError` when the file has no history."""
        problems: list[Problem] = []
        document = as_dict(load_document(path, problems))
        items = [item for item in as_list(document.get("history")) if isinstance(item, dict)]
        if not items:
            raise TraceError("no history in it", file=str(path), code="E_EMPTY")
        request = document.get("task") or document.get("request")
        if not request:
            message = "the file does not hold the task; --task gives it, or a `task` beside `history`"
            problems.append(Problem(file=str(path), code=NO_TASK, message=message))
        draft = Draft(
            path, format=self.name, session=content_key(path.stem, 1, content_hash(items[0])), request=request
        )
        for item in items:
            for step in steps_of(item):
                draft.step(**step, agent=draft.format)
        report.problems += problems
        last = [as_dict(result) for result in as_list(items[-1].get("result"))]
        done = any(result.get("is_done") for result in last)
        errors = [as_name(result.get("error")) for result in last if result.get("error")]
        times = [as_dict(item.get("metadata")) for item in items]
        yield draft.finish(
            **outcome_of(last, done),
            failure_reason=reason_of(last) or (errors[-1] if errors else _given_up(last)),
            tokens=int(sum(as_amount(time.get("input_tokens")) or 0 for time in times)) or None,
            latency_ms=_duration(times),
            agent=self.name,
            env="browser",
            started_at=times[0].get("step_start_time"),
            complete=done,
            problems=problems,
        )


def steps_of(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of one item of the history, as `Draft.step` takes them.

    `action`, `result` and `interacted_element` are parallel lists; each action object has one key, its name.
    """
    actions = as_list(as_dict(item.get("model_output")).get("action"))
    results = as_list(item.get("result"))
    state = as_dict(item.get("state"))
    elements = as_list(state.get("interacted_element"))
    thoughts = _thoughts(item)
    for place, action in enumerate(map(as_dict, actions)):
        name = next(iter(action), "")
        if name in ("", "done"):
            continue
        element = as_dict(elements[place]) if place < len(elements) else {}
        done = place < len(results)
        result = as_dict(results[place]) if done else {}
        failure = as_name(result.get("error")) or None
        yield {
            "action_type": name,
            "control": control_of(element),
            "control_type": element.get("node_name") or element.get("tag_name"),
            "parameters": short_object(action[name]),
            "observation": thoughts.get("memory") or thoughts.get("next_goal") or thoughts.get("thinking"),
            "result": result.get("extracted_content") if done else "skipped",
            "error": failure if done else "skipped: an earlier action of this step ended it",
            "application": urlsplit(as_name(state.get("url"))[:2000]).hostname if _is_web(state) else None,
            "timestamp": as_dict(item.get("metadata")).get("step_start_time"),
            "secret": as_name(as_dict(element.get("attributes")).get("type")).casefold() == "password",
        }


def _is_web(state: dict[str, Any]) -> bool:
    """Tell whether the page has a host; a broken address has none."""
    address = as_name(state.get("url"))
    return address.startswith(("http://", "https://")) and "[" not in address


def control_of(element: dict[str, Any]) -> str:
    """What an element is called: by its label or its text, else by its place in the page."""
    attributes = as_dict(element.get("attributes"))
    named = (as_name(element.get(key)) or as_name(attributes.get(key)) for key in _NAMES)
    return next((name for name in named if name), as_name(element.get("x_path") or element.get("xpath")))


def _thoughts(item: dict[str, Any]) -> dict[str, Any]:
    """The model's state: nested in older releases, beside the actions in newer ones."""
    output = as_dict(item.get("model_output"))
    return as_dict(output.get("current_state")) or output


def outcome_of(results: list[dict[str, Any]], done: bool) -> dict[str, Any]:
    """The verdict of browser-use's judge; without one, or where the page or the task stopped it, nobody judged."""
    judgement = _judgement(results)
    verdict = judgement.get("verdict")
    stopped = judgement.get("reached_captcha") is True or judgement.get("impossible_task") is True
    if isinstance(verdict, bool) and not stopped:
        return {"success": verdict, "evaluated_by": "evaluator", "judge": "llm"}
    return {"success": None, "evaluated_by": "agent" if done else "none"}


def _judgement(results: list[dict[str, Any]]) -> dict[str, Any]:
    return next((found for result in reversed(results) if (found := as_dict(result.get("judgement")))), {})


def reason_of(results: list[dict[str, Any]]) -> str | None:
    """What the judge says went wrong, or stopped the run."""
    judgement = _judgement(results)
    if judgement.get("reached_captcha") is True:
        return "the judge says a captcha stopped the run"
    if judgement.get("impossible_task") is True:
        return "the judge says the task cannot be done"
    return as_name(judgement.get("failure_reason")) or None


def _given_up(results: list[dict[str, Any]]) -> str | None:
    claimed = [result for result in results if result.get("is_done") and result.get("success") is False]
    return "the agent says it did not succeed" if claimed else None


def _duration(times: list[dict[str, Any]]) -> float | None:
    start, end = as_amount(times[0].get("step_start_time")), as_amount(times[-1].get("step_end_time"))
    return 1000 * (end - start) if start is not None and end is not None and end >= start else None
