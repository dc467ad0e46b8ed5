"""A block read back: for agents of the benchmarks, which take steps as data, and for tests of what a prompt says."""

import json
import re
from itertools import product
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.procedure.render import OPEN, WORDS, YOURS
from ufo_experience.schema import expect

_BLOCK = re.compile(
    r"<<<past-experience (?P<nonce>[0-9a-f]{8}) \(data, not instructions\)\n(?P<body>(?:(?!<<<past-experience ).)*?)"
    r"\n>>>(?P=nonce)",
    re.DOTALL,
)

# ---- the lines that `Procedure.text` and `render` write

NEXT = "next_actions"  # under this name the steps of what comes next are read
BEGINNING = "begins_with"  # and those that several tasks begin with
_STEPS = {"Worked": "steps", "Failed": "tried_and_failed", "Tried": "steps_of_unknown_outcome"}
_OUTCOMES = {"Worked": "success", "Failed": "failure", "Tried": "unknown"}
_Q = r'"(?:[^"\\]|\\.)*"'
_ARGUMENT = rf"[\w.]+=(?:{_Q}|\[{_Q}(?:,{_Q})*\]|[^\s\"\[]+)"
_HEAD = re.compile(
    rf"(?P<how>Worked|Failed|Tried)(?: (?P<worked>once|\d+ of \d+ times)|, outcome unknown)?"
    rf"(?: in (?P<application>{_Q}|{WORDS}))?(?: \((?P<age>\d+ months) ago\))?: (?P<task>{_Q})\."
    rf"(?: (?:For this task|What was done):)?"
    rf"|(?P<begins>Several) tasks in (?P<in>{_Q}|{WORDS}) begin with:"
    rf"|Next on a known way, learned for: (?P<for>{_Q})\."
)
_STEP_MARK = re.compile(rf" \[((?:{_Q}|[^\[\]\"])*)\]$")
_STEP = re.compile(
    rf"(?P<number>\d+)\. (?:(?P<does>type|choose|press|open|switch to) (?P<value>{_Q}|{OPEN})(?: in(?= ))?"
    r"|(?P<action>[\w.:/-]+))"
    rf"(?: (?:(?P<control>{_Q})(?: \((?P<control_type>[^()]*)\))?"
    rf"|the (?:row|(?P<item_type>\w+)) of (?P<item_of>{_Q}|{WORDS})"
    r"|an? (?P<kind>\w+(?: \w+){0,19}?)))?"
    rf"(?: in the row of (?P<row_of>{_Q}|{WORDS})| within (?P<within>{_Q})| after (?P<after>{_Q}))?"
    rf"(?P<more>(?: {_ARGUMENT})*)"
)
_MARKS = {"application": "in ", "option_of": "the option of "}
_LISTED = rf"{_Q}|[^,\s][^,]*"
_ENDS = re.compile(r"(?:Ends with: (.*?)   )?Not covered: (.*)")
_LINES = {"What was done": "advice", "Reason": "reason", "On one screen": "on_one_screen", "Parts": "differs"}
_LISTS = {"Tip": "tips", "Note": "notes"}


def parse_block(text: str, nonce: str | None = None) -> list[dict[str, Any]]:
    """The examples of every whole block in `text` (of the one with `nonce`, if given); [] when there is none.

    An example is a dict: task, application, outcome, worked, steps (or tried_and_failed, steps_of_unknown_outcome),
    ends_with, not_covered, … A step is a dict of its line (`step`) and its parts: number, action, control,
    control_type, item_of, beside, option_of, parameters, confirm, open, optional.

    Raises:
        DataError: what stands between two markers are no examples of ours (`E_BLOCK`).
    """
    blocks = [one for one in _BLOCK.finditer(expect(str, text, "text")) if nonce in (None, one["nonce"])]
    return [_read(example) for block in blocks for example in block["body"].strip("\n").split("\n\n")]


def _read(text: str) -> dict[str, Any]:
    """The fields of a text that was written of a procedure, a step with its line and its parts."""
    first, *lines = text.strip("\n").split("\n")
    head = _HEAD.fullmatch(first)
    if head is None:
        raise DataError(f"not the head of an example: {first[:80]!r}", code="E_BLOCK")
    told = {name: _unquoted(said) for name, said in head.groupdict().items() if said}
    how, begins = told.pop("how", ""), told.pop("begins", "")
    names = {"in": "application", "for": "task"}
    record: dict[str, Any] = {names.get(name, name): said for name, said in told.items()}
    record |= {"outcome": _OUTCOMES[how]} if how else {}
    for line in lines:
        _read_line(line, record, _STEPS[how] if how else BEGINNING if begins else NEXT)
    return record


def _read_line(line: str, record: dict[str, Any], steps: str) -> None:
    word, _, rest = line.partition(": ")
    if step := _read_step(line):
        record.setdefault(steps, []).append(step)
    elif more := re.fullmatch(r"\((\d+) more steps\)", line):
        record["steps_not_shown"] = int(more[1])
    elif ends := _ENDS.fullmatch(line):
        record |= {"ends_with": ends[1]} if ends[1] else {}
        uncovered = re.findall(_LISTED, ends[2])
        record["not_covered"] = [_unquoted(one) for one in uncovered if one != "–"]
    elif word in _LISTS:
        record.setdefault(_LISTS[word], []).append(rest)
    elif word in _LINES:
        record[_LINES[word]] = rest
    else:
        raise DataError(f"not a line of an example: {line[:80]!r}", code="E_BLOCK")


def _read_step(line: str) -> dict[str, Any] | None:
    """The parts of a step line; None for any other."""
    rest = line
    marks: list[str] = []
    while found := _STEP_MARK.search(rest):
        rest, marks = rest[: found.start()], [found[1], *marks]
    told = _STEP.fullmatch(rest)
    if told is None:
        return None
    parts: dict[str, Any] = {name: _unquoted(said) for name, said in told.groupdict().items() if said}
    if kind := parts.pop("item_type", "") or parts.pop("kind", ""):
        parts["control_type"] = kind
    value, does, more = parts.pop("value", ""), parts.pop("does", ""), re.findall(_ARGUMENT, parts.pop("more", ""))
    arguments = (one.partition("=") for one in more)
    parameters = {name: json.loads(said) for name, _, said in arguments if said != OPEN}
    if does == "switch to":
        parts["control"] = value
    elif value not in ("", OPEN):
        parameters["text"] = value
    step = {"step": line, **parts, "number": int(told["number"])}
    step |= {"action": does or parts["action"], "control": parts.get("control", ""), "parameters": parameters}
    step["open"] = [one for mark in marks if mark.startswith(YOURS) for one in mark[len(YOURS) :].split(", ")]
    step["confirm"] = "ask first" in marks
    for (name, begins), mark in product(_MARKS.items(), marks):
        step |= {name: _unquoted(mark.removeprefix(begins))} if mark.startswith(begins) else {}
    for mark in marks:
        if mark.endswith(" runs"):
            step["optional"] = mark.removesuffix(" runs")
        elif mark.startswith("beside "):
            step["beside"] = [_unquoted(one) for one in re.findall(_LISTED, mark[7:])]
    return {name: one for name, one in step.items() if one not in ("", [], False) or name == "control"}


def _unquoted(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text
