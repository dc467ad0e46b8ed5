"""Redact a run or a record: find every value first, then take each out of everything.

What was typed becomes a slot that says what kind of thing it was; a secret becomes one that says nothing. Both models
are gone through in one way, field by field: a field's name says how its text is treated (`_ROLES`).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from ufo_experience.actions import is_typing
from ufo_experience.redact.names import is_login_name, is_secret_name
from ufo_experience.redact.secrets import find_secrets
from ufo_experience.redact.slot_types import FIXED, describe
from ufo_experience.redact.text import PLACEHOLDER, readable, scrub
from ufo_experience.redact.text import SECRET as HIDDEN
from ufo_experience.redact.typed import OTHER, SECRET, TYPED, join_single_keys, rewrite_parameters, secret_fields
from ufo_experience.redact.values import Values
from ufo_experience.schema import LONGEST_RUN, MAX_NAME, SHORTENED, Experience, Model, Problem, Step, Trajectory, clip

LEAST_DIGEST = 6  # characters of a value with a digest: what is shorter is found by trying
_MOST_DIGEST = 64  # characters: a longer one is a text, no constant
_LEAST_ELSEWHERE = 6  # characters of a secret that is looked for in the whole run; shorter ones go where they stand

WISH, LABEL, PROSE, PATH = "wish", "label", "prose", "path"
_ROLES = {
    # the user's own words and short names: without secrets
    **dict.fromkeys(
        "task request subtask wordings application applications env phase constraints tags agent type".split(), WISH
    ),
    # names of controls: what was typed stays out, but a plain word may be a name
    **dict.fromkeys("name within strategy skill action_type".split(), LABEL),
    # texts about the run: without secrets and without copies of what was typed
    **dict.fromkeys(
        "observation result error plan tips failure_reason preconditions avoid_when notes message".split(), PROSE
    ),
    # paths and keys: their own digits look like a secret
    **dict.fromkeys("file source source_files session episode_id".split(), PATH),
}
_SHORT = frozenset("wordings application applications env phase constraints tags agent type within action_type".split())
_JSON = frozenset({"signals", "parameters"})
_ONE_WORD = 64  # characters: an action's name is one word
_M = TypeVar("_M", bound=Model)
_Visit = Callable[[str, str], str]
_Piece = tuple[str, str]  # a text and its role


def redact(trajectory: Trajectory, key: bytes | None = None) -> Trajectory:
    """A copy without secrets, typed text, images and URL queries; `slots` says what the placeholders are.

    With the store's `key` a value that may be a constant of the procedure has a keyed digest in `digests`, and its
    clear text in `typed`, which is never written (see `keep_constants`). A run of more than `LONGEST_RUN` steps is
    cut before any work is done, and says so in `problems`. Idempotent: what was redacted is returned as it is.
    """
    trajectory = shortened(trajectory)
    steps = join_single_keys(trajectory.steps)
    trajectory = trajectory.model_copy(update={"steps": steps})
    cleaner = Cleaner(trajectory, steps, trajectory.slots, (trajectory.task, trajectory.request), trajectory.sensitive)
    clean = cleaner.clean(trajectory)
    typed = dict(cleaner.constants()) if key else {}
    digests = {slot: digest(value, key or b"") for slot, value in typed.items()}
    return clean.model_copy(
        update={
            "slots": cleaner.slots,
            "digests": {**trajectory.digests, **digests},
            "typed": {**trajectory.typed, **typed},
            "sensitive": (),
        }
    )


def digest(value: str, key: bytes) -> str:
    """What tells equal typed values of two runs, to whom has the store's key; nobody else can try values."""
    return hmac.new(key, readable(value.strip()).encode(), "sha256").hexdigest()[:32]


def keep_constants(experience: Experience, typed: Mapping[str, str], known: Container[str]) -> Experience:
    """The record with values in clear that earlier runs of the task typed, too: their slots say `= value`.

    `known` are the digests of those runs, which are of other sessions.
    """
    kept = {slot: f"{FIXED}{typed[slot]}" for slot, one in experience.digests.items() if slot in typed and one in known}
    return experience.model_copy(update={"slots": {**experience.slots, **kept}}) if kept else experience


