"""A recorded way bound to a new request: what is the task's own, what belongs to the application, what is left open.

Each value of a request is served by one step. One that nothing typed and no label serves ("tkent") is served by the
item that nothing else explains ("Tom Kent"; not "Users", which words of the request explain, nor what stands in a menu
or navigation): there the new value goes, and the item is found by what stands beside it. Where every value is served,
an item that reads like a label is the application's own. What stays unexplained is left open, and said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ufo_experience.controls import bare, is_fixed
from ufo_experience.procedure.agreement import Agreed
from ufo_experience.procedure.pairing import SMALL, Pairing, abbreviates, says, stems_of
from ufo_experience.procedure.steps import TEXT_KEYS, LookedUp, ProcedureStep, Source, Target, texts_of
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.redact.slot_types import FIXED, SLOT_TYPE
from ufo_experience.request import Request, find_whole
from ufo_experience.retrieve.thesaurus import thesaurus
from ufo_experience.schema import Experience

ROWS = frozenset("dataitem cell gridcell datagridcell rowheader".split())  # what stands there belongs to one task
_PRESSED = frozenset("button splitbutton menuitem menu menubar toolbar".split())
_CHOSEN = frozenset("checkbox radiobutton".split())
LABEL = re.compile(r"[^\W\d_]+(?:[ /&'-]{1,3}[^\W\dA-Z_]+){0,3}[.…]{0,3}")  # "Users", "Installed apps"; not "Tom Kent"
_LANDMARKS = frozenset("navigation menu menubar toolbar banner".split())  # ARIA's own names for what leads elsewhere
_AND = re.compile(r"[,;.!?，。；、](?:\s|$)|\band\b")  # between two things that are asked for
_WORDS = re.compile(r"[^\W_]+(?:['’.:@-][^\W_]+)*")
_PARTS = re.compile(r"\d+|[^\W\d_]+")


@dataclass(frozen=True)
class Part:
    """A text of a step that belongs to the task or to the application, which is to be found out."""

    place: int
    what: str  # "name", "within" or "option"
    text: str
    value: str = ""  # the old value it serves
    is_item: bool = True  # False where the record does not say what kind of control it is


class Binding:
    """Binds the steps of one run; `steps` and `uncovered` are the result."""

    def __init__(
        self,
        steps: Sequence[ProcedureStep],
        run: Experience,
        pairing: Pairing,
        requests: tuple[Request, Request],
        agreed: Sequence[Agreed],
        approved: bool = False,
        constants: Mapping[str, str] | None = None,
    ) -> None:
        self._constants = constants or {}  # digest → value, what independent runs typed alike
        self._run, self._pairing, self._agreed, self._approved = run, pairing, agreed, approved
        self._old, self._new = requests
        self._served: set[str] = set()
        self._parts: list[Part] = []
        self._steps = list(steps)
        for fill_in in (self._texts, self._labels, self._items):
            self._steps = [fill_in(place, step) for place, step in enumerate(self._steps)]
        self._settle()
        self.steps = tuple(self._unasked(step) for step in self._steps)

    # ---- what is typed and chosen

    def _texts(self, place: int, step: ProcedureStep) -> ProcedureStep:
        """A step with its parameters bound."""
        agreed = self._agreed[place]
        if agreed.constant and PLACEHOLDER.fullmatch(step.text.strip()):
            step = replace(step, parameters=_with_text(step.parameters, agreed.constant))
        missing: list[str] = []
        parameters = {key: self._bound(value, missing) for key, value in step.parameters.items()}
        if step.kind == "open" and not self._may_go(parameters):
            return replace(step, parameters={}, missing=("the address",), value_from="open")
        if step.kind == "other" and not self._approved:
            missing += [key for key, value in parameters.items() if not self._may_be_given(value)]
        source = self._source(step, parameters, missing)
        step = replace(step, parameters=parameters, missing=(*step.missing, *dict.fromkeys(missing)), value_from=source)
        if step.kind == "select" and source == "constant" and not self._approved:
            self._parts.append(Part(place, "option", step.text))
        return replace(step, seen=self._where_seen(step.seen)) if step.seen else step

    def _bound(self, value: Any, missing: list[str]) -> Any:
        if isinstance(value, str):
            text, open_ = self._fill(value)
            missing += open_
            return text
        if isinstance(value, Mapping):
            return {key: self._bound(item, missing) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._bound(item, missing) for item in value]
        return self._number(value, missing) if isinstance(value, (int, float)) and value is not True else value

    def _number(self, value: Any, missing: list[str]) -> Any:
        """A number that is part of a value of the request: the hour of a time, the day of a date."""
        for old in self._values:
            parts = [int(part) for part in _PARTS.findall(old) if part.isdigit()]
            if value is not False and value in parts:
                new = self._pairing.values.get(old, "")
                now = [part for part in _PARTS.findall(new) if part.isdigit()]
                if len(now) == len(parts):
                    self._served.add(old)
                    return type(value)(now[parts.index(int(value))])
                missing.append(old)
        return value

    def _source(self, step: ProcedureStep, parameters: Mapping[str, Any], missing: Sequence[str]) -> Source:
        if step.kind not in ("type", "select") or not any(key in parameters for key in TEXT_KEYS):
            return ""
        if missing:
            return "open"
        before, now = step.text, next(str(parameters[key]) for key in TEXT_KEYS if key in parameters)
        return "task" if before != now or find_whole(now.casefold(), self._new.text.casefold()) >= 0 else "constant"

    def _may_go(self, parameters: Mapping[str, Any]) -> bool:
        """An address is told where the task says it or a person approved the record."""
        return self._approved or all(one in self._new.text for one in texts_of(parameters))

    def _may_be_given(self, value: Any) -> bool:
        """False for a text of another action, as a command, that neither the task says nor looks like a setting."""
        return not isinstance(value, str) or not value or value in self._new.text or bool(LABEL.fullmatch(value))

    def _where_seen(self, seen: LookedUp) -> LookedUp:
        number = int(seen.key) if seen.key else 0
        return replace(seen, key=self._pairing.by_number.get(abs(number), ""), before=number < 0)

    # ---- labels of the application's own

    def _labels(self, place: int, step: ProcedureStep) -> ProcedureStep:
        """A step on a fixed control with the values of the task in its label."""
        if step.target is None or not _is_own(step):
            return step
        name, missing = self._fill(step.target.name, said_only=step.role in _PRESSED)
        return replace(step, target=replace(step.target, name=name), missing=(*step.missing, *missing))

    # ---- items: fixed, or of the task

    def _items(self, place: int, step: ProcedureStep) -> ProcedureStep:
        """A step on an item that holds a value of the task; any other waits until all values are served."""
        if step.target is None:
            return step
        step = self._placed(place, step)
        target = step.target
        if target is None or _is_own(step):
            return step
        name, missing = self._fill(target.name)
        if missing:
            return replace(step, missing=(*step.missing, *missing), readable=False)
        held = self._held(target.name)
        if name != target.name or held:
            whole = bare(target.name) in self._values or PLACEHOLDER.fullmatch(target.name.strip())
            value = name if whole else held or self._value_in(name)
            return replace(step, target=replace(target, name=value), item_of="" if whole else value)
        if step.row_of and step.role and not self._agreed[place].confirmed and not LABEL.fullmatch(target.name):
            return replace(step, item_of=step.row_of, row_of="", target=replace(target, name=""))
        if not self._is_explained(place, step, target):
            self._parts.append(Part(place, "name", target.name, is_item=bool(step.role)))
        return step

    def _placed(self, place: int, step: ProcedureStep) -> ProcedureStep:
        """A step with its row or group bound."""
        target = step.target
        if target is None or not target.within:
            return step
        within, missing = self._fill(target.within)
        if missing:
            return replace(step, target=replace(target, within=""), missing=(*step.missing, *missing))
        held = self._held(target.within)
        if held or within != target.within:
            return replace(step, target=replace(target, within=""), row_of=held or self._value_in(within))
        if not _is_own(step) and bare(within).startswith(bare(target.name)):
            return replace(step, target=replace(target, within=""))  # the item itself is what the row is called by
        in_dialog = step.around is not None and step.around.dialog
        if in_dialog and not LABEL.fullmatch(within):
            return replace(step, target=replace(target, within=""))  # what it asks; a dialog holds no row of data
        if not (LABEL.fullmatch(within) or self._said_in(within) or _is_landmark(within)):
            self._parts.append(Part(place, "within", within))
        return step

    def _is_explained(self, place: int, step: ProcedureStep, target: Target) -> bool:
        """True for an item that words of the request, its place or other runs explain: it leads there in any task."""
        agreed = self._agreed[place]
        if self._approved or _is_landmark(target.within):
            return True
        return step.role not in ROWS and not agreed.varies and (agreed.confirmed or self._said_in(target.name))

    def _said_in(self, name: str) -> bool:
        """True where words of the request beside its values say at least half of a name."""
        own = stems_of(name)
        return bool(own) and 2 * len(own & self._template) >= len(own)

    def _settle(self) -> None:
        """Give each value that is not served yet to the part that nothing else explains; the rest is fixed or open."""
        unserved = [value for value in self._values if value not in self._served]
        found = _matched(self._parts, unserved)
        for part in found:
            self._served.add(part.value)
            self._serve(part)
        every_value_is_served = all(value in self._served for value in self._values)
        places = {(part.place, part.what) for part in found}
        for part in self._parts:
            served = every_value_is_served or not part.is_item
            if (part.place, part.what) not in places and not (served and self._is_label(part)):
                self._leave_open(part)

    def _serve(self, part: Part) -> None:
        """Bind a part to the value that stands for the one it bore."""
        new = self._pairing.values.get(part.value)
        step = self._steps[part.place]
        if new is None or (part.what == "option" and new.casefold() == part.value and not self._is_label(part)):
            self._leave_open(part)
        elif new.casefold() != part.value:
            if part.what == "within":
                step = replace(step, row_of=new, target=_without(step.target, within=True))
            elif part.what == "name":
                step = replace(step, item_of=new, target=_without(step.target))
            else:
                step = replace(step, item_of=new, value_from="open", parameters=_with_text(step.parameters, ""))
            self._steps[part.place] = step

    def _is_label(self, part: Part) -> bool:
        """True for what reads like a label of the application's own; what stands in a row never is one."""
        step, agreed = self._steps[part.place], self._agreed[part.place]
        if agreed.varies or (part.what == "name" and step.role in ROWS):
            return False
        is_link = part.what == "name" and step.role == "hyperlink" and bool(self._values)
        return agreed.confirmed or is_link or LABEL.fullmatch(part.text) is not None

    def _leave_open(self, part: Part) -> None:
        step = self._steps[part.place]
        if part.what == "within" and not step.ask_first and step.around is not None and step.around.equals == 1:
            self._steps[part.place] = replace(step, target=_without(step.target, within=True))
            return  # the only one of its name that was in view: where it stood tells nothing more
        what = {"name": "which one", "within": "in which row", "option": "which option"}[part.what]
        if part.what == "option":
            step = replace(step, value_from="open", parameters=_with_text(step.parameters, ""))
        else:
            step = replace(step, target=_without(step.target, within=part.what == "within"))
        self._steps[part.place] = replace(step, missing=(*step.missing, what))

    # ---- words

    @cached_property
    def _values(self) -> tuple[str, ...]:
        """The values of the old request, in lower case."""
        return (*self._pairing.values, *self._pairing.left)

    @cached_property
    def _template(self) -> frozenset[str]:
        """The stems of what both requests say beside their values.

        Of a request in other words only what names a thing of interfaces: any other word may be somebody's name.
        """
        said = f"{_beside_values(self._old)} {_beside_values(self._new)} {self._run.state.application or ''}"
        own = {stem for value in (*self._values, *self._pairing.values.values()) for stem in stems_of(value)}
        dropped = frozenset() if self._pairing.alike else stems_of(" ".join(self._pairing.dropped))
        return stems_of(said) - own - frozenset(word for word in dropped if not thesaurus().is_known(word))

    def _fill(self, text: str, said_only: bool = False) -> tuple[str, list[str]]:
        """A text with new values in place of old ones, and what of the old task nothing stands for.

        With `said_only` a value that was typed already is no reason to call a button otherwise: it is left open.
        """
        missing: list[str] = []

        def slot(match: re.Match[str]) -> str:
            value, old = self._of_slot(match[0].strip("{}<>"))
            self._served |= {old} if old else set()
            missing.extend([] if value is not None else [self._kind_of_slot(match[0])])
            return match[0] if value is None else value

        if PLACEHOLDER.search(text):
            return PLACEHOLDER.sub(slot, text), missing
        held = [value for value in self._values if find_whole(value, text.casefold()) >= 0]
        if said_only:
            typed = [value for value in held if value in self._served]
            if typed and bare(text) in typed and self._pairing.values.get(bare(text), "").casefold() != bare(text):
                return text, [bare(text)]
            held = [value for value in held if value not in typed]
        self._served |= set(held)
        missing += [value for value in held if value not in self._pairing.values]
        if len(held) == 1 and not missing and self._is_said_of(held[0], text):
            return self._pairing.values[held[0]], missing
        return replaced(text, {value: self._pairing.values[value] for value in held if value not in missing}), missing

    def _is_said_of(self, value: str, text: str) -> bool:
        """True where what a text holds beside a value went with it: "Weekdays only" for "Never"."""
        beside = stems_of(text) - stems_of(value)
        return (
            bool(beside)
            and find_whole(text.casefold(), self._old.text.casefold()) >= 0
            and beside <= stems_of(" ".join(self._pairing.dropped))
        )

    def _of_slot(self, name: str) -> tuple[str | None, str]:
        """What stands for a placeholder, and the old value it was."""
        kind = self._run.slots.get(name, "")
        if self._approved and kind.startswith(FIXED):
            return kind[len(FIXED) :].strip(), ""  # a person says so
        if (agreed := self._constants.get(self._run.digests.get(name, ""))) is not None:
            return agreed, ""
        secret = f"{{{{{name}}}}}"  # a request that tells a password is kept with this in its place
        if secret in self._values:
            return self._pairing.values.get(secret), secret
        told = SLOT_TYPE.fullmatch(kind)
        if name.startswith("secret") or told is None or not told["where"]:
            return None, ""
        if told["slot"]:
            number = int(told["slot"])
            old = self._old.values[number - 1].text.casefold() if number <= len(self._old.values) else ""
            return self._pairing.by_number.get(number), old
        parsed = {value.text.casefold() for value in self._old.values}
        words = [old for old in self._pairing.values if old not in parsed]
        return (self._pairing.values[words[0]], words[0]) if len(words) == 1 else (None, "")

    def _kind_of_slot(self, placeholder: str) -> str:
        told = SLOT_TYPE.fullmatch(self._run.slots.get(placeholder.strip("{}<>"), ""))
        return told["meaning"] or told["type"] if told else "text"

    def _held(self, text: str) -> str:
        """What stands now for the longest old value in a text; "" where it holds none."""
        held = [old for old in self._pairing.values if find_whole(old, text.casefold()) >= 0]
        return self._pairing.values[max(held, key=len)] if held else ""

    def _value_in(self, text: str) -> str:
        """The longest new value in a text."""
        held = [one for one in self._pairing.values.values() if find_whole(one.casefold(), text.casefold()) >= 0]
        return max(held, key=len, default=text)

    def _unasked(self, step: ProcedureStep) -> ProcedureStep:
        """A choice that only words of the old request speak of, where the new one says nothing in their place."""
        pairing = self._pairing
        longer = pairing.alike and (pairing.words or pairing.added)
        if longer or not (step.kind in ("type", "select") or step.role in _CHOSEN) or step.target is None:
            return step
        dropped = stems_of(" ".join(word for word in pairing.dropped if not says(word, stems_of(self._new.text))))
        own = stems_of(step.target.name)
        only_before = own & dropped if pairing.alike else own and own <= dropped
        return replace(step, missing=(*step.missing, "asked for this time?")) if only_before else step

    @property
    def uncovered(self) -> tuple[str, ...]:
        """The words of the new request that no step serves."""
        told = " ".join(text for step in self.steps for text in _texts_told(step))
        values = [new for old, new in self._pairing.values.items() if old not in self._served and new.casefold() != old]
        values += [new for new in self._pairing.added if find_whole(new.casefold(), told.casefold()) < 0]
        said = stems_of(f"{_beside_values(self._old)} {told}")
        words = [word for word in self._pairing.words if not says(word, said)]
        if not self._pairing.alike:
            words = self._of_other_deeds(words, values)
        return tuple(dict.fromkeys([*values, *words]))

    def _of_other_deeds(self, words: Sequence[str], values: Sequence[str]) -> list[str]:
        """Of a request in other words those of a part of it that says little else: "… and notify her"."""
        unsaid = {word.casefold() for word in (*words, *values)}
        parts = [
            [word for word in _WORDS.findall(part) if word.casefold() not in SMALL]
            for part in _AND.split(self._new.text)
        ]
        other = [part for part in parts if part and 2 * sum(one.casefold() in unsaid for one in part) >= len(part)]
        return [word for part in other for word in part if word.casefold() in unsaid]


