"""The data model: STATE → ACTION → OUTCOME, and what surrounds it.

A `Trajectory` is what a reader found in a log. An `Experience` is what we keep of it. All models are frozen:
change one with `model_copy(update=…)`. Bad values raise `DataError` through `validate`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from enum import Enum
from inspect import isawaitable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
)

from ufo_experience.errors import DataError, UsageError, names_methods, plain_words

SCHEMA_VERSION = 1
UNKNOWN_FIELD = "E_UNKNOWN_FIELD"

# Limits. Readers cut to them (and say so), records that pass them are refused.
MAX_RECORD_BYTES = 256 * 1024
MAX_STEPS = 10_000
LONGEST_RUN = 500  # steps that are kept of a run: nobody follows a longer one
SHORTENED = "E_SHORTENED"
MAX_DEPTH = 64
MAX_TAGS = 64
MAX_SESSIONS = 64
MAX_NAME = 512
MAX_WORDINGS = 8
MAX_TEXT = 8_192


def readable_name(name: Any) -> Any:
    """The name of a file as UTF-8 can hold it: bytes that are none are written as escapes. Other values as they are."""
    if not isinstance(name, str) or name.isascii():
        return name
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _utc(value: datetime) -> datetime:
    """Times are aware and in UTC; a naive time is taken as UTC."""
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)


def _plain_json(value: JsonValue, depth: int = 0) -> JsonValue:
    """Refuse NaN, infinities and nesting deeper than MAX_DEPTH."""
    if depth > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("NaN and infinity are not JSON")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _plain_json(item, depth + 1)
    return value


def leaves_of(value: Any) -> Iterator[Any]:
    """What stands in nested mappings and lists."""
    if isinstance(value, (Mapping, list, tuple)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from leaves_of(item)
    else:
        yield value


def mapped(value: Any, change: Callable[[Any], Any] = lambda leaf: leaf) -> Any:
    """A copy of nested dicts and lists in which everything else is itself, or what `change` makes of it."""
    if isinstance(value, Mapping):
        return {key: mapped(item, change) for key, item in value.items()}
    return [mapped(item, change) for item in value] if isinstance(value, (list, tuple)) else change(value)


Name = Annotated[str, Field(max_length=MAX_NAME)]
Names = dict[Name, Name]
Text = Annotated[str, Field(max_length=MAX_TEXT)]
FileName = Annotated[Text, BeforeValidator(readable_name)]
Unit = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False, strict=True)]
Amount = Annotated[float, Field(ge=0.0, allow_inf_nan=False, strict=True)]
Count = Annotated[int, Field(ge=0, strict=True)]
Prints = Annotated[str, Field(pattern=r"^([0-9a-f]{4}){0,24}$")]
Tags = Annotated[tuple[Name, ...], Field(max_length=MAX_TAGS)]
Wording = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, strip_whitespace=True)]
Lines = Annotated[tuple[Text, ...], Field(max_length=MAX_TAGS)]
JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_plain_json)]
Instant = Annotated[datetime, AfterValidator(_utc)]


class Trust(str, Enum):
    """How far a record may go: `quarantined < observed < verified < approved`."""

    QUARANTINED = "quarantined"
    OBSERVED = "observed"
    VERIFIED = "verified"
    APPROVED = "approved"

    @property
    def rank(self) -> int:
        """0 (quarantined) to 3 (approved)."""
        return _TRUST_ORDER[self]


_TRUST_ORDER: dict[Trust, int] = {level: rank for rank, level in enumerate(Trust)}

EvaluatedBy = Literal["evaluator", "user", "agent", "none"]
Judge = Literal["user", "program", "model"]
_AS_LOGS_SAY = {"person": "user", "llm": "model", "evaluator": "program"}
SaidBy = Annotated[Judge, BeforeValidator(lambda said: _AS_LOGS_SAY.get(said, said) if isinstance(said, str) else said)]
Origin = Literal["log", "api", "import"]
StepStatus = Literal["ok", "failed", "skipped", "not_executed"]

NOT_EXECUTED = "not executed"  # the result of a step that a plan or an answer key names, and nobody carried out
UNKNOWN_TASK = "(the log does not say what the task was)"


class Model(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")


class State(Model):
    """The situation. `task` is the canonical intent, slots abstracted; `request` is the user's words, `wordings` are
    other ways to ask for the same, as a model or a person worded them: the task is found by each of them."""

    task: Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT, strip_whitespace=True)]
    request: Text = ""
    wordings: Annotated[tuple[Wording, ...], Field(max_length=MAX_WORDINGS)] = ()
    application: Name | None = None
    env: Name | None = None
    phase: Name | None = None
    constraints: Tags = ()
    signals: JsonObject = Field(default_factory=dict)
    tags: Tags = ()


class Control(Model):
    """A UI control as the log names it; `type` is its role (Button, Edit, …) where the log has one.

    `within` names the row, group or dialog around it, "" where that is not known. A log of clicks at places names no
    control: then `named_by` says what does, the accessibility tree, the action's own code, or the agent's thought.
    """

    name: Text = ""
    type: Name | None = None
    within: Name = ""
    named_by: Literal["tree", "code", "thought"] | None = None


class Around(Model):
    """What was on the screen around the control of a step, before it, as far as the log tells.

    `before` and `after` are fingerprints (four hex digits each, in reading order) of the application's own controls
    next to it; no names. It was the `place`-th of `equals` controls of its name and type. `dialog` says whether it
    stood in a dialog, `checked` how a switch was set; None where the log does not tell. `value` is the number of the
    value of the request (1 is the first) after which the control before it was called, None for none.
    """

    before: Prints = ""
    after: Prints = ""
    place: Annotated[int, Field(ge=1)] = 1
    equals: Annotated[int, Field(ge=1)] = 1
    dialog: bool | None = None
    checked: bool | None = None
    value: int | None = None


class Seen(Model):
    """Where a text that was typed, and that the request does not name, had stood in view before; the text is not kept.

    It came into view with the step number `after` (0: it was there from the start), in a control of this `type`: as
    all of its text (`whole`), or right `beside` the value of the request of that number (1 is the first; negative
    where the text stood before the value, None where it stood beside none).
    """

    after: Annotated[int, Field(ge=0)] = 0
    type: Name = ""
    whole: bool = False
    beside: int | None = None


class Source(Model):
    """The place in a log a step came from; `line` counts from 1."""

    file: FileName
    line: Count | None = None


class Step(Model):
    """One action of a run. `error` is None when it worked; `result` says so when it was never executed."""

    step_number: Annotated[int, Field(ge=1)]
    observation: Text = ""
    action_type: Name = ""
    target_control: Control = Control()
    parameters: JsonObject = Field(default_factory=dict)
    result: Text = "success"
    error: Text | None = None
    agent: Name | None = None
    application: Name | None = None
    timestamp: Instant | None = None
    cost: Amount | None = None
    source: Source | None = None
    around: Around | None = None
    seen: Seen | None = None

    @property
    def status(self) -> StepStatus:
        """What became of the action; `skipped` and `not_executed` (a step of a plan) were never tried."""
        if self.error is not None:
            return "skipped" if self.error.startswith("skipped") else "failed"
        return "not_executed" if self.result == NOT_EXECUTED else "ok"

    @property
    def ok(self) -> bool:
        """True when the action was executed and nothing failed."""
        return self.status == "ok"

    def __str__(self) -> str:
        """What was done to what, with what: `2. type "To" (Edit) text=Jane`."""
        control = f' "{self.target_control.name}"' if self.target_control.name else ""
        kind = f" ({self.target_control.type})" if self.target_control.type else ""
        values = "".join(f" {name}={value}" for name, value in self.parameters.items())
        return f"{self.step_number}. {self.action_type}{control}{kind}{values}"


class Cut(Model):
    """A step of the run that is no part of the way, and why; it came after so many steps of the way."""

    after: Count
    action: Name
    control: Text = ""
    why: Name


class Action(Model):
    """What the agent chose to do. A UI experience is one whose action holds steps; `cut` are its detours."""

    strategy: Text = ""
    skill: Text = ""
    parameters: JsonObject = Field(default_factory=dict)
    steps: Annotated[tuple[Step, ...], Field(max_length=MAX_STEPS)] = ()
    plan: Lines = ()
    tips: Lines = ()
    cut: Annotated[tuple[Cut, ...], Field(max_length=MAX_STEPS)] = ()


class Outcome(Model):
    """What happened. `success` None means unknown: nobody but the agent itself has judged the run."""

    success: bool | None = Field(strict=True)
    score: Unit | None = None
    latency_ms: Amount | None = None
    cost: Amount | None = None
    tokens: Count | None = None
    failure_reason: Text | None = None
    evaluated_by: EvaluatedBy = "none"
    judge: SaidBy | None = None

    @property
    def is_judged(self) -> bool:
        """True when an evaluator or a user says how the run ended, not the log or the agent alone."""
        return self.success is not None and self.evaluated_by in ("evaluator", "user")

    @property
    def word(self) -> str:
        """How the run ended: "success", "failure" or "unknown"."""
        return {True: "success", False: "failure", None: "unknown"}[self.success]

    @property
    def judged_by(self) -> str:
        """Who judged it ("user", "program", "model"), "nobody" where nobody but the log or the agent did."""
        return (self.judge or self.evaluated_by) if self.is_judged else "nobody"


SUPERSEDES = "supersedes "  # begins the note that names the record before an edit, or before a way was healed


class Provenance(Model):
    """Where a record came from. `session` groups records of one run; `content_hash` is that of the source content."""

    source: FileName = ""
    content_hash: Name = ""
    format: Name = ""
    agent: Name | None = None
    origin: Origin = "api"
    session: Name = ""
    summarizer: Name = ""
    notes: Lines = ()

    @property
    def supersedes(self) -> str | None:
        """The id of the record that this one stands in place of, as its notes name it."""
        found = [note.removeprefix(SUPERSEDES) for note in self.notes if note.startswith(SUPERSEDES)]
        return found[-1] if found else None


class Usage(Model):
    """What became of a record after it was injected; `sessions` are digests of the last ones that were reported.

    `streak` counts how often it helped since it last hurt; while it never hurt, `helped` says that.
    """

    injected: Count = 0
    helped: Count = 0
    hurt: Count = 0
    streak: Count = 0
    last_success: Instant | None = None
    sessions: Annotated[tuple[Name, ...], Field(max_length=MAX_SESSIONS)] = ()


class Verdict(Model):
    """What somebody said later of the outcome of a run; it stands over what the record says."""

    success: Annotated[bool, Field(strict=True)]
    judge: SaidBy = "user"
    score: Unit | None = None
    reason: Text | None = None
    judged_at: Instant

    def over(self, outcome: Outcome) -> Outcome:
        """The outcome of a run after this verdict."""
        said = {"score": self.score, "failure_reason": self.reason}
        given = {name: value for name, value in said.items() if value is not None}
        by = "user" if self.judge == "user" else "evaluator"
        return outcome.model_copy(update={"success": self.success, "evaluated_by": by, "judge": self.judge, **given})


@names_methods
class Experience(Model):
    """One remembered experience. `slots` maps a placeholder in the steps (`input:1`) to the type of its value.

    `digests` holds keyed digests of typed values that the task does not name: a second run of the task that typed the
    same knows a constant of the procedure, whose slot then says `= value` (see `redact.keep_constants`).
    """

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    state: State
    action: Action = Action()
    outcome: Outcome
    salience: Unit = 0.5
    episode_id: Name | None = None
    created_at: Instant
    trust: Trust = Trust.QUARANTINED
    provenance: Provenance = Provenance()
    usage: Usage = Usage()
    slots: Names = Field(default_factory=dict)
    digests: Names = Field(default_factory=dict)
    preconditions: Lines = ()
    avoid_when: Lines = ()
    schema_version: Literal[1] = 1

    @property
    def is_negative(self) -> bool:
        """True for a failed run: shown as "tried and failed", never as a pattern to follow."""
        return self.outcome.success is False


class Problem(Model):
    """Something a reader could not use: never dropped in silence."""

    file: Annotated[str, BeforeValidator(readable_name)]
    line: int | None = None
    code: str
    message: str

    @property
    def place(self) -> str:
        """The file, and the line where it is known."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Visibility(Model):
    """What a log tells of the controls in view, by step numbers; empty where it tells nothing.

    `visible_before` maps a step to the steps before which its control was visible; after the steps in
    `menu_opened_after` a menu was open that had not been there. `page_before` numbers the screens, those with the same
    controls alike, `screen_before` those with the same values and states, too. `held_before` is the value of a step's
    control; `standing_before` maps a step to those before which this very control, in its place, was the only one of
    its name, `showing_before` to those before which it showed what the step sets. The controls of the steps in
    `opening` can be expanded.
    """

    visible_before: dict[int, tuple[int, ...]] = Field(default_factory=dict)
    menu_opened_after: tuple[int, ...] = ()
    page_before: dict[int, int] = Field(default_factory=dict)
    screen_before: dict[int, int] = Field(default_factory=dict)
    held_before: dict[int, str] = Field(default_factory=dict)
    standing_before: dict[int, tuple[int, ...]] = Field(default_factory=dict)
    showing_before: dict[int, tuple[int, ...]] = Field(default_factory=dict)
    opening: tuple[int, ...] = ()


