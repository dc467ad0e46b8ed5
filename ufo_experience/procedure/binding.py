"""A recorded way bound to a new request: what is the task's own, what belongs to the application, what is left open.

Each value of a request is served by one step. One that nothing typed and no label serves ("tkent") is served by the
item that nothing else explains ("Tom Kent"; not "Users", which words of the request explain, nor what stands in a menu
or navigation): there the new value goes, and the item is found by what stands beside it. Where every value is served,
an item that reads like a label is the application's own. What stays unexplained is left open, and said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ufo_experience.controls import bare
from ufo_experience.procedure.acts import needs_consent
from ufo_experience.procedure.pairing import AUXILIARIES, SMALL, abbreviates, beside_values, says, stems_of
from ufo_experience.procedure.runs import Agreed
from ufo_experience.procedure.steps import TEXT_KEYS, LookedUp, ProcedureStep, Source, Target, texts_of
from ufo_experience.procedure.values import Values
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.redact.slot_types import slot_type
from ufo_experience.request import holds, stem
from ufo_experience.retrieve.features import COMMON
from ufo_experience.retrieve.tasks import is_odd

_ROWS = frozenset("dataitem cell gridcell datagridcell rowheader".split())  # what stands there belongs to one task
_PRESSED = frozenset("button splitbutton menuitem menu menubar toolbar".split())
_CHOSEN = frozenset("checkbox radiobutton".split())
_LABEL = re.compile(r"[^\W\d_]+(?:[ /&'-]{1,3}[^\W\dA-Z_]+){0,3}[.…]{0,3}")  # "Users", "Installed apps"; not "Tom Kent"
# Parts of a page as ARIA and HTML call them; the first lead elsewhere.
_LANDMARKS = frozenset("navigation menu menubar toolbar banner".split())
_REGIONS = _LANDMARKS | set("header footer main form search region complementary contentinfo aside".split())
_AND = re.compile(r"[,;.!?，。；、](?:\s|$)|\band\b")  # between two things that are asked for
_WORDS = re.compile(r"[^\W_]+(?:['’.:@-][^\W_]+)*")
_QUOTES = " '\"‘’“”„«»:"
_OPEN = {"name": "which one", "within": "in which row", "option": "which option"}


@dataclass(frozen=True)
class _Unexplained:
    """A text of a step that belongs to the task or to the application, which is to be found out."""

    place: int
    what: Literal["name", "within", "option"]
    text: str
    value: str = ""  # the old value it serves
    is_item: bool = True  # False where the record does not say what kind of control it is


class Binding:
    """Binds the steps of one run; `steps` and `uncovered` are the result."""

    def __init__(
        self, steps: Sequence[ProcedureStep], values: Values, agreed: Sequence[Agreed], *, approved: bool = False
    ) -> None:
        self._values, self._agreed, self._approved = values, agreed, approved
        self._unexplained: list[_Unexplained] = []
        self._steps = list(steps)
        for bind in (self._texts, self._label, self._row, self._item):
            self._steps = [bind(place, step) for place, step in enumerate(self._steps)]
        self._settle()
        self.steps = tuple(self._unless_unasked(step) for step in self._steps)

    # ---- what is typed and chosen

    def _texts(self, place: int, step: ProcedureStep) -> ProcedureStep:
        """A step with its parameters bound."""
        agreed = self._agreed[place]
        if agreed.constant and PLACEHOLDER.fullmatch(step.text.strip()):
            step = replace(step, parameters=_with_text(step.parameters, agreed.constant))
        missing: list[str] = []
        parameters = {key: self._bound(value, missing) for key, value in step.parameters.items()}
        if step.kind == "open" and not self._is_told(parameters):
            return replace(step, parameters={}, missing=("the address",), value_from="open")
        if step.kind == "other":
            texts = {key: value for key, value in parameters.items() if isinstance(value, str) and value}
            missing += [key for key, value in texts.items() if not (self._is_told(value) or _LABEL.fullmatch(value))]
        source = self._source(step, parameters, missing)
        step = replace(step, parameters=parameters, missing=(*step.missing, *dict.fromkeys(missing)), value_from=source)
        if step.kind == "select" and source == "constant" and not self._approved:
            self._unexplained.append(_Unexplained(place, "option", step.text))
        return replace(step, seen=self._where_seen(step.seen)) if step.seen else step

    def _bound(self, value: Any, missing: list[str]) -> Any:
        if isinstance(value, Mapping):
            return {key: self._bound(item, missing) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._bound(item, missing) for item in value]
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return value
        now, open_ = self._values.fill(value) if isinstance(value, str) else self._values.number(value)
        missing += open_
        return now

    def _source(self, step: ProcedureStep, parameters: Mapping[str, Any], missing: Sequence[str]) -> Source:
        if step.kind not in ("type", "select") or not any(key in parameters for key in TEXT_KEYS):
            return ""
        if missing:
            return "open"
        now = next(str(parameters[key]) for key in TEXT_KEYS if key in parameters)
        return "task" if now != step.text or holds(self._values.new.text, now) else "constant"

    def _is_told(self, value: Any) -> bool:
        """True for an address or a command that the task says, or that a person approved with the record."""
        return self._approved or all(one in self._values.new.text for one in texts_of(value))

    def _where_seen(self, seen: LookedUp) -> LookedUp:
        number = int(seen.key) if seen.key else 0
        return replace(seen, key=self._values.numbered(abs(number)), before=number < 0)

    # ---- labels, rows and items

    def _label(self, place: int, step: ProcedureStep) -> ProcedureStep:
        """A step on a control of the application's own, with the values of the task in its label."""
        if step.target is None or not step.is_own:
            return step
        fill = self._values.label if step.role in _PRESSED else self._values.fill
        name, missing = fill(step.target.name)
        if missing:
            return replace(_without(step, "name"), missing=(*step.missing, _OPEN["name"]))
        return replace(step, target=replace(step.target, name=name))

    def _row(self, place: int, step: ProcedureStep) -> ProcedureStep:
        """A step with the row, group or dialog around its control bound."""
        target = step.target
        if target is None or not target.within:
            return step
        anywhere = replace(step, target=replace(target, within=""))
        within, missing = self._values.fill(target.within)
        if first := self._values.first_in(target.within):
            return replace(anywhere, row_of=first)
        if missing:
            return replace(anywhere, missing=(*step.missing, _OPEN["within"]))
        if not step.is_own and bare(within).startswith(bare(target.name)):
            return anywhere  # the row is called by the item itself
        if _LABEL.fullmatch(within) or self._is_said(within) or _is_landmark(within, _REGIONS):
            return step
        if step.around is not None and step.around.dialog:
            return anywhere  # what the dialog asks; a dialog holds no row of data
        self._unexplained.append(_Unexplained(place, "within", within))
        return step

    def _item(self, place: int, step: ProcedureStep) -> ProcedureStep:
        """A step on an item that holds a value of the task; any other waits until all values are served."""
        target = step.target
        if target is None or step.is_own:
            return step
        name, missing = self._values.fill(target.name)
        first = self._values.first_in(target.name)
        if missing and not first:
            return replace(_without(step, "name"), missing=(*step.missing, _OPEN["name"]))
        if first:
            whole = bare(target.name) in self._values.all or PLACEHOLDER.fullmatch(target.name.strip())
            if whole or (not missing and _is_labelled(name, first)):
                asks = step.ask_first and needs_consent(step.action, name, step.role)
                return replace(step, target=replace(target, name=name), ask_first=asks)
            return replace(step, target=replace(target, name=first), item_of=first)
        if step.row_of and step.role and not self._agreed[place].confirmed and not _LABEL.fullmatch(target.name):
            return replace(step, item_of=step.row_of, row_of="", target=replace(target, name=""))
        if not self._is_explained(place, step, target):
            self._unexplained.append(_Unexplained(place, "name", target.name, is_item=bool(step.role)))
        return step

    def _is_explained(self, place: int, step: ProcedureStep, target: Target) -> bool:
        """True for an item that words of the request, its place or other runs explain: it leads there in any task."""
        agreed = self._agreed[place]
        if self._approved or _is_landmark(target.within):
            return True
        return step.role not in _ROWS and not agreed.varies and (agreed.confirmed or self._is_said(target.name))

    def _is_said(self, name: str) -> bool:
        """True where words of the request beside its values say at least half of a name."""
        own = stems_of(name)
        return bool(own) and 2 * len(own & self._values.template) >= len(own)

    # ---- what nothing explained

    def _settle(self) -> None:
        """Give each value that is not served yet to the text that nothing else explains; the rest is fixed or open."""
        found = _matched(self._unexplained, self._values.unserved)
        for one in found:
            self._values.served.add(one.value)
            self._serve(one)
        # A value that is the same in both requests is served by whatever served it: it makes no other item needed.
        changed = [old for old in self._values.unserved if not self._values.is_unchanged(old)]
        all_are_served = not any(map(_may_be_a_name, changed))
        places = {(one.place, one.what) for one in found}
        for one in self._unexplained:
            may_be_fixed = all_are_served or not one.is_item
            if (one.place, one.what) not in places and not (may_be_fixed and self._is_fixed(one)):
                self._leave_open(one)

    def _serve(self, one: _Unexplained) -> None:
        """Bind a text to the value that stands for the one it bore."""
        new = self._values.pairing.values.get(one.value)
        is_same_option = new is not None and one.what == "option" and new.casefold() == one.value
        if new is None or (is_same_option and not self._is_fixed(one)):
            self._leave_open(one)
        elif new.casefold() != one.value:
            step = _without(self._steps[one.place], one.what)
            bound = replace(step, row_of=new) if one.what == "within" else replace(step, item_of=new)
            self._steps[one.place] = bound

    def _is_fixed(self, one: _Unexplained) -> bool:
        """True for what reads like a label of the application's own; what stands in a row never is one."""
        step, agreed = self._steps[one.place], self._agreed[one.place]
        if agreed.varies or (one.what == "name" and step.role in _ROWS):
            return False
        is_link = one.what == "name" and step.role == "hyperlink" and bool(self._values.all)
        is_label = _LABEL.fullmatch(one.text) is not None or (self._values.all_stay and _is_title(one.text))
        return agreed.confirmed or is_link or is_label

    def _leave_open(self, one: _Unexplained) -> None:
        step = self._steps[one.place]
        left = _without(step, one.what)
        if one.what == "within" and not step.ask_first and step.around is not None and step.around.equals == 1:
            self._steps[one.place] = left  # the only one of its name in view: where it stood tells nothing more
        else:
            self._steps[one.place] = replace(left, missing=(*step.missing, _OPEN[one.what]))

    def _unless_unasked(self, step: ProcedureStep) -> ProcedureStep:
        """A choice of which only the old request speaks is open, where the new one says nothing in its place."""
        pairing, target = self._values.pairing, step.target
        longer = pairing.alike and (pairing.words or pairing.added)
        if longer or target is None or not (step.kind in ("type", "select") or step.role in _CHOSEN):
            return step
        said, own = stems_of(self._values.new.text), stems_of(target.name)
        dropped = stems_of(" ".join(word for word in pairing.dropped if not says(word, said)))
        rest = own - said - AUXILIARIES
        only_before = own & dropped if pairing.alike else rest and rest <= dropped
        return replace(step, missing=(*step.missing, "asked for this time?")) if only_before else step

    # ---- what no step serves

    @property
    def uncovered(self) -> tuple[str, ...]:
        """The words of the new request that no step serves."""
        pairing = self._values.pairing
        told = " ".join(text for step in self.steps for text in _texts_told(step))
        values = [new for old, new in pairing.values.items() if old in self._values.unserved and new.casefold() != old]
        values += [new for new in pairing.added if not holds(told, new)]
        said = stems_of(f"{beside_values(self._values.old)} {told}")
        words = [word for word in pairing.words if not says(word, said)]
        words = _telling(words) if pairing.alike else self._of_other_deeds(words, values)
        return tuple(dict.fromkeys([*values, *words]))

    def _of_other_deeds(self, words: Sequence[str], values: Sequence[str]) -> list[str]:
        """Of a request in other words those of a part of it that says little else: "… and notify her"."""
        unsaid = {word.casefold() for word in (*words, *values)}
        parts = [
            [word for word in _WORDS.findall(part) if word.casefold() not in SMALL]
            for part in _AND.split(self._values.new.text)
        ]
        other = [part for part in parts if part and 2 * sum(one.casefold() in unsaid for one in part) >= len(part)]
        return [word for part in other for word in _telling([one for one in part if one.casefold() in unsaid])]


