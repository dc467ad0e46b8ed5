"""Redact a run or a record: find every value first, then take each out of everything.

What was typed becomes a slot that says what kind of thing it was; a secret becomes one that says nothing. Both models
are gone through in one way, field by field: a field's name says how its text is treated (`_FIELDS`).
"""

import hmac
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, TypeVar

from ufo_experience import schema
from ufo_experience.actions import is_typing
from ufo_experience.redact import typed as fields
from ufo_experience.redact.secrets import find_secrets
from ufo_experience.redact.text import HIDDEN, PLACEHOLDER, one_sentence, readable, redact_text, scrub
from ufo_experience.redact.typed import FIXED, OTHER, SECRET, TYPED, Visit, rewrite_json, rewrite_parameters
from ufo_experience.redact.values import Values
from ufo_experience.schema import MAX_NAME, MAX_TEXT, Experience, Model, Problem, Step, Trajectory, clip, expect

KeepObservations = Literal["none", "short", "full"]
SENTENCE = 120  # characters of what is kept of an observation, a result and an error
LEAST_DIGEST = 6  # characters of a value with a digest: what is shorter is found by trying
_MOST_DIGEST = 64  # characters: a longer one is a text, no constant
_LEAST_ELSEWHERE = 6  # characters of a secret that is looked for in the whole run; shorter ones go where they stand

WISH, LABEL, PROSE, PATH = "wish", "label", "prose", "path"
_FIELDS = {
    # the user's own words and short names: without secrets
    WISH: "task request subtask wordings application applications env phase constraints tags agent type",
    # names of controls: what was typed stays out, but a plain word may be a name
    LABEL: "name within strategy skill action_type",
    # texts about the run: without secrets and without copies of what was typed
    PROSE: "observation result error plan tips failure_reason preconditions avoid_when notes message",
    # paths and keys: their own digits look like a secret
    PATH: "file source source_files session episode_id",
}
_ROLES = {name: role for role, names in _FIELDS.items() for name in names.split()}
_SHORT = frozenset("wordings application applications env phase constraints tags agent type within action_type".split())
_M = TypeVar("_M", bound=Model)
_Piece = tuple[str, str]  # a text and its role


def redact(trajectory: Trajectory, key: bytes | None = None) -> Trajectory:
    """A copy without secrets, typed text, images and URL queries; `slots` says what the placeholders are.

    With the store's `key` a value that may be a constant of the procedure has a keyed digest in `digests`, and its
    clear text in `typed`, which is never written (see `keep_constants`). A run of more than `LONGEST_RUN` steps is
    cut before any work is done, and says so in `problems`. Idempotent: what was redacted is returned as it is.
    """
    trajectory = shortened(expect(Trajectory, trajectory, "trajectory"))
    steps = fields.join_single_keys(trajectory.steps)
    trajectory = trajectory.model_copy(update={"steps": steps})
    cleaner = Cleaner(trajectory, steps, (trajectory.task, trajectory.request), trajectory.sensitive)
    clean = rewrite(trajectory, cleaner.visit, cleaner.hidden)
    typed = cleaner.constants if key else {}
    # With the store's key equal values of two runs are told by this; without it nobody can try values.
    made = {slot: hmac.new(key or b"", readable(one).encode(), "sha256") for slot, one in typed.items()}
    digests = {**trajectory.digests, **{slot: one.hexdigest()[:32] for slot, one in made.items()}}
    typed = {**trajectory.typed, **typed}
    return clean.model_copy(update={"slots": cleaner.slots, "digests": digests, "typed": typed, "sensitive": ()})


def keep_constants(experience: Experience, typed: Mapping[str, str], known: Container[str]) -> Experience:
    """The record with values in clear that earlier runs of the task typed, too: their slots say `= value`.

    `known` are the digests of those runs, which are of other sessions.
    """
    kept = {slot: f"{FIXED}{typed[slot]}" for slot, one in experience.digests.items() if slot in typed and one in known}
    return experience.model_copy(update={"slots": {**experience.slots, **kept}}) if kept else experience


