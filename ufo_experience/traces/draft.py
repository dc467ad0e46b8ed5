"""A trajectory being put together: every reader hands in raw values, the limits of the schema are kept here."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypedDict

from ufo_experience import schema
from ufo_experience.actions import is_blind
from ufo_experience.controls import ListedControl, in_view, visibility, with_seen
from ufo_experience.ids import content_hash
from ufo_experience.redact.typed import is_secret_name
from ufo_experience.schema import Around, Control, Outcome, Problem, Source, Step, Trajectory, clip, validate
from ufo_experience.traces.lines import problem
from ufo_experience.traces.naming import Named, english_role
from ufo_experience.traces.values import KEEP, as_amount, as_host, as_name, as_text, as_time, short_object

NO_TASK = "E_NO_TASK"  # the problem of a log that does not say what the task was

_TYPED = ("text", "keys", "value", "content", "keyboard_text", "typed")


class Draft:
    """Collects the steps of one trajectory. Texts too long are cut, steps past the limit left out, both remembered.

    A run is known by `name` (of its file, its folder or its session), its `number` in there, and eight digits of
    what it `starts_with`: the same log read again is the same run. A `session` that is known is given instead.
    """

    def __init__(
        self, path: Path, *, format: str, request: Any = None, number: int = 1, starts_with: Any = None,
        session: str | None = None, subtask: Any = None,
    ) -> None:  # fmt: skip
        self.path, self.format, self.request, self.subtask = path, format, request, subtask
        self.name, self.number, self.starts_with, self.session = path.stem, number, starts_with, session
        self.cut = False
        self.left_out = 0  # steps behind the longest run that is kept
        self.applications: dict[str, None] = {}
        self.steps: list[Step] = []
        self.screens: list[Sequence[ListedControl]] = []
        self.sensitive: dict[str, None] = {}
        self.site: str | None = None

    def application(self, name: Any) -> None:
        """Note an application the run used; an empty name is ignored."""
        if text := self._name(name):
            self.applications[text] = None

    def on_site(self, address: Any = None) -> str | None:
        """The site the run is on: that of this address, if it is one, else of the last."""
        self.site = as_host(address) or self.site
        return self.site

    def step(
        self, action_type: Any, *, control: Any = None, control_type: Any = None, within: Any = None,
        parameters: Any = None, observation: Any = None, result: Any = None, error: str | None = None,
        agent: Any = None, application: Any = None, timestamp: Any = None, cost: Any = None, line: int | None = None,
        secret: bool = False, mentioned: Named | None = None, around: Around | None = None,
        screen: Sequence[ListedControl] = (),
    ) -> None:  # fmt: skip
        """Add one executed or attempted action. Without a result text the step says "success", or "failed".

        `mentioned` is how the tree, the code or the thought beside it name a control the step does not name itself;
        `screen` are the controls in view before it; `within` and `around` tell the place of its control.
        """
        if len(self.steps) >= schema.LONGEST_RUN:
            self.left_out += 1
            return
        self.application(application)
        arguments = self._parameters(short_object(parameters))
        secret = secret or is_secret_name(f"{as_name(control)} {as_name(control_type)}")
        for key, value in arguments.items():
            if isinstance(value, str) and value and (is_secret_name(key) or (secret and key in _TYPED)):
                self.sensitive[value[:KEEP]] = None
        name, role, place = self._text(as_name(control)), self._name(control_type), self._name(within) or ""
        target = Control(name=name, type=role, within=place)
        values = {
            "step_number": len(self.steps) + 1,
            "observation": self._text(observation),
            "action_type": self._name(action_type) or "unknown",
            "target_control": target,
            "parameters": arguments,
            "result": self._text(result) or ("success" if error is None else "failed"),
            "error": None if error is None else self._text(error) or "failed",
            "agent": self._name(agent),
            "application": self._name(application),
            "timestamp": as_time(timestamp),
            "cost": as_amount(cost),
            "source": Source(file=self.path.name, line=line),
            "around": around,
        }
        step = validate(Step, values, file=str(self.path), line=line)
        if mentioned and is_blind(step) and mentioned.name not in arguments.values():
            kind = self._name(english_role(mentioned.role))
            named = Control(name=self._text(mentioned.name), type=kind, within=place, named_by=mentioned.by)
            step = step.model_copy(update={"target_control": named})
        self.steps.append(step)
        self.screens.append(screen)

    def finish(
        self, *, success: bool | None = None, evaluated_by: str = "none", judge: str | None = None, score: Any = None,
        failure_reason: Any = None, cost: Any = None, latency_ms: Any = None, tokens: int | None = None,
        plan: Iterable[str] = (), tips: Iterable[str] = (), agent: Any = None, env: Any = None, started_at: Any = None,
        sources: Iterable[Path] = (), complete: bool = True, problems: Iterable[Problem] = (),
    ) -> Trajectory:  # fmt: skip
        """Close the trajectory with its outcome. A run whose task is unknown gets a request that says so."""
        share, noted = as_amount(score), [*problems]
        costs = [step.cost for step in self.steps if step.cost is not None]
        if self.left_out:
            told = f"the run has {schema.LONGEST_RUN + self.left_out} steps: the first {schema.LONGEST_RUN} are kept"
            noted.append(problem(self.path, schema.SHORTENED, told))
        outcome = {
            "success": success,
            "score": share if share is not None and share <= 1 else None,
            "latency_ms": as_amount(latency_ms),
            "cost": as_amount(sum(costs) if cost is None and costs else cost),
            "tokens": tokens if tokens is not None and tokens >= 0 else None,
            "failure_reason": self._text(failure_reason) or None,
            "evaluated_by": evaluated_by,
            "judge": judge,
        }
        views = [*map(in_view, self.screens)]
        subtask, session = self._text(self.subtask) or None, self.session
        request = self._text(self.request) or subtask or ""
        if session is None:
            session = f"{clip(self.name, schema.MAX_NAME - 40)}#{self.number}-{content_hash(self.starts_with)[:8]}"
        values = {
            "request": request or schema.UNKNOWN_TASK,
            "subtask": subtask,
            "applications": tuple(self.applications),
            "steps": with_seen(self.steps, views, subtask or request, self.screens),
            "plan": self._lines(plan),
            "outcome": validate(Outcome, outcome, file=str(self.path)),
            "format": self.format,
            "agent": self._name(agent),
            "env": self._name(env),
            "session": schema.readable_name(session),
            "started_at": as_time(started_at),
            "source_files": tuple(clip(schema.readable_name(str(source))) for source in (self.path, *sources)),
            "complete": complete,
            "problems": tuple(noted),
            "tips": self._lines(tips),
            "sensitive": tuple(self.sensitive),
            "visibility": visibility(self.steps, views, self.screens),
            "truncated": self.cut or self.left_out > 0,
        }
        return validate(Trajectory, values, file=str(self.path))

    def _text(self, value: Any, limit: int = schema.MAX_TEXT) -> str:
        text = as_text(value)
        self.cut = self.cut or len(text) > limit
        return clip(text, limit)

    def _name(self, value: Any) -> str | None:
        return self._text(as_name(value), schema.MAX_NAME) or None

    def _lines(self, lines: Iterable[str]) -> tuple[str, ...]:
        found = [self._text(line) for line in lines]
        self.cut = self.cut or len(found) > schema.MAX_TAGS
        return tuple(found[: schema.MAX_TAGS])

    def _parameters(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._text(key, schema.MAX_NAME): self._parameters(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._parameters(item) for item in value]
        return self._text(value) if isinstance(value, str) else value


class LogGaps(TypedDict, total=False):
    """What a person says of logs that do not say it themselves. What a log says stands."""

    task: str | None
    application: str | None
    success: bool | None


def still_missing(problems: Iterable[Problem], gaps: LogGaps) -> list[Problem]:
    """The problems of logs that are left with what a person says."""
    return [one for one in problems if not (gaps.get("task") and one.code == NO_TASK)]


def filled(trajectory: Trajectory, gaps: LogGaps) -> Trajectory:
    """A copy with what the log lacks. What a log says of its end is no judgement; a person who says the same judges."""
    update: dict[str, Any] = {}
    task, application, success = gaps.get("task"), gaps.get("application"), gaps.get("success")
    if task and trajectory.request == schema.UNKNOWN_TASK:
        update |= {"request": clip(task), "problems": tuple(still_missing(trajectory.problems, gaps))}
    if application and not trajectory.applications:
        name = clip(application, schema.MAX_NAME)
        steps = tuple(step.model_copy(update={"application": name}) for step in trajectory.steps)
        update |= {"applications": (name,), "steps": steps}
    outcome = trajectory.outcome
    if success is not None and not outcome.is_judged and outcome.success in (None, success):
        update["outcome"] = outcome.model_copy(update={"success": success, "evaluated_by": "user", "judge": "user"})
    return trajectory.model_copy(update=update) if update else trajectory
