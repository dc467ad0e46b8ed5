"""Where a value that is shown to an agent may come from.

A name, an address, a path, an amount, a command or any other text of a record is shown only if it

1. stands in the new task,
2. is a slot to be filled, or
3. is a constant of the procedure: other runs, of other sessions and other requests, hold it too (`Agreement`; what was
   typed is sealed until then, see `redaction.sealing`), or it is made of nothing but words of interfaces
   (`vocabulary`) and of the task itself; or a person approved the record.

Everything else becomes a slot, so that what only one record knows never reaches a prompt or a guide, in whatever
language or encoding it is written. What stays is the way: the verb, the kind of control, the order of the steps.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from pydantic import JsonValue

from ufo_experience.actions import clicked_controls, is_option, plain
from ufo_experience.redact.keystrokes import is_chord
from ufo_experience.redact.slot_types import slot_type
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.schema import Experience, Step, Trust
from ufo_experience.text.alike import plain_text, words_in
from ufo_experience.text.applications import application_key
from ufo_experience.text.own_case import feature_words, in_own_case
from ufo_experience.text.slots import Slot, find_slots, find_whole, mask_slots
from ufo_experience.text.terms import stem
from ufo_experience.trust.confirm import confirms, grave_kind
from ufo_experience.trust.risk import runs_commands
from ufo_experience.trust.vocabulary import INTERFACE, PLAIN, WHOLE_NAMES

FIXED = "= "  # begins the type of a slot whose value a person says
MOST_WORDS = 8  # of a control's name: longer ones are sentences, and a sentence is no label
_LONGEST_WORD = 24  # letters of a caption
SMALL = 10  # numbers up to it count clicks, tabs or notches of a wheel

_EVERYWHERE = PLAIN | INTERFACE  # words that are known whatever the task
_WORD = re.compile(r"[^\W_]+")
_SHAPES = re.compile(
    r"[@\\/<>{}|=$€£¥%#`\"~^*;]|\w\.\w|\d{3}|\d[^\W\d_]|[^\W\d_]\d"
)  # of addresses, paths, codes, sums
_VERB = re.compile(r"[^\W\d]\w{0,31}(?:[. -]\w{1,20}){0,2}")
_INPUT = re.compile(r"\{\{input:(\d{1,9})\}\}")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_ROLE = re.compile(r"[A-Za-z][A-Za-z -]{0,24}")
_SENTENCE = re.compile(r"(?<=[.!?;。！？])\s+|\n+")
_LABEL = re.compile(r"\[[^\[\]]{1,40}\]")
_ADDRESS = re.compile(  # what leads somewhere: a mail box, a page, a share, a folder, a machine
    r"(?i)[\w.+-]@[\w-]+\.|[a-z][a-z0-9+.-]{1,20}://|\\\\|[a-z]:\\|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w)|\bwww\.|/\w+/\w"
    r"|[\w-]\.(?:com|net|org|io|shop|ru|cn|de|example|info|biz|xyz|app|dev|top|site|online)\b"
)
_STEERING = frozenset(  # how an action is done; not what it is done to
    "left right middle up down single double true false none click press page pages line lines pixel pixels ctrl shift"
    " alt tab enter seconds milliseconds append replace start end top bottom forward backward screen element".split()
)
_OWN_KEYS = frozenset(  # parameters whose value is the run's own, whatever words it is made of
    "path file filename folder url uri href link command cmd commands script code query sql to cc bcc recipient amount"
    " address host target destination keys".split()
)
_CAPTIONED = frozenset("button splitbutton tab tabitem menu menuitem checkbox radiobutton hyperlink link".split())
_STATES = re.compile(  # words that say what a control is switched to: shown only if all of its name is known
    r"(?i)\b(?:o(?:n|ff)|not|never|always|any(?:one|body)?|every(?:one|body)?|public(?:ly)?|full|permanent\w*|external)\b"
)


class Agreement(Protocol):
    """What runs agree on. Implementations count runs that are trusted, of different sessions and requests."""

    def agreed(self, text: str, application: str | None) -> bool:
        """True when other runs in this application hold the same name or value."""
        ...

    def share(self, text: str, experience: Experience) -> tuple[int, int]:
        """(runs that hold the name, runs) among those of the same task; (0, 0) where nothing is known."""
        ...

    def constants(self, experience: Experience, task: str) -> Mapping[str, str]:
        """Placeholder → value, for what all runs of the record's task typed there when it was asked like this."""
        ...


