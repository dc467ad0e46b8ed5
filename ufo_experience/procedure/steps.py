"""What a procedure is made of: steps with an action, a target and a value, bound to the task at hand.

step.action   what the run's own tool called it ("click_input"); `kind` is the same in one word
step.target   the control: name, type, and what stands around it; `item_of` is the value it is found by
step.missing  what the task does not say, and nobody may guess
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ufo_experience.actions import WORDS, Kind, kind_of, plain
from ufo_experience.controls import is_fixed, role_of
from ufo_experience.schema import Around, Experience, Seen, Step, leaves_of
from ufo_experience.trust.risk import asks_first

Source = Literal["", "task", "constant", "open", "screen"]

TEXT_KEYS = ("text", "value", "option", "keys")
STAYS = ("type", "select")  # after these the screen is the same, but for a value
NAMED = ("click", "type", "select")  # what cannot be done without knowing the control
_APPLICATION_KEYS = ("text", "app_name", "application", "application_name", "name", "app", "window")
_FIELDS = frozenset("edit combobox spinner field cell area".split())  # a click there puts the caret there
_LOCATORS = {*WORDS["locators"].split(), "id", "index", "controlid"}
_QUOTED_NAME = re.compile(r"[\"“„«「『]([^\"“”„«»「」『』]{1,60})[\"”“»」』]")


@dataclass(frozen=True)
class Target:
    """What an action acts on; `target["id"]` reads a part, too. `id` is None for a control that is not in view yet."""

    name: str
    type: str = ""
    within: str = ""
    id: Any = None

    def __getitem__(self, part: str) -> Any:
        return vars(self)[part]


@dataclass(frozen=True)
class ProcedureStep:
    """One step, bound to the task at hand.

    `value_from` says where what is typed or chosen, or the item, comes from: the task, a constant of the procedure, the
    screen, or nobody knows ("open"). `item_of` is the value of the task by which an item of a list or a link is found.
    `missing` names what is open; a step with any is not carried out by itself. `optional` are the runs that did it and
    all runs, None where all did; `varies` says that some acted on something else there, `confirmed` that runs of other
    values name the same. `asked_for` is False for a step to ask for first of which the request names nothing.
    `shown` is as much of its name as may be told, None for all; `after` is the field filled right before, for one of
    several equal controls; `row_of` the value whose row the control stands in, `beside` what else that row holds.
    `seen` is where the run had found what it typed, in steps of the way, `key` the value of the task beside it there.
    """

    number: int
    action: str
    kind: Kind
    target: Target | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    application: str = ""
    value_from: Source = ""
    item_of: str = ""
    row_of: str = ""
    beside: tuple[str, ...] = ()
    after: str = ""
    missing: tuple[str, ...] = ()
    optional: tuple[int, int] | None = None
    varies: bool = False
    confirmed: bool = False
    ask_first: bool = False
    asked_for: bool = True
    shown: str | None = None
    around: Around | None = None
    seen: Seen | None = None
    key: str = ""
    error: str = ""

    @property
    def role(self) -> str:
        return role_of(self.target.type) if self.target else ""

    @property
    def name(self) -> str:
        return self.target.name if self.target else ""

    @property
    def label(self) -> str:
        name = self.item_of if self.takes_item else self.name
        return name if self.shown is None else self.shown

    @property
    def takes_item(self) -> bool:
        """True for a step on the item of a value of the task."""
        return bool(self.item_of) and self.kind != "select"

    @property
    def hidden(self) -> bool:
        """True for a name that is shown to nobody."""
        return bool(self.name) and not self.label

    @property
    def is_own(self) -> bool:
        """True for a control that the application put there; a link may be what its user keeps there."""
        own = self.kind in ("type", "select", "switch", "open", "keys")
        return own or (is_fixed(self.role) and self.role != "hyperlink")

    @property
    def fills_in(self) -> bool:
        """True for what sets a value of a form: the screen stays as it is."""
        return self.kind in STAYS or (self.kind == "click" and self.role in ("checkbox", "radiobutton"))

    @property
    def text(self) -> str:
        said = next((self.parameters[key] for key in TEXT_KEYS if key in self.parameters), "")
        return "+".join(map(str, said)) if isinstance(said, (list, tuple)) else str(said)

    @property
    def verb(self) -> str:
        """A click in one word, or what another kind of action is."""
        if self.kind == "click" and (
            "double" in self.action or self.parameters.get("double") in (True, "true", "True")
        ):
            return "double-click"
        if self.kind == "click" and ("right" in self.action or self.parameters.get("button") == "right"):
            return "right-click"
        return self.kind

    @property
    def can_be_filled(self) -> bool:
        """True when only what is typed or chosen is, or was, open: the field itself is known."""
        return self.value_from in ("open", "screen") and len(self.missing) == 1 and self.target is not None

    @property
    def is_open(self) -> bool:
        """True while something in it has to be found out or decided."""
        return self.value_from != "screen" and (
            bool(self.missing) or (self.kind, self.value_from) == ("select", "open")
        )

    @property
    def can_be_read(self) -> bool:
        """True when what is typed can be told from all else in view where the run had found it."""
        return self.seen is not None and (self.seen.whole or bool(self.key))

    def lacks(self, *what: str) -> ProcedureStep:
        return replace(self, missing=tuple(dict.fromkeys((*self.missing, *what)))) if what else self

    def aimed_at(self, **parts: str) -> ProcedureStep:
        return replace(self, target=replace(self.target or Target(""), **parts))

    def with_text(self, text: str) -> ProcedureStep:
        return replace(self, parameters=with_text(self.parameters, text))

    def told(self, text: str) -> ProcedureStep:
        """The step with a text that the screen tells: a value that was open is no longer."""
        return replace(self.with_text(text), value_from="screen" if self.value_from == "open" else self.value_from)


def with_text(parameters: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {key: text if key in TEXT_KEYS else value for key, value in parameters.items()}


def read_steps(run: Experience) -> list[ProcedureStep]:
    """The steps that were done in a run, numbered from 1, bound to nothing yet; of a failed run all that was tried."""
    done = [step for step in run.action.steps if step.ok or (step.status == "failed" and not run.outcome.success)]
    steps: list[ProcedureStep] = []
    for place, step in enumerate(done):
        kind = kind_of(step.action_type)
        kept = {key: value for key, value in step.parameters.items() if kind == "switch" or plain(key) not in _LOCATORS}
        asks = asks_first(step, done[:place], run.state.request or "") and not _opens_menu(done[place : place + 2])
        one = ProcedureStep(
            place + 1,
            step.action_type,
            kind,
            _target_of(step, kind, kept) or (_where_the_caret_is(steps) if kind == "type" else None),
            kept,
            step.application or "",
            after=steps[-1].name if steps and steps[-1].kind in STAYS else "",
            ask_first=asks,
            around=step.around,
            seen=_looked_up(step.seen, done),
            error=step.error or "",
        )
        steps.append(one)
    return steps


def _target_of(step: Step, kind: Kind, kept: Mapping[str, Any]) -> Target | None:
    """What a step acts on; None where nothing tells that."""
    control, name = step.target_control, step.target_control.name.strip()
    if not name and kind == "switch":
        name = next((str(kept[key]) for key in _APPLICATION_KEYS if kept.get(key)), "")
    if not name and kind in NAMED:  # the one name a thought quotes, in any language: `click the "Save" button`
        quoted = {found.strip() for found in _QUOTED_NAME.findall(step.observation)}
        name = quoted.pop() if len(quoted) == 1 and quoted.isdisjoint(texts_of(step.parameters)) else ""
    in_row = bool(control.within) and is_fixed(role_of(control.type))  # a box without a name, told by its row
    return Target(name, control.type or "", control.within) if name or in_row else None


def _where_the_caret_is(steps: Sequence[ProcedureStep]) -> Target | None:
    """The field that was clicked last: what is typed into no control in particular goes there."""
    last = next((one for one in reversed(steps) if one.kind != "keys"), None)
    return last.target if last is not None and last.verb == "click" and last.role in _FIELDS else None


def _looked_up(seen: Seen | None, done: Sequence[Step]) -> Seen | None:
    """Where a text had stood in view, behind which step of those that were done."""
    return seen and seen.model_copy(update={"after": sum(step.step_number <= seen.after for step in done)})


def _opens_menu(two: Sequence[Step]) -> bool:
    """True for a menu item right before another: it only opens the menu that holds it."""
    return len(two) == 2 and all(role_of(one.target_control.type) == "menuitem" for one in two)


def texts_of(value: Any) -> list[str]:
    return [str(one) for one in leaves_of(value) if one is not None and not isinstance(one, bool)]