def _telling(words: list[str]) -> list[str]:
    """Without everyday words ("I would like"), unless there are no others ("tell her")."""
    return [word for word in words if stem(word.casefold()) not in COMMON] or words


def _is_title(text: str) -> bool:
    """True for words of programs alone, however they are written: "Freeze Rows and Columns", but not "Tom Kent"."""
    words = _WORDS.findall(text)
    return bool(words) and all(word.isalpha() and not is_odd(word) for word in words if len(word) > 2)


def _may_be_a_name(value: str) -> bool:
    """False for a date, an address or an amount: no item is called so by another name."""
    return slot_type(value) == "text"


def _is_labelled(name: str, value: str) -> bool:
    """True for a value behind words of the application's own, as in "Delete 'Film night'"; not for "Dr Tom Kent"."""
    before, _, after = name.partition(value)
    words = before.rstrip(_QUOTES)
    return (
        _LABEL.fullmatch(words) is not None and (" " in words or before[-1] in _QUOTES[1:]) and not after.strip(_QUOTES)
    )


def _is_landmark(within: str, landmarks: Collection[str] = _LANDMARKS) -> bool:
    return not set(landmarks).isdisjoint(re.findall(r"\w+", within.casefold().replace("tool bar", "toolbar")))


def _without(step: ProcedureStep, what: str) -> ProcedureStep:
    """A step without its name, its row or its option."""
    if what == "option":
        return replace(step, value_from="open", parameters=_with_text(step.parameters, ""))
    target = step.target and replace(step.target, **{what: ""})
    return replace(step, target=target)


def _with_text(parameters: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {key: text if key in TEXT_KEYS else value for key, value in parameters.items()}


def _texts_told(step: ProcedureStep) -> Iterable[str]:
    if step.target is not None:
        yield step.target.name
        yield step.target.within
    yield from (step.item_of, step.row_of)
    yield from texts_of(step.parameters)


def _matched(unexplained: Sequence[_Unexplained], values: Sequence[str]) -> list[_Unexplained]:
    """The texts that serve a value: by their name, or as the only one left for the only one left."""
    found: list[_Unexplained] = []
    for value in values:
        named = [one for one in unexplained if abbreviates(value, one.text)]
        if len({one.text for one in named}) == 1:
            found += [replace(one, value=value) for one in named]
    done = {one.text for one in found}
    rest = [value for value in values if value not in {one.value for one in found} and _may_be_a_name(value)]
    left = [one for one in unexplained if one.text not in done]
    others = [one for one in left if not _LABEL.fullmatch(one.text)] or [one for one in left if one.is_item]
    if len(rest) == 1 and len({one.text for one in others}) == 1:
        found += [replace(one, value=rest[0]) for one in others]
    return found