class NoAgreement:
    """An agreement that knows of no other runs: nothing is agreed on."""

    def agreed(self, text: str, application: str | None) -> bool:
        return False

    def share(self, text: str, experience: Experience) -> tuple[int, int]:
        return 0, 0

    def constants(self, experience: Experience, task: str) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True)
class Shown:
    """A record as an agent may see it.

    `experience` holds no value that only it knows; its `slots` name what was taken out. By step number: `confirm`
    says why a person is asked before it (see `trust.confirm`), `optional` are (runs that did it, runs) of steps that
    most runs of the task did without. `hidden` counts what was taken out, `constants` are the values that runs agree
    on and that stand in place of placeholders.
    """

    experience: Experience
    confirm: Mapping[int, str] = field(default_factory=dict)
    optional: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    hidden: int = 0
    constants: Mapping[str, str] = field(default_factory=dict)


def presentable(experience: Experience, task: str, agreement: Agreement | None = None) -> Shown:
    """The record as it may be shown for `task`; an approved one is shown as it is.

    Pure and deterministic; `presentable` of what it returned changes nothing more for the same task.
    """
    agreement = agreement or NoAgreement()
    constants = agreement.constants(experience, task)
    if experience.trust is Trust.APPROVED:
        constants = {**constants, **_said(experience)}
        shown = Shown(experience, confirms(experience.action.steps), _optional(experience, agreement))
    else:
        shown = _Filter(experience, task, agreement).result()
    if not constants:
        return shown
    filled = with_constants(shown.experience, constants)
    why = {**confirms(filled.action.steps), **shown.confirm}
    return replace(shown, experience=filled, confirm=why, constants=constants)


def asked_first(request: str) -> str:
    """The first sentence of a recorded request, and of the others those made of words of interfaces alone.

    What the new task says, it says itself; a poisoned request asks for more than it says first.
    """
    first, *others = [one for one in _SENTENCE.split(request[:2000]) if one.strip()] or [""]
    kept = (
        one
        for one in others
        if all(word.isdigit() or _has(_EVERYWHERE, word) for word in words_in(_LABEL.sub(" ", one)))
    )
    return " ".join([first, *(one for one in kept if not _ADDRESS.search(one))])


def without_addresses(request: str, task: str) -> str:
    """A recorded request with "…" for addresses and paths that the new task does not name."""
    plain_task = plain_text(task)

    def shown(word: str) -> str:
        is_address = not word.isalnum() and _ADDRESS.search(word) is not None
        named = is_address and find_whole(plain_text(word.strip(".,;:!?")), plain_task) >= 0
        return word if named or not is_address else "…"

    return "".join(map(shown, re.split(r"(\s+)", request)))


def _said(experience: Experience) -> dict[str, str]:
    """What the person who approved a record says its slots always hold: a slot of the type "= ME51" holds ME51."""
    kinds = experience.slots.items()
    return {name: kind[len(FIXED) :].strip() for name, kind in kinds if kind.startswith(FIXED)}


def with_constants(experience: Experience, constants: Mapping[str, str]) -> Experience:
    """The record with values in place of these placeholders, in what its steps act on and what they are given."""
    if not constants:
        return experience

    def fill(text: str) -> str:
        return PLACEHOLDER.sub(lambda match: constants.get(match[0].strip("{}"), match[0]), text)

    steps = tuple(
        step.model_copy(
            update={
                "target_control": step.target_control.model_copy(update={"name": fill(step.target_control.name)}),
                "parameters": {key: _filled(value, fill) for key, value in step.parameters.items()},
                "observation": fill(step.observation),
            }
        )
        for step in experience.action.steps
    )
    slots = {name: kind for name, kind in experience.slots.items() if name not in constants}
    action = experience.action.model_copy(update={"steps": steps, "strategy": fill(experience.action.strategy)})
    return experience.model_copy(update={"action": action, "slots": slots})


def _filled(value: JsonValue, fill: Callable[[str], str]) -> JsonValue:
    if isinstance(value, str):
        return fill(value)
    if isinstance(value, dict):
        return {key: _filled(item, fill) for key, item in value.items()}
    return [_filled(item, fill) for item in value] if isinstance(value, list) else value


def facts(experience: Experience) -> frozenset[str]:
    """The names and values of a record that other runs may agree on, as `fact` writes them."""
    found = set()
    for step in experience.action.steps:
        application = step.application or experience.state.application
        for text in (step.target_control.name, step.observation, *_texts(step.parameters)):
            if text.strip() and not PLACEHOLDER.search(text) and len(text) <= 256:
                found.add(fact(text, application))
    return frozenset(found)


