"""How an example is written in the block, line by line, and read back.

    Example 1 (good match; OUTLOOK.EXE; worked)
    Task: Write an email to [email 1] about the offsite.
    1. click_input(Button "New Email") - The new message window opens.
    2. set_edit_text(Edit "To", text=[email 1])
    3. click_input(Button "Send") (ask the user first) - The message is sent.

A name stands in double quotes as a JSON string, a value as JSON or as the label of a value of the task, prose to the
end of its line. So no text of a record can begin a line, and what was written can be read without guessing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ufo_experience.errors import SchemaError, UsageError
from ufo_experience.prompt.cleaning import clean, inert
from ufo_experience.prompt.labels import LABEL

STEPS_KEY = {True: "successful_steps", False: "tried_and_failed", None: "steps_of_unknown_outcome"}
OUTCOME = {True: "worked", False: "failed", None: "outcome unknown"}
PROSE = {  # field → how its line begins; lists have a line for each entry
    "task": "Task",
    "preconditions": "Start",
    "do_not_use_when": "Avoid when",
    "strategy": "Strategy",
    "skill": "Skill",
    "differs": "Differs",
    "reason": "Reason",
    "tips": "Tip",
}
_LISTS = ("preconditions", "do_not_use_when", "tips")
_FIELDS = {word: name for name, word in PROSE.items()}
_RESULT = {word: {True: "success", False: "failure", None: "unknown"}[said] for said, word in OUTCOME.items()}
_KEY_OF = {word: STEPS_KEY[said] for said, word in OUTCOME.items()}

_JSON = "(as JSON)"
_HEAD = re.compile(
    r"(?:Example \d+ )?\((?:(\w+) match; )?(.*?)(worked|failed|outcome unknown)(?:; ([^;]{1,80}) old)?\)"
)
_STEP = re.compile(r"(\d+)\. ([^\s(]*)\(")
_TYPE = re.compile(r"(\w+)(?![\w=])")
_KEY = re.compile(r"([\w.-]+)=")
_MORE = re.compile(r"\((\d+) more steps?\)")
_AFTER = re.compile(
    r'(?: in (?P<application>"(?:[^"\\]|\\.)*"))?'
    r"(?: \(optional: done by (?P<did>\d+) of (?P<runs>\d+) runs\))?(?P<confirm> \(ask the user first\))?"
    r'(?: failed: (?P<error>"(?:[^"\\]|\\.)*"))?(?: - (?P<observation>.*))?'
)
_NOT_A_WORD = re.compile(r"\W+")
_NOT_A_VERB = re.compile(r"[^\w.:/-]+")
_PLAIN_NAME = re.compile(r"\w[\w .&+-]*")
_decode = json.JSONDecoder().raw_decode
_as_json = json.JSONEncoder(ensure_ascii=False).encode


def prose(text: str, limit: int | None = None) -> str:
    """A text as it stands on one line: cleaned, its breaks as blanks, cut to `limit` characters."""
    return inert(clean(" ".join(clean(text).split()), limit))


def quoted(text: str, limit: int | None = None) -> str:
    """A name as a JSON string."""
    return _as_json(inert(clean(text, limit)))


def encode(record: Mapping[str, Any]) -> str:
    """Something else than an example of a run, as one line of JSON; its texts are cleaned already."""
    return f"{_JSON}\n{inert(_as_json(record))}"


def head_line(match: str | None, application: str | None, success: bool | None, age: str | None) -> str:
    """The first line of an example, without its number."""
    name = application and (application if _PLAIN_NAME.fullmatch(application) else quoted(application))
    parts = [f"{match} match" if match else "", name or "", OUTCOME[success], f"{age} old" if age else ""]
    return f"({'; '.join(part for part in parts if part)})"


def step_line(
    number: int,
    action: str,
    control: str,
    control_type: str | None,
    parameters: Mapping[str, Any],
    *,
    application: str | None = None,
    optional: tuple[int, int] | None = None,
    confirm: bool = False,
    error: str | None = None,
    observation: str = "",
) -> str:
    """One step. `optional` are the runs that did it and all runs; texts are cleaned already."""
    kind = _NOT_A_WORD.sub("_", control_type or "").strip("_")
    target = " ".join(part for part in (kind, quoted(control) if control else "") if part)
    values = [f"{_NOT_A_WORD.sub('_', key) or '_'}={_value(value)}" for key, value in parameters.items()]
    line = f"{number}. {_NOT_A_VERB.sub('_', action)}({', '.join([target, *values] if target else values)})"
    if application:
        line += f" in {quoted(application)}"
    if optional:
        line += f" (optional: done by {optional[0]} of {optional[1]} runs)"
    if confirm:
        line += " (ask the user first)"
    if error:
        line += f" failed: {quoted(error)}"
    return f"{line} - {observation}" if observation else line


def read_step(line: str) -> tuple[int, str, str, str]:
    """Number, action, control and observation of a step line of the block.

    Raises:
        UsageError: `line` is not such a line.
    """
    step = _read_step(line)
    if step is None:
        raise UsageError("not a step such as '1. click_input(Button \"New Email\") - observation'")
    return step["number"], step["action"], step["control"], step["observation"]


def read_example(text: str) -> dict[str, Any]:
    """The fields of one example as it was written, a step with its line and its parts.

    Raises:
        SchemaError: a line of it is none of ours (`E_BLOCK`).
    """
    first, *lines = text.strip("\n").split("\n")
    if first.endswith(_JSON):
        return _read_json(lines)
    head = _HEAD.fullmatch(first)
    if head is None:
        raise SchemaError(f"not the head of an example: {first[:80]!r}", code="E_BLOCK")
    application = head[2].removesuffix("; ")
    record: dict[str, Any] = {
        "match": head[1],
        "application": json.loads(application) if application.startswith('"') else application or None,
        "outcome": _RESULT[head[3]],
        "age": head[4],
    }
    record = {name: value for name, value in record.items() if value is not None}
    for line in lines:
        _read_line(line, record, _KEY_OF[head[3]])
    return record


def _read_json(lines: list[str]) -> dict[str, Any]:
    try:
        record = json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"not JSON: {error}", code="E_BLOCK") from error
    if not isinstance(record, dict):
        raise SchemaError("not an object", code="E_BLOCK")
    return record


def _read_line(line: str, record: dict[str, Any], steps_key: str) -> None:
    word, colon, rest = line.partition(": ")
    if step := _read_step(line):
        record.setdefault(steps_key, []).append({key: value for key, value in step.items() if value not in (None, {})})
    elif more := _MORE.fullmatch(line):
        record["steps_not_shown"] = int(more[1])
    elif colon and word == "Parameters":
        record["parameters"] = json.loads(rest)
    elif (colon or line.endswith(":")) and word.removesuffix(":") in _FIELDS:
        name = _FIELDS[word.removesuffix(":")]
        if name in _LISTS:
            record.setdefault(name, []).append(rest)
        else:
            record[name] = rest
    else:
        raise SchemaError(f"not a line of an example: {line[:80]!r}", code="E_BLOCK")


def _read_step(line: str) -> dict[str, Any] | None:
    """The parts of a step line; None for any other."""
    head = _STEP.match(line)
    if head is None:
        return None
    try:
        inside, end = _read_arguments(line, head.end())
    except ValueError:
        return None
    after = _AFTER.fullmatch(line, end)
    if after is None:
        return None
    texts = {name: after[name] and json.loads(after[name]) for name in ("application", "error")}
    return {
        "step": line,
        "number": int(head[1]),
        "action": head[2],
        **inside,
        **texts,
        "optional": f"{after['did']} of {after['runs']}" if after["did"] else None,
        "confirm": True if after["confirm"] else None,
        "observation": after["observation"] or "",
    }


def _read_arguments(line: str, at: int) -> tuple[dict[str, Any], int]:
    """Control, its kind and the parameters between the brackets, and where they end. Raises `ValueError`."""
    kind, name = "", ""
    if found := _TYPE.match(line, at):
        kind, at = found[1], found.end()
        at += line[at : at + 2] == ' "'
    if line[at : at + 1] == '"':
        name, at = _decode(line, at)
    parameters: dict[str, Any] = {}
    while line[at : at + 1] != ")":
        if parameters or kind or name:
            if line[at : at + 2] != ", ":
                raise ValueError
            at += 2
        key = _KEY.match(line, at)
        if key is None:
            raise ValueError
        parameters[key[1]], at = _read_value(line, key.end())
    return {"control": name, "control_type": kind or None, "parameters": parameters}, at + 1


def _read_value(line: str, at: int) -> tuple[Any, int]:
    label = LABEL.match(line, at)
    return (label[0], label.end()) if label else _decode(line, at)


def _value(value: Any) -> str:
    if isinstance(value, str) and LABEL.fullmatch(value):
        return value
    return inert(_as_json(value))
