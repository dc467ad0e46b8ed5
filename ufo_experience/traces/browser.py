"""Runs in a browser: browser-use's history of an agent, and MiniWoB++'s demonstrations with every page."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ufo_experience.traces.calls import control_of
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.rows import RowsReader, judged_by_program
from ufo_experience.traces.values import Row, as_dict, as_name, short_object

_STOPPED = {  # what browser-use's judge says stopped the run → the reason
    "reached_captcha": "the judge says a captcha stopped the run",
    "impossible_task": "the judge says the task cannot be done",
}
_BEFORE = 1  # the `timing` of a page as it was before an event
_ENTER, _BACKSPACE = 13, 8
_MOVED = 5  # pixels between button down and up, from which a click is a drag
_TYPES = {"a": "link", "select": "combobox", "input_button": "button", "input_submit": "button"}
_TYPES |= dict.fromkeys(("textarea", "input_text", "input_password", "input_number", "input_date"), "edit")


class BrowserUseReader(RowsReader):
    """browser-use: `{"history": [{model_output, result, state, metadata}]}`, screenshots dropped.

    The task is not in the file: a `task` key beside `history` is used when someone added one. `success` in the last
    result is the agent's own claim; `judgement` (0.13) is the verdict of browser-use's judge, a model.
    """

    name = "browser-use"
    needs = ("history/model_output|history/state",)
    tasks = ("task", "request")
    env = "browser"
    untold = "a history of browser-use"

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        items = [item for item in row.rows("history") if item]
        for item in items:
            for step in steps_of(item):
                draft.step(**step, agent=self.name)
        last = items[-1].rows("result")
        done = any(result.get("is_done") for result in last)
        judged, times = judged_of(last, done), [item.row("metadata") for item in items]
        gave_up = done and any(result.get("success") is False for result in last)
        claim = "the agent says it did not succeed" if gave_up else None
        errors = [error for result in last if (error := result.name("error"))]
        start, end = times[0].amount("step_start_time"), times[-1].amount("step_end_time")
        return {
            **judged,
            "failure_reason": judged["failure_reason"] or [claim, *errors][-1],
            "tokens": int(sum(time.amount("input_tokens") or 0 for time in times)) or None,
            "latency_ms": 1000 * (end - start) if start is not None and end is not None else None,
            "started_at": times[0].get("step_start_time"),
            "complete": done,
        }


def steps_of(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of one item of the history; the model's state is beside its actions since newer releases."""
    item = Row(given)
    output, state = item.row("model_output"), item.row("state")
    results, elements = item.rows("result"), state.rows("interacted_element")
    thought = (output.row("current_state") or output).first("memory", "next_goal", "thinking")
    skipped = Row(extracted_content="skipped", error="skipped: an earlier action ended this step")
    for place, action in enumerate(output.rows("action")):
        name = next(iter(action), "")
        if name in ("", "done"):
            continue
        element = elements[place] if place < len(elements) else Row()
        result = results[place] if place < len(results) else skipped
        control = control_of(element)
        yield {
            "action_type": name,
            "control": control[0],
            "control_type": control[1],
            "parameters": short_object(action[name]),
            "observation": thought,
            "result": result.get("extracted_content"),
            "error": result.name("error") or None,
            "application": state.host("url"),
            "timestamp": item.row("metadata").get("step_start_time"),
            "secret": element.row("attributes").name("type").casefold() == "password",
        }


def judged_of(results: Sequence[dict[str, Any]], done: bool) -> dict[str, Any]:
    """The verdict of browser-use's judge; without one, or where the page or the task stopped it, nobody judged."""
    said = next((found for result in reversed(results) if (found := as_dict(result.get("judgement")))), Row())
    stopped = next((reason for key, reason in _STOPPED.items() if said.get(key) is True), None)
    reason, verdict = stopped or said.name("failure_reason") or None, said.get("verdict")
    if isinstance(verdict, bool) and not stopped:
        return {"success": verdict, "evaluated_by": "evaluator", "judge": "model", "failure_reason": reason}
    return {"success": None, "evaluated_by": "agent" if done else "none", "failure_reason": reason}


class MiniWobReader(RowsReader):
    """MiniWoB++: an utterance, and the page before and after every event of mouse and keyboard.

    A click is a step on the element it hit, what is typed into one element is one step. The page's own reward judges.
    An element without text is named by the label around it, else by its id or its class.
    """

    name = "miniwob"
    needs = ("states/dom",)
    env = "web"

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        utterance = row.get("utterance")
        draft.request = as_name(utterance.get("utterance") if isinstance(utterance, dict) else utterance)
        application = draft.path.name.split(".")[0].split("_")[0]
        for step in _steps_made(state for state in row.rows("states") if state.row("action").get("timing") == _BEFORE):
            draft.step(**step, application=application)
        return judged_by_program(row.get("rawReward", row.get("reward")))


def _steps_made(states: Iterable[Row]) -> list[dict[str, Any]]:
    """The steps that events make: a press is a click, a release elsewhere makes it a drag, characters are joined."""
    steps: list[dict[str, Any]] = [{}]  # there always is a last one
    down: tuple[int, int] | None = None
    for action, path in ((state.row("action"), _target(state.get("dom"))) for state in states):
        kind, at = action.name("type"), (action.whole("x") or 0, action.whole("y") or 0)
        if kind == "mousedown" and path:
            steps.append({"action_type": "click", **_named(path)})
            down = at
        elif kind == "mouseup" and down:
            moved = {"dx": at[0] - down[0], "dy": at[1] - down[1]}
            if max(map(abs, moved.values())) > _MOVED:
                steps[-1] |= {"action_type": "drag", "parameters": moved}
        elif kind.startswith("key") and path:
            _add_key(steps, kind, action.whole("charCode") or action.whole("keyCode") or 0, path)
    return [step for step in steps if step and step.get("parameters") != {"text": ""}]


def _add_key(steps: list[dict[str, Any]], kind: str, code: int, path: list[Row]) -> None:
    named, last = _named(path), steps[-1]
    typing = last.get("action_type") == "type" and last["control"] == named["control"]
    if (kind, code) == ("keydown", _ENTER):
        steps.append({"action_type": "press", **named, "parameters": {"key": "Enter"}})
    elif (kind, code) == ("keydown", _BACKSPACE) and typing:
        last["parameters"]["text"] = last["parameters"]["text"][:-1]
    elif kind == "keypress" and 32 <= code < 0x110000:
        if not typing:
            secret = path[-1].name("tag").casefold() == "input_password"
            steps.append({"action_type": "type", **named, "parameters": {"text": ""}, "secret": secret})
        steps[-1]["parameters"]["text"] += chr(code)


def _target(node: Any, path: tuple[Row, ...] = ()) -> list[Row]:
    """The elements down to the one an event hit."""
    found = as_dict(node)
    if found.get("recordingTarget"):
        return [*path, found]
    return next((hit for child in found.rows("children") if (hit := _target(child, (*path, found)))), [])


def _named(path: list[Row]) -> dict[str, str]:
    target, tag = path[-1], path[-1].name("tag").casefold()
    labels = (_text(one) for one in path[-2:-4:-1] if one.name("tag").casefold() == "label")
    own = target.name("value") if tag in ("input_button", "input_submit") else _text(target)
    name = own or next(labels, "") or target.name("id", "classes")
    return {"control": name, "control_type": _TYPES.get(tag, tag.removeprefix("input_"))}


def _text(node: Row) -> str:
    parts = [one.name("text") for one in (node, *node.rows("children"))]
    return " ".join(part for part in parts if part)
