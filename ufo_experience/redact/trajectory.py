"""Redact one trajectory: find every value first, then take each out of everything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar

from ufo_experience.actions import clicked_controls
from ufo_experience.redact import keystrokes
from ufo_experience.redact.checksums import is_stand_in
from ufo_experience.redact.fields import Field, fields_of
from ufo_experience.redact.nouns import find_nouns
from ufo_experience.redact.parameters import SECRET, TYPED, is_placeholder, rewrite_parameters, strings_in
from ufo_experience.redact.sealing import constants_typed, seal
from ufo_experience.redact.secrets import find_secrets
from ufo_experience.redact.text import PLACEHOLDER, scrub
from ufo_experience.redact.vault import TaskValues, Vault
from ufo_experience.schema import MAX_NAME, MAX_TEXT, Control, Model, Step, Trajectory, clip
from ufo_experience.text.own_case import feature_words, in_own_case
from ufo_experience.text.slots import find_slots, find_whole

# Shorter ones are removed where they were found, not everywhere: a PIN in a sentence, the single keys of a password.
_LEAST = 6
_ENTRIES = frozenset({"PASSWORD", "CODE", "ENTRY", "LOCK"})
_LEAST_SENSITIVE = 3
_MOST_PARTS = 8  # in which one secret is typed
_M = TypeVar("_M", bound=Model)
_Pieces = list[tuple[str, str]]  # what was typed in a step, each with its role


def redact(trajectory: Trajectory) -> Trajectory:
    """Return a copy without secrets, typed text, images and URL queries; `slots` says what the placeholders are.

    Idempotent and deterministic. The same value has the same placeholder throughout.
    """
    joined, fields, cleaner = prepare(trajectory, run=run_of(trajectory.session, trajectory.request))
    return cleaner.clean(joined, fields)


def run_of(session: str, request: str) -> str:
    """What tells the run of a seal from another: its session and what was asked."""
    return f"{session}\x1f{request.strip().casefold()}"


def prepare(trajectory: Trajectory, also: Sequence[str] = (), *, run: str) -> tuple[Trajectory, list[Field], Cleaner]:
    """Find every value of a trajectory and of the texts that belong to it; returns what takes them out.

    Returned are the trajectory with the keys of one text joined, where each of its steps types, and the cleaner. `run`
    names the run in the seals of what it typed (see `sealing`).
    """
    lets_in = _lets_in(trajectory)
    boxes = keystrokes.boxes_of(trajectory.steps) if lets_in else frozenset()
    steps = keystrokes.join_steps(trajectory.steps, lets_in=lets_in)
    trajectory = trajectory.model_copy(update={"steps": steps})
    fields = fields_of(steps)
    for step, field in zip(steps, fields, strict=True):
        field.secret = field.secret or step.step_number in boxes
    texts = [text for text in dict.fromkeys([*_texts(trajectory), *also]) if text]
    vault = Vault(trajectory.slots, texts)
    pieces = [_typed_pieces(step, field) for step, field in zip(steps, fields, strict=True)]
    _collect(trajectory, pieces, vault, texts)
    seals = dict(_seals(trajectory, fields, pieces, vault, run))
    return trajectory, fields, Cleaner(vault, _labels(trajectory, pieces), {**trajectory.sealed, **seals})


def _lets_in(trajectory: Trajectory) -> bool:
    """True where a run or one of its screens speaks of a code, a password or of what is locked."""
    boxes = keystrokes.boxes_of(trajectory.steps)
    if not boxes and not keystrokes.has_pad(trajectory.steps):
        return False
    entries = _ENTRIES | {"SOME_CODE"} if boxes else _ENTRIES
    named = (trajectory.request, trajectory.subtask or "", *trajectory.applications)
    seen = (part for step in trajectory.steps for part in (step.target_control.within, step.observation))
    wanted = any(not entries.isdisjoint(noun.lists) for text in named for noun in find_nouns(text))
    return wanted or any("CODE" in noun.lists for text in seen for noun in find_nouns(text))


def _seals(
    trajectory: Trajectory, fields: list[Field], pieces: Sequence[_Pieces], vault: Vault, run: str
) -> Iterator[tuple[str, str]]:
    """What was typed and is named neither by the task nor by the request: placeholder → seal."""
    for place in constants_typed(trajectory.steps, fields):
        for value, role in pieces[place]:
            slot = vault.add_input(value, "text").strip("{}") if role == TYPED else ""
            if slot.startswith("input:") and " from " not in vault.slots[slot] and (sealed := seal(value, run)):
                yield slot, sealed


def _labels(trajectory: Trajectory, pieces: Sequence[_Pieces]) -> frozenset[str]:
    """Names of controls that were there before the same words were typed: they belong to the application."""
    typed: dict[str, int] = {}
    for step, of_step in zip(trajectory.steps, pieces, strict=True):
        for value, role in of_step:
            if role == TYPED:
                typed.setdefault(value.strip(), step.step_number)
    named = ((step.target_control.name, step.step_number) for step in trajectory.steps)
    return frozenset(name for name, number in named if number < typed.get(name.strip(), 0))


def _collect(trajectory: Trajectory, pieces: Sequence[_Pieces], vault: Vault, texts: Iterable[str]) -> None:
    """Put every value into the vault: secrets first, so that nothing secret becomes a mere input."""
    leaves = [leaf for of_step in pieces for leaf in of_step]
    secrets = [value for value, role in leaves if role == SECRET]
    for value in [*secrets, *_pieces_of(trajectory.sensitive), *_typed_in_parts(leaves)]:
        vault.add_secret(value, "password")
    typed = [value for value, role in leaves if role == TYPED]
    entered = {value.strip() for value in typed}
    for text in texts:
        for finding in find_secrets(text):
            value = text[finding.start : finding.end]
            if (len(value) >= _LEAST or value in entered) and not PLACEHOLDER.search(value):
                vault.add_secret(value, finding.kind)
    _collect_inputs(typed, trajectory, vault)
    vault.learn(texts)


def _collect_inputs(values: list[str], trajectory: Trajectory, vault: Vault) -> None:
    task, request = (Cleaner(vault, frozenset(), {}).wish(text) for text in (trajectory.task, trajectory.request))
    named = TaskValues(task, request)
    # A control that is named after a value of the task (a message, a file) has another name in the next task.
    # That of a feature has not.
    own = in_own_case(task, feature_words(clicked_controls(trajectory.steps)))
    values_in_own = {slot.value.casefold() for slot in find_slots(PLACEHOLDER.sub("<secret>", own))}
    chosen = [
        value
        for value in named.values
        if value.casefold() in values_in_own
        and any(_is_named_after(one.target_control, value) for one in trajectory.steps)
    ]
    for value in [*values, *chosen]:
        vault.add_input(value, named.describe(value.strip()))


def _is_named_after(control: Control, value: str) -> bool:
    return _holds(control.name, value) or _holds(control.within, value)


def _holds(name: str, value: str) -> bool:
    """True when a control's name holds a value of more than one plain word: those could name any control."""
    return not value.isalpha() and bool(value) and find_whole(value, name) >= 0