def redact_record(experience: Experience) -> Experience:
    """A record without secrets and typed text, whoever made it. Idempotent; a clean one is returned itself."""
    state, action = experience.state, experience.action
    steps = join_single_keys(action.steps[:LONGEST_RUN])
    named = tuple(value for part in (state.signals, action.parameters) for value in _named_secrets(part))
    cleaner = Cleaner(experience, steps, experience.slots, (state.request or state.task,), named)
    clean = cleaner.clean(experience.model_copy(update={"action": action.model_copy(update={"steps": steps})}))
    slots = {slot: cleaner.visit(kind, LABEL) for slot, kind in cleaner.slots.items()}
    clean = clean.model_copy(update={"slots": slots})
    return experience if clean == experience else clean


def shortened(trajectory: Trajectory) -> Trajectory:
    """A run of at most `LONGEST_RUN` steps; what was cut is named in its problems."""
    count = len(trajectory.steps)
    if count <= LONGEST_RUN:
        return trajectory
    file = trajectory.source_files[0] if trajectory.source_files else trajectory.session
    told = Problem(file=file, code=SHORTENED, message=f"the run has {count} steps: the first {LONGEST_RUN} are kept")
    update = {"steps": trajectory.steps[:LONGEST_RUN], "truncated": True, "problems": (*trajectory.problems, told)}
    return trajectory.model_copy(update=update)


class Cleaner:
    """Knows every value of one run, and writes the copy without them."""

    def __init__(
        self, whole: Model, steps: Sequence[Step], slots: dict[str, str], asked: Sequence[str], sensitive: Sequence[str]
    ) -> None:
        self._steps, self._hidden = steps, secret_fields(steps)
        texts = list(dict.fromkeys(texts_in(whole)))
        self._values = Values(slots, texts)
        self._done: dict[tuple[str, str], str] = {}
        self._typed: dict[str, str] = {}
        pieces = [_pieces(step, hidden) for step, hidden in zip(steps, self._hidden, strict=True)]
        self._learn_secrets(texts, sensitive, [one for of_step in pieces for one in of_step])
        self._learn_typed(pieces, tuple(self._values.without(text, secrets_only=True) for text in asked))

    def _learn_secrets(self, texts: Sequence[str], sensitive: Sequence[str], pieces: Sequence[_Piece]) -> None:
        """First of all, so that nothing secret becomes a mere input. One typed in parts is one secret, too."""
        runs = ([text for text, _ in run] for role, run in groupby(pieces, key=itemgetter(1)) if role == SECRET)
        known = [value for run in runs for value in (*run, "".join(run))]
        for value in (*sensitive, *known):
            if value.strip() and not PLACEHOLDER.search(value):
                self._values.add(value, "password", secret=True)
        entered = {text.strip() for text, _ in pieces}
        for text in map(readable, texts):
            for one in find_secrets(text):
                value = text[one.start : one.end]
                if (len(value) >= _LEAST_ELSEWHERE or value in entered) and not PLACEHOLDER.search(value):
                    self._values.add(value, one.kind, secret=True)

    def _learn_typed(self, pieces: Sequence[Sequence[_Piece]], asked: Sequence[str]) -> None:
        """What was typed, and which of it may be a constant: neither a login nor what follows one."""
        after_login = False
        for step, hidden, of_step in zip(self._steps, self._hidden, pieces, strict=True):
            login = is_login_name(step.target_control.name)
            for text in (text for text, role in of_step if role == TYPED):
                slot = self._values.add(text, describe(readable(text.strip()), asked), secret=False).strip("{}")
                if slot.startswith("input:") and not (hidden or after_login or login):
                    self._typed.setdefault(slot, text.strip())
            after_login = is_typing(step.action_type) and login

    @property
    def slots(self) -> dict[str, str]:
        """What each placeholder is."""
        return dict(self._values.slots)

    def constants(self) -> Iterator[tuple[str, str]]:
        """What was typed, is named by no request and may be typed in every run: placeholder and value."""
        for slot, value in self._typed.items():
            few = LEAST_DIGEST <= len(value) <= _MOST_DIGEST and value.isprintable()
            if few and " from " not in self._values.slots[slot] and not find_secrets(f"password: {value}"):
                yield slot, value

    def clean(self, model: _M) -> _M:
        """The model without the values."""
        return rewrite(model, self.visit, self._hidden)

    def visit(self, text: str, role: str) -> str:
        """One text without the values, by the role of its field."""
        if role == SECRET:
            return self._values.add(text, "password", secret=True)
        if role == TYPED:
            return self._values.add(text, "text", secret=False)
        done = self._done.get((text, role))
        if done is None:
            done = self._done[text, role] = self._cleaned(text, role)
        return done

    def _cleaned(self, text: str, role: str) -> str:
        text = self._values.without(readable(text), secrets_only=role in (WISH, PATH), label=role in (LABEL, OTHER))
        if role == PATH:
            return text
        return scrub(
            text, lambda value, kind: self._values.add(value, kind, secret=True), None if role == OTHER else 8192
        )