class Trajectory(Model):
    """One run as its log tells it: a sub-task, or (with `subtask` None) the whole request.

    `complete` is False when the log stops before the agent did, `truncated` True when something was cut to a limit.
    `slots` and `digests` (see `Experience`) are filled by redaction; `sensitive` holds values a reader knows to be
    secret, for redaction to remove everywhere, `typed` what redaction took a digest of. None of it is written out, nor
    is what the summarizer uses: `visibility`, and `detours`, the numbers of steps that were not needed, each with why.
    These are found before redaction, which takes out what was typed and what came of a step.
    """

    request: Text
    subtask: Text | None = None
    applications: tuple[Name, ...] = ()
    steps: Annotated[tuple[Step, ...], Field(max_length=MAX_STEPS)] = ()
    plan: Lines = ()
    outcome: Outcome
    format: Name
    agent: Name | None = None
    env: Name | None = None
    session: Name = ""
    started_at: Instant | None = None
    source_files: tuple[FileName, ...] = ()
    complete: bool = True
    truncated: bool = False
    problems: tuple[Problem, ...] = ()
    tips: Lines = ()
    slots: Names = Field(default_factory=dict)
    digests: Names = Field(default_factory=dict, exclude=True)
    typed: dict[str, str] = Field(default_factory=dict, repr=False, exclude=True)
    sensitive: tuple[Text, ...] = Field(default=(), repr=False, exclude=True)
    visibility: Visibility = Field(default_factory=Visibility, repr=False, exclude=True)
    detours: dict[int, str] | None = Field(default=None, repr=False, exclude=True)

    @property
    def task(self) -> str:
        """What this run was for: the sub-task's words, else the request's."""
        return self.subtask or self.request


