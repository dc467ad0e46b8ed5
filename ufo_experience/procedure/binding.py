"""A recorded way bound to a new request: what is the task's own, what belongs to the application, what is left open.

Each value of a request is served by one step. One that nothing typed and no label serves ("tkent") is served by the
item that nothing else explains ("Tom Kent"; not "Users", which words of the request explain, nor what stands in a menu
or navigation): there the new value goes, and the item is found by what stands beside it. Where every value is served,
an item that reads like a label is the application's own. What stays unexplained is left open, and said.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

from ufo_experience.controls import LABEL, LANDMARKS, bare, is_part_of_page
from ufo_experience.procedure.acts import needs_consent
from ufo_experience.procedure.render import arguments_told
from ufo_experience.procedure.steps import TEXT_KEYS, ProcedureStep, texts_of
from ufo_experience.procedure.values import Values, replaced
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.redact.typed import slot_type
from ufo_experience.request import Request, holds, stem
from ufo_experience.retrieve.features import COMMON
from ufo_experience.retrieve.opposites import conflict, marks_of
from ufo_experience.retrieve.pairing import AUXILIARIES, SMALL, abbreviates, beside_values, says, stems_of
from ufo_experience.retrieve.tasks import is_odd
from ufo_experience.schema import leaves_of, mapped

_ROWS = frozenset("dataitem cell gridcell datagridcell rowheader".split())  # what stands there belongs to one task
_PRESSED = frozenset("button splitbutton menuitem menu menubar toolbar".split())
_CHOSEN = frozenset("checkbox radiobutton".split())
_AND = re.compile(r"[,;.!?，。；、](?:\s|$)|\band\b")  # between two things that are asked for
_WORDS = re.compile(r"[^\W_]+(?:['’.:@-][^\W_]+)*")
_BEGINNING = re.compile(r"\W*\d+\W+")  # "12. " of a name: numbers stand elsewhere in its row, too
_QUOTES = " '\"‘’“”„«»:"
_OPEN = {"name": "which one", "within": "in which row", "option": "which option"}


class _Unexplained(NamedTuple):
    """A text of a step that belongs to the task or to the application, which is to be found out."""

    number: int
    what: Literal["name", "within", "option"]
    text: str
    is_item: bool = True  # False where the record does not say what kind of control it is


class Binding:
    """Binds the steps of one run; `steps` and `uncovered` are the result."""

    def __init__(self, steps: Iterable[ProcedureStep], values: Values, *, approved: bool = False) -> None:
        self._values, self._approved = values, approved
        self._unexplained: list[_Unexplained] = []
        typed = [self._texts(step) for step in steps]
        self._given = frozenset(values.served)  # values that are typed or chosen
        self._steps = [self._item(self._row(self._label(step))) for step in typed]
        self._settle()
        self.steps = tuple(map(self._unless_unasked, self._steps))

    # ---- what is typed and chosen

    def _texts(self, step: ProcedureStep) -> ProcedureStep:
        missing: list[str] = []
        parameters: dict[str, Any] = {}
        for key, one in step.parameters.items():
            lacking: list[str] = []
            parameters[key] = mapped(one, partial(self._bound, lacking))
            if step.kind == "other":  # a tool knows its arguments by their names
                texts = (text for text in leaves_of(parameters[key]) if isinstance(text, str))
                is_told = all(self._is_told(text) or LABEL.fullmatch(text) for text in texts)
                lacking = [key] if lacking or not is_told else []
            missing += lacking
        beside = abs(step.seen.beside or 0) if step.seen else 0
        bound = replace(step, parameters=parameters, key=self._values.new_of.get(self._values.nth(beside), ""))
        if step.kind == "open" and not self._is_told(bound.parameters):
            return replace(bound.lacks("the address"), parameters={}, value_from="open")
        if step.kind in ("type", "select") and not step.parameters.keys().isdisjoint(TEXT_KEYS):
            is_new = bound.text != step.text or holds(self._values.new.text, bound.text)
            bound = replace(bound, value_from="open" if missing else "task" if is_new else "constant")
            if step.kind == "select" and not self._approved:
                bound = self._option(step, bound)
        return bound.lacks(*missing)

    def _option(self, step: ProcedureStep, bound: ProcedureStep) -> ProcedureStep:
        """A choice. An option is bound as a whole: of "2. High" the number is no value, and "12 Shared drive" is found
        by what the task says of it."""
        if bound.value_from == "open":
            return _without(bound, "option")
        if bare(step.text) in self._values.new_of or PLACEHOLDER.search(step.text):
            return bound
        if holds(self._values.old.text, step.text):
            is_said = holds(self._values.new.text, step.text)  # else it was the value of that time
            return replace(step, value_from="task") if is_said else _left_open(step, "option")
        if bound.text != step.text:
            return replace(_without(step, "option"), item_of="".join(self._values.in_row(step.text)[:1]))
        if bound.value_from == "constant" and not self._is_said(step.text):
            self._unexplained.append(_Unexplained(step.number, "option", step.text))
        return bound

    def _bound(self, missing: list[str], value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return value
        now, open_ = self._values.fill(value) if isinstance(value, str) else self._values.number(value)
        missing += open_
        return now

    def _is_told(self, value: Any) -> bool:
        """True for an address or a command that the task says, or that a person approved with the record."""
        return self._approved or all(one in self._values.new.text for one in texts_of(value))

    # ---- labels, rows and items

    def _label(self, step: ProcedureStep) -> ProcedureStep:
        """A step on a control of the application's own, with the values of the task in its label; a button that says
        what was typed already may be called so in any task."""
        if step.target is None or not step.is_own or self._is_object(step):
            return step
        keep, said = self._given if step.role in _PRESSED else frozenset(), bare(step.name)
        name, missing = self._values.fill(step.name, keep)
        is_another = said in keep and not self._values.is_unchanged(said)
        return _left_open(step, "name") if missing or is_another else step.aimed_at(name=name)

    def _row(self, step: ProcedureStep) -> ProcedureStep:
        if step.target is None or not step.target.within:
            return step
        within, missing = self._values.fill(step.target.within)
        if values := self._values.in_row(step.target.within):
            given = {self._values.new_of[old] for old in self._given & self._values.new_of.keys()}
            beside = tuple(one for one in values[1:] if one not in given)
            return replace(step.aimed_at(within=""), row_of=values[0], beside=beside)
        if missing:
            return _left_open(step, "within")
        by_itself = not step.is_own and bare(within).startswith(bare(step.name))
        in_dialog = step.around is not None and step.around.dialog  # a dialog holds no row of data
        if not by_itself and (LABEL.fullmatch(within) or self._is_said(within) or is_part_of_page(within)):
            return step
        if by_itself or in_dialog:
            return step.aimed_at(within="")
        self._unexplained.append(_Unexplained(step.number, "within", within))
        return step

    def _item(self, step: ProcedureStep) -> ProcedureStep:
        """A step on an item that holds a value of the task; any other waits until all values are served."""
        if step.target is None or (step.is_own and not self._is_object(step)):
            return step
        old = step.name
        name, missing = self._values.fill(old)
        first, *others = self._values.in_row(old) or ("",)
        whole = bare(old) in self._values.all or PLACEHOLDER.fullmatch(old.strip())
        if first and (whole or (not missing and _is_labelled(name, first))):
            asks = step.ask_first and needs_consent(step.action, name, step.role)
            return replace(step.aimed_at(name=name), ask_first=asks, value_from="task")
        if first:  # all the values of its name, not the first alone, tell which item it is
            told = (*step.beside, *([] if missing else others))
            beside = tuple(one for one in dict.fromkeys(told) if one != first)
            begins = _BEGINNING.match(name) if first.isdecimal() else None
            shown = f"{begins[0]}…" if begins and holds(begins[0], first) else None
            return replace(step.aimed_at(name=first if missing else name), item_of=first, beside=beside, shown=shown)
        if missing:
            return _left_open(step, "name")
        is_another_name = not LABEL.fullmatch(old) or (old.isalnum() and is_odd(old))  # "tkent", for Tom Kent
        if step.row_of and step.role and not step.confirmed and is_another_name:
            return replace(step.aimed_at(name=""), item_of=step.row_of, row_of="")
        if not self._is_explained(step):
            self._unexplained.append(_Unexplained(step.number, "name", old, bool(step.role)))
        return step

    def _is_object(self, step: ProcedureStep) -> bool:
        """True for a box that is called by a value and a number beside it: "11 Video calls break off" is no label."""
        rest = replaced(step.name, dict.fromkeys(self._values.new_of, ""))
        return step.role in _CHOSEN and rest != step.name and any(map(str.isdigit, rest))

    def _is_explained(self, step: ProcedureStep) -> bool:
        """True for an item that words of the request, its place or other runs explain: it leads there in any task."""
        if self._approved or (step.target and is_part_of_page(step.target.within, LANDMARKS)):
            return True
        return step.role not in _ROWS and not step.varies and (step.confirmed or self._is_said(step.name))

    def _is_said(self, name: str) -> bool:
        """True where words of the request beside its values say at least half of a name."""
        own = stems_of(name)
        return bool(own) and 2 * len(own & self._values.template) >= len(own)

    # ---- what nothing explained

    def _settle(self) -> None:
        """Give each value that is not served yet to the text that nothing else explains; the rest is fixed or open."""
        for place, step in enumerate(self._steps):
            value = self._values.nth(step.around.value) if step.around and step.around.value else ""
            if value in self._values.unserved and value in self._values.new_of:
                self._values.served.add(value)
                self._steps[place] = replace(step, row_of=self._values.new_of[value])
        served = _matched(self._unexplained, self._values.unserved)
        self._values.served |= set(served.values())
        unserved = self._values.unserved
        for one in self._unexplained:
            step = self._steps[one.number - 1]
            fixed = self._is_fixed(one, step)
            new = self._values.new_of.get(served.get(one, ""), "")
            if new and new.casefold() != served[one]:
                left = _without(step, one.what)
                bound = replace(left, row_of=new) if one.what == "within" else replace(left, item_of=new)
                self._steps[one.number - 1] = bound
            elif new and (fixed or one.what != "option"):
                continue  # the same again
            elif one in served or not fixed or (one.is_item and self._is_needed(one, unserved)):
                # the only one of its name in view is found without the row it stood in
                # and, where what is asked for stands in the steps before, on the page of what they led to
                is_there = not step.ask_first or (bool(self._values.all) and not unserved)
                alone = step.around is not None and step.around.equals == 1 and is_there
                drop = _without if one.what == "within" and alone else _left_open
                self._steps[one.number - 1] = drop(step, one.what)

    def _is_needed(self, one: _Unexplained, unserved: Sequence[str]) -> bool:
        """True where a value that nothing serves may stand for a text; for an item, one that is another in the new
        request: whatever served the same does again."""
        values = (value for value in unserved if one.what == "option" or not self._values.is_unchanged(value))
        return any(map(_may_be_a_name, values))

    def _is_fixed(self, one: _Unexplained, step: ProcedureStep) -> bool:
        """True for what reads like a label of the application's own; what stands in a row never is one."""
        if step.varies or (one.what == "name" and step.role in _ROWS):
            return False
        is_link = one.what == "name" and step.role == "hyperlink" and bool(self._values.all)
        is_label = LABEL.fullmatch(one.text) is not None or (
            one.what == "name" and self._values.all_stay and _is_title(one.text)
        )
        return step.confirmed or is_link or is_label

    def _unless_unasked(self, step: ProcedureStep) -> ProcedureStep:
        """A choice of which only the old request speaks is open, where the new one says nothing in its place."""
        pairing = self._values.pairing
        longer = pairing.alike and (pairing.words or pairing.added)
        if longer or step.target is None or not (step.kind in ("type", "select") or step.role in _CHOSEN):
            return step
        said, own = self._values.said_now, stems_of(step.name)
        dropped = stems_of(" ".join(word for word in pairing.dropped if not says(word, said)))
        rest = own - said - AUXILIARIES
        only_before = own & dropped if pairing.alike else rest and rest <= dropped
        return step.lacks("asked for this time?") if only_before else step

    # ---- what no step serves

    @property
    def uncovered(self) -> tuple[str, ...]:
        """The words of the new request that no step serves."""
        values, pairing = self._values, self._values.pairing
        told = " ".join(text for step in self.steps for text in _texts_told(step))
        unserved = [values.new_of[old] for old in values.unserved if old in values.new_of]
        open_ = [new for new in unserved if new.casefold() not in values.unserved]
        open_ += [new for new in pairing.added if not holds(told, new)]
        said = stems_of(f"{beside_values(values.old)} {told}") | values.application
        words = [word for word in pairing.words if not says(word, said) and not self._is_same_deed(word)]
        grave = [word for word in words if needs_consent("click", word.capitalize(), "button")]
        words = _telling(words) if pairing.alike else [*grave, *self._of_other_deeds(words, open_)]
        deed = values.new.asks.split()[:2] if conflict(values.new, values.old) else []  # "Do not", "Keep the"
        return tuple(dict.fromkeys([*filter(None, [" ".join(deed)]), *open_, *words]))

    def _is_same_deed(self, word: str) -> bool:
        """True for a word by which the new request stands where the old one does: "switch" (on), for "turn" on."""
        new, old = (marks_of(one).ends for one in (self._values.new, self._values.old))
        rest = marks_of(Request.parse(self._values.new.text.replace(word, "", 1))).ends
        own = [axis for axis in new if "|" in axis and axis not in rest]
        return bool(own) and all(old.get(axis) == new[axis] for axis in own)

    def _of_other_deeds(self, words: Sequence[str], values: Sequence[str]) -> list[str]:
        """Of a request in other words those of a part of it that says little else: "… and notify her"."""
        unsaid = {word.casefold() for word in (*words, *values)}
        found: list[str] = []
        for part in _AND.split(self._values.new.text):
            said = [word for word in _WORDS.findall(part) if word.casefold() not in SMALL]
            said = [word for word in said if stem(word.casefold()) not in self._values.application]
            new = [word for word in said if word.casefold() in unsaid]
            found += _telling(new) if said and 2 * len(new) >= len(said) else []
        return found


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
    is_apart = " " in words or before[-1:] in _QUOTES[1:]
    return LABEL.fullmatch(words) is not None and is_apart and not after.strip(_QUOTES)


