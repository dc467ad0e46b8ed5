"""The one text of a procedure, and how it is read back. Prompt, guide, page, command line and MCP all show this.

    Worked 3 of 3 times in Admin: "Make the user [value] a member of the group [name]". For this task:
    1. click "Settings" (Button)
    2. click the row of mlopez
    3. tick "Translators" (CheckBox)
    4. click "Save" (Button) [ask first]
    On one screen: 3-4
    Ends with: User 'mlopez' updated.   Not covered: –

A name stands in double quotes as a JSON string, a mark in brackets at the end of a line. So no text of a record can
begin a line or a mark, and what was written can be read without guessing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any

from ufo_experience.actions import plain
from ufo_experience.errors import DataError
from ufo_experience.procedure.cleaning import clean, inert
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.steps import ProcedureStep
from ufo_experience.trust.labels import is_label

NEXT = "next_actions"  # under this name the steps of what comes next are read
BEGINNING = "begins_with"  # and those that several tasks begin with
OPEN = "…"  # stands for a value that the task does not give
YOURS = "you decide: "  # and this says what it is
OLD_MONTHS = 6  # from this age on a reader should know it: programs change
_HOW_FAST = ("duration", "interval", "clicks")  # of the hand, and how far a wheel turns: the screen tells
_LONGEST = 120  # characters of a name or value
_SMALL = 10  # numbers up to it count clicks or tabs; a larger one is the run's own
_VERBS = {"type": "type", "select": "choose", "keys": "press", "switch": "switch to", "open": "open"}
_OUTCOMES = {"Worked": True, "Failed": False, "Tried": None}
_STEPS_KEY = {True: "steps", False: "tried_and_failed", None: "steps_of_unknown_outcome"}
_as_json = json.JSONEncoder(ensure_ascii=False).encode

# ---- writing


def render(way: Procedure, *, steps: int | None = None, now: datetime | None = None) -> str:
    """The text of a procedure; at most so many `steps`, the rest is counted."""
    shown = way.steps if steps is None else way.steps[:steps]
    lines = [_head(way, now), *(step_line(step, way.application) for step in shown)]
    if len(shown) < len(way.steps):
        lines.append(f"({len(way.steps) - len(shown)} more steps)")
    return "\n".join([*lines, *_closing(way, shown)])


def step_line(step: ProcedureStep, application: str = "") -> str:
    """One step, numbered, with its marks."""
    return f"{step.number}. {phrase(step)}{''.join(f' [{mark}]' for mark in marks(step, application))}"


def phrase(step: ProcedureStep) -> str:
    """What a step does, in words: `type "hi" in "Subject" (Edit)`."""
    verb, what = _verb(step), _what(step)
    if step.kind in ("type", "select", "keys"):
        value = _value(step.text)
        return f"{verb} {value} in {what}" if what else f"{verb} {value}"
    if step.kind == "open":
        address = next((str(one) for one in step.parameters.values() if isinstance(one, str)), "")
        return f"{verb} {_value(address)}"
    if step.kind == "switch":
        return f"{verb} {_quoted(step.target.name) if step.target and step.readable else OPEN}"
    more = _more(step.parameters) if step.kind == "other" else ""
    return " ".join(part for part in (verb, what, more) if part)


def tip_line(tip: str) -> str:
    """A tip, on a line of its own."""
    return f"Tip: {_prose(tip)}"


def beginning_text(application: str, steps: Iterable[ProcedureStep]) -> str:
    """What several tasks of an application begin with."""
    lines = [f"Several tasks in {_plain(application)} begin with:", *(step_line(step, application) for step in steps)]
    return "\n".join(lines)


def ahead_text(task: str, steps: Iterable[ProcedureStep], notes: Iterable[str]) -> str:
    """What comes next on a way, with what to know beside it."""
    lines = [f"Next on a known way, learned for: {_quoted(task, 200)}.", *map(step_line, steps)]
    return "\n".join([*lines, *(f"Note: {note}" for note in notes)])


def _head(way: Procedure, now: datetime | None) -> str:
    times = f"{way.worked} of {way.runs} times" if way.runs > 1 else "once"
    said = f"Worked {times}" if way.success else "Failed" if way.success is False else "Tried, outcome unknown"
    place = f" in {_plain(way.application)}" if _is_name(way.application) else ""
    age = _age(way.learned_at, now)
    task = _quoted(way.task, 200)
    end = "For this task:" if way.success and way.steps else "What was done:" if way.steps else ""
    return f"{said}{place}{f' ({age} ago)' if age else ''}: {task}. {end}".rstrip()


def _is_name(application: str) -> bool:
    """True for the name of an application that may be shown: a title of a window may hold anything."""
    return is_label(re.sub(r"(?i)\.exe$", "", application).replace("_", " "))


def _closing(way: Procedure, shown: Sequence[ProcedureStep]) -> Iterable[str]:
    if way.advice:
        yield f"What was done: {_prose(way.advice)}"
    if way.reason:
        yield f"Reason: {_prose(way.reason)}"
    yield from map(tip_line, way.tips[:5])
    if way.success and (together := ", ".join(f"{first}-{last}" for first, last in _on_one_screen(shown))):
        yield f"On one screen: {together}"
    if way.parts:
        yield f"Parts: {way.parts}"
    if way.success and way.steps:
        ends = f"Ends with: {_prose(way.ends_with)}   " if way.ends_with else ""
        yield f"{ends}Not covered: {', '.join(map(_plain, way.uncovered)) or '–'}"


def _on_one_screen(steps: Sequence[ProcedureStep]) -> Iterable[tuple[int, int]]:
    """First and last number of steps that can be done at once: what fills in a form, and the control behind it."""
    first = None
    for step, after in zip_longest(steps, steps[1:]):
        first = step.number if first is None else first
        stays = after is not None and after.is_own and after.kind not in ("switch", "open")
        if not (step.fills_in and stays):
            if first < step.number:
                yield first, step.number
            first = None


def _verb(step: ProcedureStep) -> str:
    if step.kind in _VERBS:
        return _VERBS[step.kind]
    if plain(step.action) == "scroll" and (turns := step.parameters.get("clicks")):
        return "scroll-down" if str(turns).startswith("-") else "scroll-up"
    if step.kind == "other":
        return re.sub(r"[^\w.:/-]+", "_", clean(step.action, 60)) or "act"
    if "double" in step.action or step.parameters.get("double") in (True, "true", "True"):
        return "double-click"
    if "right" in step.action or step.parameters.get("button") == "right":
        return "right-click"
    checked = step.around.checked if step.around and step.role == "checkbox" else None
    return "click" if checked is None else "untick" if checked else "tick"


def _what(step: ProcedureStep) -> str:
    """The control, and which one where there are several."""
    target = step.target
    if target is None:
        return "" if step.kind in ("keys", "other") else "a control"
    kind = " ".join(re.sub(r"[^\w ]+", "", clean(target.type, 40)).split())
    option = step.kind == "select" and step.item_of
    if step.item_of and not option:
        return f"the row of {_plain(step.item_of)}"
    if not target.name or not step.readable:
        return f"{'an' if kind[:1] in tuple('aeiou') else 'a'} {kind or 'control'}{_where(step)}"
    return f"{_quoted(target.name)}{f' ({kind})' if kind else ''}{_where(step)}"


def _where(step: ProcedureStep) -> str:
    if step.row_of:
        return f" in the row of {_plain(step.row_of)}"
    several = step.around is not None and step.around.equals > 1
    if step.target and step.target.within and (step.around is None or several):
        return f" within {_quoted(step.target.within)}"
    return f" after {_quoted(step.after)}" if step.after and several else ""


def marks(step: ProcedureStep, application: str) -> Iterable[str]:
    """What a reader must know of a step, as it stands in brackets behind it."""
    if step.application != application and _is_name(step.application):
        yield f"in {_quoted(step.application)}"
    if step.item_of and step.kind == "select":
        yield f"the option of {_plain(step.item_of)}"
    if step.missing:
        yield f"{YOURS}{', '.join(map(_plain, step.missing))}"
    if not step.readable and not step.missing:
        yield "name hidden"
    if step.optional:
        yield f"{step.optional[0]} of {step.optional[1]} runs"
    if step.ask_first:
        yield "ask first"
        if not step.asked_for:
            yield "not in the task"
    if step.error:
        yield "failed"


def _more(parameters: Mapping[str, Any]) -> str:
    """What is given to another action: short texts of the task, switches and small numbers."""
    shown = {key: value for key, value in parameters.items() if key not in _HOW_FAST and _says_something(value)}
    return " ".join(f"{re.sub(chr(92) + 'W+', '_', key)}={_as_json(value)}" for key, value in shown.items())


def _says_something(value: Any) -> bool:
    if isinstance(value, bool):
        return True
    return isinstance(value, (int, float)) and abs(value) <= _SMALL


def _value(text: str) -> str:
    return _quoted(text) if text and not text.startswith("{{") else OPEN


def _quoted(text: str, limit: int = _LONGEST) -> str:
    return _as_json(inert(clean(text, limit)))


def _plain(text: str) -> str:
    """A word as it is, anything else in quotes."""
    return (
        text if re.fullmatch(r"\w[\w.@'’-]*(?: \w[\w.'’-]*){0,4}\??", text) and len(text) <= _LONGEST else _quoted(text)
    )


def _prose(text: str) -> str:
    return inert(clean(" ".join(clean(text).split()), 200))


def _age(learned: datetime | None, now: datetime | None) -> str:
    months = (now - learned).days // 30 if learned and now else 0
    return f"{months} months" if months >= OLD_MONTHS else ""


# ---- reading

_Q = r'"(?:[^"\\]|\\.)*"'
_WORDS = r"\w[\w.@'’-]*(?: \w[\w.'’-]*){0,4}"
_HEAD = re.compile(
    rf"(Worked|Failed|Tried)(?: (once|\d+ of \d+ times)|, outcome unknown)?(?: in ({_Q}|{_WORDS}))?"
    rf"(?: \((\d+ months) ago\))?: ({_Q})\.(?: (?:For this task|What was done):)?"
)
_BEGINNING = re.compile(rf"Several tasks in ({_Q}|{_WORDS}) begin with:")
_AHEAD = re.compile(rf"Next on a known way, learned for: ({_Q})\.")
_MARK = re.compile(rf" \[((?:{_Q}|[^\[\]\"])*)\]$")
_STEP = re.compile(
    rf"(?P<number>\d+)\. (?:(?P<does>type|choose|press|open|switch to) (?P<value>{_Q}|{OPEN})(?: in(?= ))?"
    r"|(?P<action>[\w.:/-]+))"
    rf"(?: (?:(?P<control>{_Q})(?: \((?P<control_type>[^()]*)\))?|the row of (?P<item_of>{_Q}|{_WORDS})"
    r"|an? (?P<kind>\w+(?: \w+){0,19}?)))?"
    rf"(?: in the row of (?P<row_of>{_Q}|{_WORDS})| within (?P<within>{_Q})| after (?P<after>{_Q}))?"
    rf"(?P<more>(?: \w+=(?:{_Q}|[^\s\"]+))*)"
)
_LINES = {
    "What was done": "advice",
    "Reason": "reason",
    "Tip": "tips",
    "On one screen": "on_one_screen",
    "Parts": "differs",
    "Note": "notes",
}


def read(text: str) -> dict[str, Any]:
    """The fields of a text that `render` wrote, a step with its line and its parts.

    Raises:
        DataError: a line of it is none of ours (`E_BLOCK`).
    """
    first, *lines = text.strip("\n").split("\n")
    if ahead := _AHEAD.fullmatch(first):
        record: dict[str, Any] = {"task": json.loads(ahead[1])}
        for line in lines:
            _read_line(line, record, NEXT)
        return record
    if begins := _BEGINNING.fullmatch(first):
        record = {"application": _unquoted(begins[1])}
        for line in lines:
            _read_line(line, record, BEGINNING)
        return record
    head = _HEAD.fullmatch(first)
    if head is None:
        raise DataError(f"not the head of an example: {first[:80]!r}", code="E_BLOCK")
    success = _OUTCOMES[head[1]]
    record = {
        "task": json.loads(head[5]),
        "application": _unquoted(head[3]) if head[3] else None,
        "outcome": {True: "success", False: "failure", None: "unknown"}[success],
        "worked": head[2],
        "age": head[4],
    }
    record = {name: value for name, value in record.items() if value is not None}
    for line in lines:
        _read_line(line, record, _STEPS_KEY[success])
    return record


def _read_line(line: str, record: dict[str, Any], steps_key: str) -> None:
    word, _, rest = line.partition(": ")
    if step := _read_step(line):
        record.setdefault(steps_key, []).append(step)
    elif more := re.fullmatch(r"\((\d+) more steps\)", line):
        record["steps_not_shown"] = int(more[1])
    elif ends := re.fullmatch(r"(?:Ends with: (.*?)   )?Not covered: (.*)", line):
        record |= {"ends_with": ends[1]} if ends[1] else {}
        record["not_covered"] = (
            [] if ends[2] == "–" else [_unquoted(one) for one in re.findall(rf"{_Q}|[^,\s][^,]*", ends[2])]
        )
    elif word in ("Tip", "Note"):
        record.setdefault(_LINES[word], []).append(rest)
    elif word in _LINES:
        record[_LINES[word]] = rest
    else:
        raise DataError(f"not a line of an example: {line[:80]!r}", code="E_BLOCK")


def _read_step(line: str) -> dict[str, Any] | None:
    """The parts of a step line; None for any other."""
    rest = line
    marks: list[str] = []
    while found_mark := _MARK.search(rest):
        rest, marks = rest[: found_mark.start()], [found_mark[1], *marks]
    found = _STEP.fullmatch(rest)
    if found is None:
        return None
    parts = {name: _unquoted(value) for name, value in found.groupdict().items() if value}
    more = dict(one.split("=", 1) for one in parts.pop("more", "").split())
    parts["action"] = parts.pop("does", "") or parts["action"]
    step: dict[str, Any] = {"step": line, **parts, "number": int(found["number"]), "control": parts.get("control", "")}
    value = step.pop("value", "")
    if step["action"] == "switch to":
        step["control"], value = value, ""
    step["parameters"] = ({"text": value} if value and value != OPEN else {}) | {
        k: json.loads(v) for k, v in more.items()
    }
    step["open"] = [one for mark in marks if mark.startswith(YOURS) for one in mark[len(YOURS) :].split(", ")]
    step["confirm"] = "ask first" in marks
    for mark in marks:
        if mark.endswith(" runs"):
            step["optional"] = mark.removesuffix(" runs")
        elif mark.startswith("in "):
            step["application"] = _unquoted(mark[3:])
    return {
        key: value for key, value in step.items() if value not in (None, "", [], False) or key in ("control", "action")
    }


def _unquoted(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text