def fact(text: str, application: str | None) -> str:
    """A name or value within an application, in the form in which runs are compared."""
    return f"{application_key(application) or ''}\x1f{plain_text(text)}"


class _Filter:
    """Goes through one record and leaves what may be shown."""

    def __init__(self, experience: Experience, task: str, agreement: Agreement) -> None:
        self._experience, self._agreement = experience, agreement
        state = experience.state
        self._task, self._request = plain_text(task), plain_text(state.request or state.task)
        request = in_own_case(state.request, feature_words(clicked_controls(experience.action.steps)))
        own = " ".join((state.task, request))
        self._values: list[Slot] = find_slots(request or state.task)
        self._old_values = frozenset(plain_text(slot.value) for slot in self._values)
        spoken = f"{task} {_without_values(own)}"
        self._spoken = frozenset(_known_forms(spoken)) - PLAIN
        self._known = self._spoken | frozenset(_known_forms(state.application or ""))
        self._slots = dict(experience.slots)
        used = [int(name.rpartition(":")[2]) for name in self._slots if name.startswith("input:")]
        numbers = [int(number) for number in _INPUT.findall("\n".join(_all_texts(experience)))]
        self._next = 1 + max([*used, *numbers], default=0)
        self._names: dict[tuple[str, str], str] = {}
        self._hidden = 0

    def result(self) -> Shown:
        experience, action, state = self._experience, self._experience.action, self._experience.state
        steps = tuple(self._step(step) for step in action.steps)
        clean = action.model_copy(
            update={
                "strategy": self._label(action.strategy),
                "skill": self._label(action.skill),
                "parameters": self._object(action.parameters, state.application),
                "steps": steps,
                "plan": (),
                "tips": (),
            }
        )
        reason = experience.outcome.failure_reason
        outcome = experience.outcome.model_copy(update={"failure_reason": reason and (self._prose(reason) or None)})
        shown = experience.model_copy(
            update={
                "action": clean,
                "outcome": outcome,
                "preconditions": tuple(filter(None, map(self._prose, experience.preconditions))),
                "avoid_when": tuple(filter(None, map(self._prose, experience.avoid_when))),
                "slots": self._slots,
            }
        )
        why = {**confirms(steps), **confirms(action.steps)}
        return Shown(shown, why, _optional(experience, self._agreement), self._hidden)

    def _step(self, step: Step) -> Step:
        application = step.application or self._experience.state.application
        role = _ROLE.fullmatch((step.target_control.type or "").strip())
        name = self._name(step.target_control.name, step.target_control.type or "", application)
        own, runs = (step.target_control.name, name), runs_commands(step.action_type)
        verb = _VERB.match(step.action_type)
        return step.model_copy(
            update={
                "action_type": verb[0] if verb else "act",
                "target_control": step.target_control.model_copy(
                    update={"name": name, "type": role[0] if role else None, "within": ""}
                ),
                "parameters": self._object(step.parameters, application, own, runs),
                "observation": self._observation(step.observation, application),
                "result": "",
                "error": step.error and (self._prose(step.error) or "failed"),
                "application": self._application(step.application),
                "agent": None,
            }
        )

    def _observation(self, text: str, application: str | None) -> str:
        """What was seen: as it is where other runs saw the same, such as the title of a window."""
        return text if text and self._agreement.agreed(text, application) else self._prose(text)

    def _application(self, name: str | None) -> str | None:
        if not name or name == self._experience.state.application or self._explained(application_key(name)):
            return name
        return name if self._agreement.agreed(name, name) else None

    def _name(self, name: str, role: str, application: str | None) -> str:
        """A control's name, if it is interface; else the slot of what there is to choose."""
        if not name.strip() or not PLACEHOLDER.sub("", name).strip():
            return name
        name = self._with_task_slots(name)
        if self._is_label(name) or self._agreement.agreed(name, application) or _is_caption(name, role):
            return name
        if PLACEHOLDER.search(name):
            return self._around_slots(name)
        return self._slot(name, _words_of_role(role) or "control")

    def _with_task_slots(self, name: str) -> str:
        """A name the recorded request speaks of, with its old values as slots: "Sheet 4" as "Sheet {{input:2}}"."""
        if self._in_task(name) or find_whole(plain_text(name), self._request) < 0:
            return name
        for slot in self._values:
            first = find_whole(slot.value, name) if 0 < len(slot.value) < len(name) else -1
            if first >= 0 and not self._in_task(slot.value):
                name = f"{name[:first]}{self._slot(slot.value, slot.kind)}{name[first + len(slot.value) :]}"
        return name

    def _around_slots(self, name: str) -> str:
        """A name around slots, with "…" for words only its record knows: "{{input:1}}, from Jane" ends in "from …"."""
        parts, end = [], 0
        for match in PLACEHOLDER.finditer(name):
            parts += [self._known_words(name[end : match.start()]), match[0]]
            end = match.end()
        return "".join([*parts, self._known_words(name[end:])])

    def _known_words(self, text: str) -> str:
        kept = [word if self._says_nothing_new(word) else "…" for word in re.split(r"(\s+)", text)]
        return re.sub(r"…(?:\s*…)+", "…", "".join(kept))

    def _is_label(self, name: str) -> bool:
        """True for a name made of known words: by itself, by the task, or half by either where nothing else speaks."""
        if plain_text(name) in WHOLE_NAMES or self._in_task(name):
            return True
        if len(_WORD.findall(name)) > MOST_WORDS or self._has_shape(name) or self._is_old_value(name):
            return False
        return self._explained(name) or self._half_explained(name)

    def _is_plain(self, text: str, key: str) -> bool:
        """True for a few words of interfaces or of the task, in no shape of a value."""
        few = plain(key) not in _OWN_KEYS and len(_WORD.findall(text)) <= MOST_WORDS
        return few and not self._has_shape(text) and not self._is_old_value(text) and self._explained(text)

    def _is_old_value(self, name: str) -> bool:
        """True for what the recorded task named as a value, and the new one does not."""
        return plain_text(name) in self._old_values and not self._in_task(name)

    def _has_shape(self, name: str) -> bool:
        """True when something in a name has the shape of a value that the task does not hold."""
        return any(not self._in_task(piece) for piece in name.split() if _SHAPES.search(piece)) or _is_mixed(name)

    def _explained(self, text: str) -> bool:
        return all(self._is_known(word) for word in words_in(text)) and not _is_mixed(text)

    def _half_explained(self, name: str) -> bool:
        """True when the task speaks of at least half of a name's words, and the others switch nothing."""
        words = [word for word in words_in(name) if word not in PLAIN and not word.isdigit()]
        spoken = [word for word in words if self._is_spoken(word)]
        if not spoken or 2 * len(spoken) < len(words) or _STATES.search(name):
            return False
        if any(grave_kind(word) for word in words if word not in spoken):
            return False
        return len(words) <= 2 or 2 * len(spoken) > len(words)

    def _is_known(self, word: str) -> bool:
        return word.isdigit() or _has(_EVERYWHERE, word) or _has(self._known, word)

    def _is_spoken(self, word: str) -> bool:
        return _has(self._spoken, word)

    def _in_task(self, text: str) -> bool:
        bare = plain_text(text)
        return find_whole(bare, self._task) >= 0

    def _slot(self, text: str, kind: str) -> str:
        """The placeholder of a text that is not shown; the same text has the same one."""
        bare = text.strip()
        if (bare, kind) not in self._names:
            name = f"input:{self._next}"
            self._next += 1
            place = self._from_task(bare)
            self._slots[name] = f"{slot_type(bare)}{place}" if place else kind
            self._names[bare, kind] = "{{" + name + "}}"
        self._hidden += 1
        return self._names[bare, kind]

    def _from_task(self, bare: str) -> str:
        """Which value of the task it was, if it was one: in a new task of the same kind, the same place holds it."""
        for number, slot in enumerate(self._values, start=1):
            if plain_text(slot.value) == plain_text(bare):
                return f" from task slot {number}"
        return ""

    def _object(
        self,
        values: Mapping[str, JsonValue],
        application: str | None,
        own: tuple[str, str] | None = None,
        runs: bool = False,
    ) -> dict[str, JsonValue]:
        """Parameters without values of their own.

        `own` is the control's name as it was and as it is shown; `runs` says that the action runs commands.
        """
        kept: dict[str, JsonValue] = {}
        for key, value in values.items():
            if _KEY.fullmatch(key) or self._agreement.agreed(key, application):
                kept[key] = self._value(value, "command" if runs else key, application, own)
        return kept

    def _value(self, value: JsonValue, key: str, application: str | None, own: tuple[str, str] | None) -> JsonValue:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, dict):
            return self._object(value, application, own)
        if isinstance(value, list):
            return [self._value(item, key, application, own) for item in value]
        if isinstance(value, str):
            return own[1] if own and value == own[0] else self._text(value, key, application)
        known = is_option(key) or abs(value) <= SMALL or self._in_task(str(value))
        return value if known or self._agreement.agreed(str(value), application) else self._slot(str(value), "number")

    def _text(self, text: str, key: str, application: str | None) -> str:
        """A text that was typed, chosen or passed: its placeholders and keys stay, the rest is known or a slot."""
        steering = is_option(key) and plain(text) in _STEERING
        if not text.strip() or steering or self._in_task(text) or is_chord(text, bare=True):
            return text
        if (
            not PLACEHOLDER.sub("", text).strip()
            or self._is_plain(text, key)
            or self._agreement.agreed(text, application)
        ):
            return text
        if PLACEHOLDER.search(text) and is_chord(PLACEHOLDER.sub("", text), bare=True):
            return text
        return self._slot(text, slot_type(text))

    def _label(self, text: str) -> str:
        """The name of a strategy or skill: an identifier, or words that are known."""
        return text if _KEY.fullmatch(text) or (len(text) <= 200 and self._prose(text) == text) else ""

    def _prose(self, text: str) -> str:
        """The sentences of a text that say nothing new; what names something else is left out."""
        if not text:
            return ""
        sentences = [sentence for sentence in _SENTENCE.split(text[:2000]) if sentence.strip()]
        kept = [sentence for sentence in sentences if self._says_nothing_new(sentence)]
        return text if len(kept) == len(sentences) and len(text) <= 2000 else " ".join(kept)

    def _says_nothing_new(self, sentence: str) -> bool:
        bare = PLACEHOLDER.sub(" ", sentence)
        shapes = [piece for piece in bare.split() if _SHAPES.search(piece.strip(".,;:!?"))]
        return self._explained(bare) and all(self._in_task(piece.strip(".,;:!?")) for piece in shapes)