def _is_own(step: ProcedureStep) -> bool:
    """True for a control that the application put there; a link may be what its user keeps there."""
    if step.kind in ("type", "select", "switch", "open", "keys"):
        return True
    return is_fixed(step.role) and step.role != "hyperlink"


def _is_landmark(within: str) -> bool:
    return not _LANDMARKS.isdisjoint(re.findall(r"\w+", within.casefold().replace("tool bar", "toolbar")))


def _without(target: Target | None, *, within: bool = False) -> Target | None:
    if target is None:
        return None
    return replace(target, within="") if within else replace(target, name="")


def _with_text(parameters: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {key: text if key in TEXT_KEYS else value for key, value in parameters.items()}


def _beside_values(request: Request) -> str:
    text = request.text
    for value in reversed(request.values):
        text = f"{text[: value.start]} {text[value.end :]}"
    return text


def _texts_told(step: ProcedureStep) -> Iterable[str]:
    if step.target is not None:
        yield step.target.name
        yield step.target.within
    yield from (step.item_of, step.row_of)
    yield from texts_of(step.parameters)


def replaced(text: str, words: Mapping[str, str]) -> str:
    """Old words replaced by new ones in any case, the longest first, each place once."""
    for old in sorted(words, key=len, reverse=True):
        at = find_whole(old, text.casefold())
        if at >= 0:
            before, after = text[:at], text[at + len(old) :]
            rest = {word: new for word, new in words.items() if word != old}
            now = _cased(text[at : at + len(old)], words[old])
            return f"{replaced(before, rest)}{now}{replaced(after, words)}"
    return text


def _cased(old: str, new: str) -> str:
    """`new`, with a capital where `old` has one and `new` is an ordinary word: a button "Dark" for "light"."""
    return new.capitalize() if old[:1].isupper() and new.isalpha() and new.islower() else new


def _matched(parts: Sequence[Part], values: Sequence[str]) -> list[Part]:
    """The parts that serve a value: by their name, or as the only one left for the only one left."""
    found: list[Part] = []
    for value in values:
        named = [part for part in parts if abbreviates(value, part.text)]
        if len({part.text for part in named}) == 1:
            found += [replace(part, value=value) for part in named]
    done = {part.text for part in found}
    rest = [value for value in values if value not in {part.value for part in found}]
    left = [part for part in parts if part.text not in done]
    others = [part for part in left if not LABEL.fullmatch(part.text)] or [part for part in left if part.is_item]
    if len(rest) == 1 and len({part.text for part in others}) == 1:
        found += [replace(part, value=rest[0]) for part in others]
    return found