def _typed_in_parts(leaves: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Secrets that were typed one part after the other, put together."""
    for is_secret, run in groupby(leaves, key=lambda leaf: leaf[1] == SECRET):
        parts = [value for value, _ in run if not is_stand_in(value)][:_MOST_PARTS]
        if is_secret:
            for start in range(len(parts)):
                for end in range(start + 2, len(parts) + 1):
                    whole = "".join(parts[start:end])
                    if not PLACEHOLDER.search(whole):
                        yield whole


def _pieces_of(sensitive: tuple[str, ...]) -> Iterator[str]:
    """The texts a reader marked as secret, without the keys pressed around them."""
    for value in sensitive:
        for piece, is_text in keystrokes.split_keys(keystrokes.join_braces(value)):
            if is_text and len(piece.strip()) >= _LEAST_SENSITIVE and not is_placeholder(piece):
                yield piece


def _typed_pieces(step: Step, field: Field) -> _Pieces:
    """The values in a step's parameters that are secret or typed, each with its role."""
    pieces: _Pieces = []

    def note(text: str, role: str) -> str:
        if role in (SECRET, TYPED):
            pieces.append((text, role))
        return text

    rewrite_parameters(step, field, note)
    return pieces


_ONE_WORD = re.compile(r"[\w.-]{0,64}")


class Cleaner:
    """Writes the clean copy. Every text passes: images and URLs, known values, then shapes."""

    def __init__(self, vault: Vault, labels: frozenset[str], sealed: Mapping[str, str]) -> None:
        self._vault = vault
        self._labels = labels
        self.sealed = dict(sealed)
        self._replace: dict[str, Callable[[str], str]] = {
            "secrets": vault.without_secrets,
            "phrases": vault.without_phrases,
            "all": vault.without_values,
        }
        self._done: dict[str, dict[str, str]] = {scope: {} for scope in self._replace}

    def clean(self, trajectory: Trajectory, fields: list[Field]) -> Trajectory:
        """The clean copy of a trajectory that `prepare` returned."""
        steps = tuple(self._step(step, field) for step, field in zip(trajectory.steps, fields, strict=True))
        outcome = trajectory.outcome
        reason = None if outcome.failure_reason is None else self.prose(outcome.failure_reason)
        problems = tuple(p.model_copy(update={"message": self.prose(p.message)}) for p in trajectory.problems)
        update = {
            "request": self.wish(trajectory.request),
            "subtask": None if trajectory.subtask is None else self.wish(trajectory.subtask),
            "applications": tuple(self.name(name) for name in trajectory.applications),
            "steps": steps,
            "plan": tuple(self.prose(line) for line in trajectory.plan),
            "tips": tuple(self.prose(line) for line in trajectory.tips),
            "outcome": outcome.model_copy(update={"failure_reason": reason}),
            "agent": None if trajectory.agent is None else self.name(trajectory.agent),
            "env": None if trajectory.env is None else self.name(trajectory.env),
            "session": self.known(trajectory.session),
            "source_files": tuple(self._vault.without_secrets(file) for file in trajectory.source_files),
            "problems": problems,
            "sensitive": (),
        }
        return trajectory.model_copy(update={**update, "slots": dict(self._vault.slots), "sealed": self.sealed})

    def _step(self, step: Step, field: Field) -> Step:
        control, source = step.target_control, step.source
        return changed(
            step,
            action_type=clip(self._verb(step.action_type), MAX_NAME),
            observation=self.prose(step.observation),
            target_control=changed(
                control,
                name=self._text(control.name, "secrets") if control.name in self._labels else self.phrase(control.name),
                type=None if control.type is None else self.name(control.type),
                within=clip(self.phrase(control.within), MAX_NAME),
            ),
            parameters=rewrite_parameters(step, field, self._parameter),
            result=self.prose(step.result),
            error=None if step.error is None else self.prose(step.error),
            application=None if step.application is None else self.name(step.application),
            agent=None if step.agent is None else self.name(step.agent),
            source=source and changed(source, file=self._vault.without_secrets(source.file)),
        )

    def _parameter(self, text: str, role: str) -> str:
        if role == SECRET:
            return self._vault.add_secret(text, "password")
        if role == TYPED:
            return self._vault.add_input(text, "text")
        return self.value(text)

    def wish(self, text: str) -> str:
        """The user's words stay as they are, but for secrets."""
        return self._text(text, "secrets")

    @property
    def slots(self) -> dict[str, str]:
        """What the placeholders are that were given so far."""
        return dict(self._vault.slots)

    def name(self, text: str) -> str:
        """A short text, such as the name of an application, without secrets."""
        return self._text(text, "secrets", MAX_NAME)

    def prose(self, text: str) -> str:
        """A text about the run, without secrets and without copies of what was typed."""
        return self._text(text, "all")

    def phrase(self, text: str) -> str:
        """A label: as `prose`, but a plain word that was typed somewhere may stand in it."""
        return self._text(text, "phrases")

    def value(self, text: str) -> str:
        """A text in JSON data: as `phrase`, of any length."""
        return self._text(text, "phrases", None)

    def _verb(self, text: str) -> str:
        """A verb is one word; what has more is a text."""
        return self.known(text) if _ONE_WORD.fullmatch(text) else self.phrase(text)

    def known(self, text: str) -> str:
        """A path or key, without the secrets found elsewhere: its own digits look like one."""
        return self._vault.without_secrets(text)

    def secret(self, text: str) -> str:
        """The placeholder of a secret."""
        return self._vault.add_secret(text, "password")

    def _text(self, text: str, scope: str, limit: int | None = MAX_TEXT) -> str:
        done = self._done[scope]
        clean = done.get(text)
        if clean is None:
            clean = done[text] = scrub(self._replace[scope](text), self._vault.add_secret)
        return clean if limit is None or len(clean) <= limit else clip(clean, limit)


def changed(model: _M, **values: Any) -> _M:
    """A copy of a model with other values; the model itself where it has them all."""
    update = {name: value for name, value in values.items() if value != getattr(model, name)}
    return model.model_copy(update=update) if update else model


def _texts(trajectory: Trajectory) -> Iterator[str]:
    """Every text of a trajectory that may hold a value."""
    yield from (
        trajectory.request,
        trajectory.subtask or "",
        *trajectory.applications,
        *trajectory.plan,
        *trajectory.tips,
    )
    yield from (trajectory.outcome.failure_reason or "", *(problem.message for problem in trajectory.problems))
    for step in trajectory.steps:
        control = step.target_control
        yield from (step.observation, control.name, control.within, step.result, step.error or "")
        yield from strings_in(step.parameters)
