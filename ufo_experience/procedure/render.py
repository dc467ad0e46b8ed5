"""The one text of a step: prompt, guide, page, command line and MCP all show this.

    3. tick "Translators" (CheckBox)
    4. click "Save" (Button) [ask first]

A name stands in double quotes as a JSON string, a mark in brackets at the end of a line. So no text of a record can
begin a line or a mark, and what was written can be read without guessing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ufo_experience.actions import plain
from ufo_experience.procedure.cleaning import clean, inert
from ufo_experience.procedure.steps import ProcedureStep
from ufo_experience.trust.labels import is_label

OPEN = "…"  # stands for a value that the task does not give
YOURS = "you decide: "  # and this says what it is
VERBS = {"type": "type", "select": "choose", "keys": "press", "switch": "switch to", "open": "open"}
_LONGEST = 120  # characters of a name or value
_HOW_FAST = ("duration", "interval", "clicks")  # of the hand, and how far a wheel turns: the screen tells
_IN_ROW = frozenset("hyperlink button checkbox radiobutton".split())  # of a row: what is acted on is one of several
_ANY_PLACE = ("form", "group")  # a page may have several
_SMALL = 10  # numbers up to it count clicks or tabs; a larger one is the run's own
WORDS = r"\w[\w.@'’-]*(?: \w[\w.'’-]*){0,4}"  # stand without quotes
_PLAIN = re.compile(rf"{WORDS}\??")
_NO_KEY = re.compile(r"[^\w.]+")
_as_json = json.JSONEncoder(ensure_ascii=False).encode


def step_line(step: ProcedureStep, application: str = "") -> str:
    return f"{step.number}. {phrase(step)}{''.join(f' [{mark}]' for mark in marks(step, application))}"


def phrase(step: ProcedureStep) -> str:
    """What a step does, in words: `type "hi" in "Subject" (Edit)`."""
    verb, what = _verb(step), control_of(step)
    if step.kind == "open":
        what = _value(next((one for one in step.parameters.values() if isinstance(one, str)), ""))
    elif step.kind == "switch":
        what = quoted(step.label) if step.label else OPEN
    elif step.kind in VERBS:
        what = f"{_value(step.text)} in {what}" if what else _value(step.text)
    elif step.kind == "other":
        what = " ".join(filter(None, (what, _more(step))))
    return f"{verb} {what}".rstrip()


def marks(step: ProcedureStep, application: str) -> Iterator[str]:
    """What a reader must know of a step, as it stands in brackets behind it."""
    if step.application != application and is_name(step.application):
        yield f"in {quoted(step.application)}"
    if step.beside:
        yield f"beside {', '.join(map(word, step.beside))}"
    if step.item_of and step.kind == "select":
        yield f"the option of {word(step.item_of)}"
    if step.missing and step.is_open:
        yield f"{YOURS}{', '.join(map(word, step.missing))}"
    elif step.hidden:
        yield "name hidden"
    if step.optional:
        yield f"{step.optional[0]} of {step.optional[1]} runs"
    if step.ask_first:
        yield from ("ask first",) if step.asked_for else ("ask first", "not in the task")
    if step.error:
        yield "failed"


def tip_line(tip: str) -> str:
    return f"Tip: {prose(tip)}"


def _verb(step: ProcedureStep) -> str:
    if plain(step.action) == "scroll" and (turns := step.parameters.get("clicks")):
        return "scroll-down" if str(turns).startswith("-") else "scroll-up"
    if step.kind == "other":
        return re.sub(r"[^\w.:/-]+", "_", clean(step.action, 60)) or "act"
    checked = step.around.checked if step.around and step.role == "checkbox" else None
    if step.verb == "click" and checked is not None:
        return "untick" if checked else "tick"
    return VERBS.get(step.kind, step.verb)


def control_of(step: ProcedureStep) -> str:
    """The control in words, and which one where there are several."""
    if step.target is None:
        return "" if step.kind in ("keys", "other") else "a control"
    kind = " ".join(re.sub(r"[^\w ]+", "", clean(step.target.type, 40)).split())
    if step.takes_item and not step.shown:
        return f"the {kind if step.role in _IN_ROW else 'row'} of {word(step.item_of)}"
    several = step.around is not None and step.around.equals > 1
    in_any = step.target.within in _ANY_PLACE
    where = ""
    if step.row_of:
        where = f" in the row of {word(step.row_of)}"
    elif step.after and (several or (step.around is None and in_any)) and (in_any or not step.target.within):
        where = f" after {quoted(step.after)}"
    elif step.target.within and (step.around is None or several):
        where = f" within {quoted(step.target.within)}"
    if not step.label:
        return f"{'an' if kind[:1] in tuple('aeiou') else 'a'} {kind or 'control'}{where}"
    return f"{quoted(step.label)}{f' ({kind})' if kind else ''}{where}"


def arguments_told(step: ProcedureStep) -> dict[str, Any]:
    """What is told of the arguments of a step: of another action than those on controls its texts, switches and small
    numbers, an open one as None."""
    if step.kind != "other":
        return dict(step.parameters)
    told: dict[str, Any] = {}
    for name, value in step.parameters.items():
        parts = {key: one for key, one in _parts(name, value) if name not in _HOW_FAST and _can_be_told(one)}
        told |= dict.fromkeys(parts) if name in step.missing else parts
    return told


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """An argument, or each of its parts under a name such as `event.day`; a list of texts is one."""
    is_list = isinstance(value, (list, tuple)) and not all(isinstance(item, str) for item in value)
    if not is_list and not isinstance(value, Mapping):
        yield name, value
        return
    for key, one in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from _parts(f"{name}.{key}", one)


def _can_be_told(value: Any) -> bool:
    if isinstance(value, (str, list, tuple)):
        return bool(value)
    return isinstance(value, (int, float)) and abs(value) <= _SMALL


def _more(step: ProcedureStep) -> str:
    told = arguments_told(step).items()
    return " ".join(f"{_NO_KEY.sub('_', key) or '_'}={_argument(value)}" for key, value in told)


def _argument(value: Any) -> str:
    if value is None:
        return OPEN
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_argument, value))}]"
    return quoted(" ".join(value.split())) if isinstance(value, str) else _as_json(value)


def _value(text: str) -> str:
    return quoted(text) if text and not text.startswith("{{") else OPEN


def is_name(application: str) -> bool:
    """True for the name of an application that may be shown: a title of a window may hold anything."""
    return is_label(re.sub(r"(?i)\.exe$", "", application).replace("_", " "))


def quoted(text: str, limit: int = _LONGEST) -> str:
    """A text of a record as a JSON string, without what could be taken for structure."""
    return _as_json(inert(clean(text, limit)))


def word(text: str) -> str:
    """A word as it is, anything else in quotes and on one line."""
    return text if len(text) <= _LONGEST and _PLAIN.fullmatch(text) else quoted(" ".join(text.split()))


def prose(text: str) -> str:
    return inert(clean(" ".join(clean(text).split()), 200))