def redact_record(experience: Experience, observations: KeepObservations = "short") -> Experience:
    """A record as a store may keep it, whoever made it and however it came: the gate before every store. Idempotent.

    Of each step one sentence of what was seen is kept (`observations`: "none", "short" or "full"), of its result only
    how the last one ended. A record that is too large loses what was seen, then its last steps; a note says so.
    """
    clean = _clean_record(_with_steps(experience, _brief(experience.action.steps, observations)))
    fitting, steps = clean, clean.action.steps
    most = schema.MAX_RECORD_BYTES * 3 // 4  # the rest is for escapes
    while steps and len(fitting.model_dump_json(exclude_defaults=True)) > most:
        seen = any(step.observation for step in steps)
        steps = _brief(steps, "none") if seen else steps[: len(steps) // 2]
        fitting = _with_steps(clean, steps)
    if fitting is not clean:
        note = f"run:shortened:{len(steps)} of {len(clean.action.steps)} steps"
        provenance = fitting.provenance.model_copy(update={"notes": (*fitting.provenance.notes, note)})
        fitting = fitting.model_copy(update={"provenance": provenance})
    return experience if fitting == experience else fitting


def _with_steps(experience: Experience, steps: tuple[Step, ...]) -> Experience:
    return experience.model_copy(update={"action": experience.action.model_copy(update={"steps": steps})})


def _brief(steps: tuple[Step, ...], observations: KeepObservations) -> tuple[Step, ...]:
    kept = []
    for step in steps:
        seen = {"none": "", "short": one_sentence(step.observation, SENTENCE), "full": step.observation}[observations]
        result = "success" if step.ok else "failed"
        if step.result == schema.NOT_EXECUTED or step is steps[-1]:
            result = one_sentence(step.result, SENTENCE)
        error = step.error and one_sentence(step.error, SENTENCE)
        kept.append(step.model_copy(update={"observation": seen, "result": result, "error": error}))
    return tuple(kept)


def _clean_record(experience: Experience) -> Experience:
    """Without secrets and typed text."""
    state, action = experience.state, experience.action
    steps = fields.join_single_keys(action.steps[: schema.LONGEST_RUN])
    cleaner = Cleaner(experience, steps, (state.request or state.task,))
    clean = rewrite(_with_steps(experience, steps), cleaner.visit, cleaner.hidden)
    slots = {slot: cleaner.visit(kind, LABEL) for slot, kind in list(cleaner.slots.items())}
    return clean.model_copy(update={"slots": slots})


def shortened(trajectory: Trajectory) -> Trajectory:
    """A run of at most `LONGEST_RUN` steps; what was cut is named in its problems."""
    count, most = len(trajectory.steps), schema.LONGEST_RUN
    if count <= most:
        return trajectory
    file = trajectory.source_files[0] if trajectory.source_files else trajectory.session
    told = Problem(file=file, code=schema.SHORTENED, message=f"the run has {count} steps: the first {most} are kept")
    update = {"steps": trajectory.steps[:most], "truncated": True, "problems": (*trajectory.problems, told)}
    return trajectory.model_copy(update=update)


class Cleaner:
    """Knows every value of one run; `hidden` tells which steps type a secret, `slots` what each placeholder is."""

    def __init__(
        self, whole: Trajectory | Experience, steps: Sequence[Step], asked: Sequence[str], sensitive: Sequence[str] = ()
    ) -> None:
        self._steps, self.hidden = steps, fields.secret_fields(steps)
        found = _collected(partial(rewrite, whole))
        texts = list(dict.fromkeys(text for text, role in found if text and role != PATH))
        named = [text for text, role in found if role == SECRET]
        self._values = Values(whole.slots, texts)
        self.slots = self._values.slots
        self._done: dict[tuple[str, str], str] = {}
        self.constants: dict[str, str] = {}  # what may be typed in every run: placeholder and value
        walks = (partial(rewrite_parameters, step, hidden) for step, hidden in zip(steps, self.hidden, strict=True))
        pieces = [[one for one in _collected(walk) if one[1] in (SECRET, TYPED)] for walk in walks]
        self._learn_secrets(texts, (*sensitive, *named), [one for of_step in pieces for one in of_step])
        self._learn_typed(pieces, tuple(self._values.without(text, secrets_only=True) for text in asked))

    def _learn_secrets(self, texts: Sequence[str], sensitive: Sequence[str], pieces: Sequence[_Piece]) -> None:
        """First of all, so that nothing secret becomes a mere input. One typed in parts is one secret, too."""
        runs = ([text for text, _ in run] for role, run in groupby(pieces, key=itemgetter(1)) if role == SECRET)
        known = [(value, "password") for run in runs for value in (*run, "".join(run))]
        known += [(value, "password") for value in sensitive]
        entered = {text.strip() for text, _ in pieces}
        for text in map(readable, texts):
            said = ((text[one.start : one.end], one.kind) for one in find_secrets(text))
            known += [(value, kind) for value, kind in said if len(value) >= _LEAST_ELSEWHERE or value in entered]
        for value, kind in known:
            if value.strip() and not PLACEHOLDER.search(value):
                self._values.add(value, kind, secret=True)

    def _learn_typed(self, pieces: Sequence[Sequence[_Piece]], asked: Sequence[str]) -> None:
        """What was typed, and which of it may be a constant: no login, nothing behind one, and named by no request."""
        after_login = False
        for step, hidden, of_step in zip(self._steps, self.hidden, pieces, strict=True):
            login = fields.names_one_of(step.target_control.name, "login")
            for value in (text.strip() for text, role in of_step if role == TYPED):
                kind = fields.describe(readable(value), asked)
                slot = self._values.add(value, kind, secret=False).strip("{}")
                few = LEAST_DIGEST <= len(value) <= _MOST_DIGEST and value.isprintable() and " from " not in kind
                is_open = slot.startswith("input:") and not (hidden or after_login or login)
                if few and is_open and not find_secrets(f"password: {value}"):
                    self.constants.setdefault(slot, value)
            after_login = is_typing(step.action_type) and login

    def visit(self, text: str, role: str) -> str:
        """One text without the values, by the role of its field."""
        if role in (SECRET, TYPED):
            return self._values.add(text, "password" if role == SECRET else "text", secret=role == SECRET)
        if (text, role) not in self._done:
            label, limit = role in (LABEL, OTHER), None if role == OTHER else MAX_TEXT
            done = self._values.without(readable(text), secrets_only=role in (WISH, PATH), label=label)
            if role != PATH:
                done = scrub(done, partial(self._values.add, secret=True), limit)
            self._done[text, role] = done
        return self._done[text, role]


def _collected(walk: Callable[[Visit], object]) -> list[_Piece]:
    """Every text that a walk visits, with its role."""
    found: list[_Piece] = []

    def note(text: str, role: str) -> str:
        found.append((text, role))
        return text

    walk(note)
    return found


def texts_in(model: Model) -> list[str]:
    """Every text of a model that is redacted: all in which somebody may be named."""
    return [text for text, _ in _collected(partial(rewrite, model))]


def rewrite(model: _M, visit: Visit, hidden: Sequence[bool] = ()) -> _M:
    """A copy of a model with its texts put through `visit(text, role)`; `hidden` tells which steps type a secret."""
    changed: dict[str, Any] = {}
    for name in type(model).model_fields:
        value = getattr(model, name)
        if name == "steps" and value:
            new: Any = tuple(rewrite(step, visit, hidden[at : at + 1]) for at, step in enumerate(value))
        elif name in ("signals", "parameters") and isinstance(value, dict):
            new = (
                rewrite_parameters(model, any(hidden), visit) if isinstance(model, Step) else rewrite_json(value, visit)
            )
        else:
            new = _field(name, value, visit, hidden)
        if new != value:
            changed[name] = new
    return model.model_copy(update=changed) if changed else model


def _field(name: str, value: Any, visit: Visit, hidden: Sequence[bool]) -> Any:
    if isinstance(value, Model):
        return rewrite(value, visit, hidden)
    if isinstance(value, tuple):
        return tuple(_field(name, item, visit, hidden) for item in value)
    if name not in _ROLES or not isinstance(value, str) or not value:
        return value
    return clip(visit(value, _ROLES[name]), MAX_NAME if name in _SHORT else MAX_TEXT)


def redact_json(value: Any, change: Callable[[str], str] = redact_text) -> Any:
    """A copy of a JSON value with its texts changed; a text under a name such as `password` goes whole.

    What a record is made of needs `readable` alone: the record's gate knows where else in it a secret stands.
    """
    return rewrite_json(value, lambda text, role: HIDDEN if role == SECRET else change(text))
