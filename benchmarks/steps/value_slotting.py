"""Which of a goal's values belongs into a field or list: by the words before the value, by its form, by its turn."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from benchmarks.steps.environment import ControlView
from benchmarks.steps.goal_parser import Goal, Value, field_words, iso_date

# Form of a value → names of fields that take it. A field of such a name hardly takes anything else.
_FORMS = (
    (re.compile(r"\A[^\s@]+@\S+\.\w+$"), field_words("to mail email recipient share with")),
    (re.compile(r"\d{1,2}:\d{2}$"), field_words("time starts ends")),
    (re.compile(r"\A\d+$"), field_words("port number amount value")),
    (re.compile(r"\A[\w-]+(\.[\w-]+)+$"), field_words("address host server url")),
    (re.compile(r"\d{1,4}[/.-]\d+[/.-]\d+$"), field_words("date day")),
)
_AGAIN = field_words("repeat verify confirm again")
_ENOUGH, _SURE = 1.0, 2.0


@dataclass(frozen=True)
class Filling:
    """What to type; `sure` when the words before the value or its form speak for this field."""

    text: str
    sure: bool


def value_for(
    control: ControlView, goal: Goal, used: Collection[str] = (), picked: Collection[str] = ()
) -> Filling | None:
    """What an edit field should get, or None when the goal has nothing for it.

    `used` holds values that went elsewhere already: only a field that asks for a repetition gets them again. `picked`
    holds values that were selected on the way: they come last.
    """
    own = field_words(control.name)
    if control.input == "password":
        own |= {"password"}
        if "password" not in goal.words:
            return None
    fresh = [(turn, one) for turn, one in enumerate(goal.values) if own & _AGAIN or one.text not in used]
    scored = [(one.text not in picked, _score(one, own, control), -turn, one.text) for turn, one in fresh]
    best = max((one for one in scored if one[1] >= _ENOUGH), default=None)
    if best is None:
        return None
    return Filling(iso_date(best[3]) if control.input == "date" else best[3], best[0] and best[1] >= _SURE)


def best_option(control: ControlView, goal: Goal) -> str | None:
    """The option of a list the goal names, or None."""
    named = [one for one in control.options if goal.names(one)]
    return max(named, key=len, default=None)


def _score(value: Value, own: frozenset[str], control: ControlView) -> float:
    if control.input == "date":
        return 2.0 if iso_date(value.text) != value.text else 0.0
    score = (1.0 if value.quoted else 0.3) + 2.0 * len(own & value.before)
    for form, fields in _FORMS:
        if form.match(value.text):
            score += 2.0 if own & fields else -0.4
        elif own & fields:
            score -= 0.5
    return score
