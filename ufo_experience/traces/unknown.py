"""What to say of a file that no reader knows: how it would look in the plain format, made from its own fields."""

from __future__ import annotations

import json

from ufo_experience.errors import DataError
from ufo_experience.traces.files import Found
from ufo_experience.traces.lines import load_document
from ufo_experience.traces.rows import lack_of
from ufo_experience.traces.values import Row, as_dict, as_name

UNKNOWN = "not a trace of a known format"
_SHOWN = 40
_EXAMPLE = '{"task": "…", "application": "…", "steps": [{"action": "click", "control": "Save", "parameters": {}}]}'
# A field of ours, and parts of names under which files have it.
_TASK = ("task", "goal", "instruction", "intent", "objective", "query", "prompt", "title", "question", "request")
_ACTION = ("action", "op", "event", "command", "verb", "tool", "function", "type", "kind")
_CONTROL = ("control", "target", "element", "selector", "widget", "node", "label", "button", "name")
_HINTS = {
    ".har": "a HAR file holds network requests, not what a person did; record with Chrome's Recorder instead",
    ".pkl": "a pickle can run code and is never opened; export it as JSON",
    ".parquet": "convert it to JSON lines first, one row a line",
    ".csv": "convert it to JSON lines first, one step a line",
    ".mht": "a saved web page, and no recording of Steps Recorder",
    ".xml": "convert it to JSON in the plain format",
    ".tar": "unpack it and give the folder",
    ".7z": "unpack it and give the folder",
}
_CLOUD_FLOW = (
    "the definition of a cloud flow of Power Automate: calls of connectors, nothing done on a screen; of a desktop "
    "flow copy the actions out of the designer and save them as .robin"
)


def unknown_message(found: Found) -> str:
    """Why a file is not read, and the plain format with an example in its own words."""
    if hint := _HINTS.get(found.suffix):
        return f"{UNKNOWN}: {hint}"
    record = next(iter(found.rows), Row())
    if not record:
        return f"{UNKNOWN}{_damage(found)}; the plain format is {_EXAMPLE}"
    if record.row("properties").row("definition").get("actions"):
        return f"{UNKNOWN}: {_CLOUD_FLOW}"
    if lack := lack_of(record):
        return f"{UNKNOWN}: {lack}"
    keys = ", ".join(list(map(str, record))[:12])[:200]
    return f"{UNKNOWN}: it holds {keys}; in the plain format it would be {_example(record)}"


def _damage(found: Found) -> str:
    """The error of a file that is named `.json` and cannot be parsed."""
    try:
        load_document(found.path, []) if found.suffix == ".json" else None
    except DataError as error:
        return f": {error.reason}"
    return ""


def _example(record: Row) -> str:
    """A run in the plain format, with the values the file has under other names."""
    listed = next((value for value in record.values() if isinstance(value, list) and as_dict((value or [0])[0])), [])
    step = as_dict(listed[0]) if listed else record
    made = {"action": _value(step, _ACTION) or "click", "control": _value(step, _CONTROL) or "Save"}
    task = _value(record, _TASK) or "what was to be done"
    return json.dumps({"task": task, "steps": [made, "…"]}, ensure_ascii=False)


def _value(record: Row, parts: tuple[str, ...]) -> str:
    texts = {str(key).casefold(): as_name(value) for key, value in record.items() if isinstance(value, str)}
    return next((text[:_SHOWN] for part in parts for key, text in texts.items() if part in key and text), "")