def _is_caption(name: str, role: str) -> bool:
    """True for one plain word on a control that is pressed ("Billing"), unless it names something grave.

    One word gives no order and holds no address. Scripts without letter case are left out: in them a word may be a
    sentence, and nothing in its shape tells.
    """
    cased = name.isalpha() and name.casefold() != name.upper() and len(name) <= _LONGEST_WORD
    return cased and plain(role) in _CAPTIONED and not _is_mixed(name) and grave_kind(name) is None


def _optional(experience: Experience, agreement: Agreement) -> dict[int, tuple[int, int]]:
    """Steps that most runs of the same task did without."""
    found = {}
    for step in experience.action.steps:
        name = step.target_control.name
        if name.strip() and not PLACEHOLDER.search(name):
            did, runs = agreement.share(name, experience)
            if runs >= 3 and 2 * did < runs:
                found[step.step_number] = (did, runs)
    return found


def _without_values(text: str) -> str:
    """The words of a recorded task but for its values: those belong to that run."""
    return " ".join(word for word in mask_slots(text).split() if not word.startswith("<"))


def _words_of_role(role: str) -> str:
    """`ListItem` as "list item"."""
    bare = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", role).casefold()
    return bare if _ROLE.fullmatch(bare) else ""


def _known_forms(text: str) -> Iterator[str]:
    for word in words_in(text):
        yield word
        yield stem(word)
        if len(word) >= 6:
            yield word[:6] + "…"


def _has(known: frozenset[str], word: str) -> bool:
    return word in known or stem(word) in known or (len(word) >= 6 and word[:6] + "…" in known)


def _is_mixed(text: str) -> bool:
    """True when a word mixes scripts, or hides characters: no label does."""
    if text.isascii():
        return False
    if any(unicodedata.category(c) == "Cf" for c in text):
        return True
    return any(len(_scripts(word)) > 1 for word in _WORD.findall(text))


def _scripts(word: str) -> set[str]:
    names = (unicodedata.name(c, "OTHER").split()[0] for c in word if c.isalpha())
    return {name for name in names if name in ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")}


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield str(value)


def _all_texts(experience: Experience) -> Iterable[str]:
    for step in experience.action.steps:
        yield step.target_control.name
        yield step.observation
        yield from _texts(step.parameters)
    yield from _texts(experience.action.parameters)