def _pieces(step: Step, hidden: bool) -> list[_Piece]:
    """The typed and secret texts of a step, each with its role."""
    pieces: list[_Piece] = []

    def note(text: str, role: str) -> str:
        if role in (SECRET, TYPED):
            pieces.append((text, role))
        return text

    rewrite_parameters(step, hidden, note)
    return pieces


def texts_in(model: Model) -> Iterator[str]:
    """Every text of a model that may hold a value, parameters included."""
    found: list[str] = []

    def note(text: str, role: str) -> str:
        if text and role != PATH:
            found.append(text)
        return text

    rewrite(model, note, None)
    return iter(found)


def rewrite(model: _M, visit: _Visit, hidden: Sequence[bool] | None) -> _M:
    """A copy of a model with its texts put through `visit(text, role)`; `hidden` tells which steps type a secret."""
    changed: dict[str, Any] = {}
    for name in type(model).model_fields:
        value = getattr(model, name)
        if name == "steps" and value:
            flags = hidden or [False] * len(value)
            new: Any = tuple(_step(step, visit, flag) for step, flag in zip(value, flags, strict=True))
        elif name in _JSON and isinstance(value, dict) and not isinstance(model, Step):
            new = _json(value, visit)
        else:
            new = _field(name, value, visit, hidden)
        if new is not value:
            changed[name] = new
    return model.model_copy(update=changed) if changed else model


def _field(name: str, value: Any, visit: _Visit, hidden: Sequence[bool] | None) -> Any:
    role = _ROLES.get(name)
    if isinstance(value, Model):
        return rewrite(value, visit, hidden)
    if isinstance(value, tuple):
        return tuple(_field(name, item, visit, hidden) for item in value)
    if role is None or not isinstance(value, str) or not value:
        return value
    if name == "action_type" and value.isidentifier() and len(value) <= _ONE_WORD:
        return value
    return clip(visit(value, role), MAX_NAME) if name in _SHORT else visit(value, role)


def _step(step: Step, visit: _Visit, hidden: bool) -> Step:
    clean = rewrite(step, visit, None)
    parameters = rewrite_parameters(step, hidden, visit)
    return clean if parameters == step.parameters else clean.model_copy(update={"parameters": parameters})


def _json(value: Any, visit: _Visit, *, secret: bool = False) -> Any:
    """A JSON value with every text redacted; a text under a name such as `password` goes whole."""
    if isinstance(value, dict):
        return {visit(key, OTHER): _json(item, visit, secret=is_secret_name(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item, visit, secret=secret) for item in value]
    if not isinstance(value, str) or not value:
        return value
    return visit(value, SECRET if secret and not PLACEHOLDER.fullmatch(value) and value != HIDDEN else OTHER)


def _named_secrets(value: Any, *, secret: bool = False) -> Iterator[str]:
    """The texts below a name such as `password`."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _named_secrets(item, secret=is_secret_name(key))
    elif isinstance(value, list):
        for item in value:
            yield from _named_secrets(item, secret=secret)
    elif secret and isinstance(value, str) and value:
        yield value