def _without(step: ProcedureStep, what: str) -> ProcedureStep:
    return replace(step.with_text(""), value_from="open") if what == "option" else step.aimed_at(**{what: ""})


def _left_open(step: ProcedureStep, what: str) -> ProcedureStep:
    return _without(step, what).lacks(_OPEN[what])


def _texts_told(step: ProcedureStep) -> Iterable[str]:
    within = step.target.within if step.target else ""
    return step.name, within, step.item_of, step.row_of, *texts_of(arguments_told(step))


def _matched(unexplained: Sequence[_Unexplained], values: Sequence[str]) -> dict[_Unexplained, str]:
    """Which texts serve which value: by their name, or as the only one left for the only one left."""
    found: dict[_Unexplained, str] = {}
    for value in values:
        named = [one for one in unexplained if abbreviates(value, one.text)]
        if len({one.text for one in named}) == 1:
            found |= dict.fromkeys(named, value)
    rest = [value for value in values if value not in found.values() and _may_be_a_name(value)]
    left = [one for one in unexplained if one not in found]
    others = [one for one in left if not LABEL.fullmatch(one.text)] or [one for one in left if one.is_item]
    if len(rest) == 1 and len({one.text for one in others}) == 1:
        found |= dict.fromkeys(others, rest[0])
    return found