@names_methods
class Hit(Model):
    """One answer of the retriever. `score` is the estimated probability that it helps, whatever engine ranked it.

    It stands for a procedure: `runs` are the ids of the runs of the same task and ending, this one first.
    """

    experience: Experience
    score: float
    ranked_by: Literal["vector", "structured", "fused"]
    explanation: dict[str, float] = Field(default_factory=dict)
    runs: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Id of the experience."""
        return self.experience.id

    @property
    def task(self) -> str:
        """What it was for, in the user's words."""
        return self.experience.state.request or self.experience.state.task

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was done."""
        return self.experience.action.steps

    def __str__(self) -> str:
        outcome = {True: "worked", False: "failed", None: "outcome unknown"}[self.experience.outcome.success]
        return f"{self.score:.2f} {self.id[:8]} {outcome}: {self.task}"


M = TypeVar("M", bound=BaseModel)


def validate(
    model: type[M], data: Any, *, file: str | None = None, line: int | None = None, json_text: bool = False
) -> M:
    """Build `model` from a mapping (or from JSON text), or raise `DataError` naming the first bad field."""
    try:
        return model.model_validate_json(data) if json_text else model.model_validate(data)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)
        fields = [".".join(map(str, one["loc"])) for one in wrong]
        more = f"; also wrong: {', '.join(fields[1:4])}" if len(wrong) > 1 else ""
        said, field = plain_words(wrong[0]["msg"]), fields[0] or None
        code = UNKNOWN_FIELD if any(one["type"] == "extra_forbidden" for one in wrong) else None
        raise DataError(said + more, file=file, line=line, field=field, code=code) from error


_KINDS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    bool: "True or False",
    datetime: "a datetime",
    Mapping: "a dict of its fields",
    Iterable: "a list",
    (str, Path): "a path",
}


def expect(kind: type | tuple[type, ...], value: Any, name: str) -> Any:
    """`value`, if it is of this kind. Raises `UsageError` naming the argument."""
    if isawaitable(value):
        raise UsageError(f"{name} is not there yet: write await before what gives it")
    if not isinstance(value, kind):
        words = _KINDS.get(kind) or f"of the class {getattr(kind, '__name__', kind)}"
        raise UsageError(f"{name} is {words}, not {value!r:.60}")
    return value


def expect_if_given(kind: type | tuple[type, ...], value: Any, name: str) -> Any:
    """The same where None means that nothing was given."""
    return None if value is None else expect(kind, value, name)


def clip(text: str, limit: int = MAX_TEXT) -> str:
    """Cut `text` to `limit` characters, marking the cut; replaces lone surrogates, which no file can hold."""
    clean = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
