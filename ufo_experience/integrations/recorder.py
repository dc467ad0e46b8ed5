"""One class for every agent loop: ask before a run, note each step, learn when it is over.

    recorder = Recorder(memory, logs="agent_logs")
    start = recorder.start("Email Jane about the call", application="Outlook")  # start.block: before the task
    recorder.step("click", "New Email", control_type="Button")
    recorder.finish(success=True, judge="program")  # by somebody other than the agent

The log (the plain format, one step a line) is written as the run goes, without secrets, and can be ingested after a
crash. Memory never stands in the way of the host: whatever goes wrong here is logged once, and memory is silent for
the rest of the run (`recorder.fault` says why).
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ufo_experience.ids import new_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.redact import redact
from ufo_experience.schema import Experience, Trajectory, expect
from ufo_experience.session.parts import SaveMode, SavePolicy
from ufo_experience.traces.calls import take_target
from ufo_experience.traces.files import FINISHED
from ufo_experience.traces.in_memory import JudgedBy, run_of

if TYPE_CHECKING:
    from ufo_experience.procedure.guide import Guide

MAX_STEPS = 500  # of a run; what comes after is not noted
MAX_RESULT = 2_000  # characters of a tool's answer
T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Start:
    """What is known at the start of a run. `block` goes before the task ("" when nothing is known), `ids` are the
    records it shows, `guide` leads along the best known way where there is one.
    """

    block: str = ""
    ids: tuple[str, ...] = ()
    guide: Guide | None = None


def _no_record() -> Experience | None:
    return None


def quietly(nothing: Callable[[], T]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Make a method return `nothing()` instead of raising, for the rest of the run; the fault is logged once."""

    def wrap(method: Callable[..., T]) -> Callable[..., T]:
        @functools.wraps(method)
        def call(self: Recorder, *args: Any, **named: Any) -> T:
            if self.fault is not None and method.__name__ != "start":
                return nothing()
            try:
                return method(self, *args, **named)
            except Exception as fault:  # noqa: BLE001  the host's run matters more than its memory
                self.fault = fault
                _log.warning("memory is silent for the rest of this run: %s: %s", type(fault).__name__, fault)
                return nothing()

        return call

    return wrap


class Recorder:
    """Records the runs of one agent, one after another. Not for several runs at once: make one for each.

    Args:
        memory: where runs are learned, and asked for.
        logs: folder for the logs of the runs (without: none is written, and a crash loses the run).
        save: which runs are learned: a mode of UFO's SAVE_EXPERIENCE ("always", "auto", "always_not") or a policy.
        max_tokens: of the block (default: the memory's).
    """

    def __init__(
        self,
        memory: ExperienceMemory,
        *,
        logs: str | Path | None = None,
        save: str | SavePolicy = SaveMode.ALWAYS.value,
        max_tokens: int | None = None,
    ) -> None:
        self.memory = memory
        self.fault: Exception | None = None
        self.policy = save if isinstance(save, SavePolicy) else SavePolicy.of(save)
        self._folder = None if logs is None else Path(logs)
        self._max_tokens = max_tokens
        self._begin("", None)

    def _begin(self, task: str, application: str | None) -> None:
        self.task, self.application = task, application
        self.session = new_id()[:16]
        self.shown: tuple[str, ...] = ()
        self.fault = None
        self._is_finished = False
        self._steps: list[dict[str, Any]] = []

    @quietly(Start)
    def start(self, task: str, application: str | None = None, *, guide: bool = False) -> Start:
        """Begin a run: what is known of the task. A run that was not finished is left to its log."""
        self._begin(task, application)
        found = self.memory.retrieve(task, application=application)
        block = self.memory.build_prompt(task, found, max_tokens=self._max_tokens)
        self.shown = tuple(block.ids)
        way = self.memory.guide(task, application=application, hits=found) if guide else None
        return Start(block.text, self.shown, way)

    @quietly(lambda: None)
    def step(
        self,
        action: str,
        target: str = "",
        parameters: Mapping[str, Any] | None = None,
        seen: str = "",
        result: str = "",
        *,
        control_type: str | None = None,
        error: str | None = None,
        application: str | None = None,
        secret: bool = False,
    ) -> None:
        """Note one executed action: on which control, with what, what was seen before it and what came of it.

        What is typed into a `secret` control is kept nowhere.
        """
        if len(self._steps) >= MAX_STEPS:
            return
        given = {
            "action": expect(str, action, "action"),
            "control": expect(str, target, "target"),
            "control_type": control_type,
            "parameters": dict(parameters or {}),
            "observation": seen,
            "result": result or None,
            "error": error,
            "application": application or self.application,
            "is_password": secret or None,
        }
        self._steps.append({name: value for name, value in given.items() if value not in (None, "", {})})
        if self._folder is not None:
            self._write(self._without_secrets())

    @quietly(lambda: None)
    def attempt(self, work: Callable[[], None]) -> None:
        """Do what memory needs in the host's loop under the same rule: a fault is logged, and memory is silent."""
        work()

    @quietly(lambda: None)
    def call(
        self, name: str, arguments: Mapping[str, Any] | str | None, result: object = "", error: str | None = None
    ) -> None:
        """Note a tool call as a step: the argument that names a control is its target, the others are parameters."""
        given = _arguments(arguments)
        target, role = take_target(given, name)
        self.step(name, target, given, result=str(result)[:MAX_RESULT], control_type=role or None, error=error)

    @quietly(_no_record)
    def finish(
        self,
        success: bool | None = None,
        judge: JudgedBy | None = None,
        *,
        score: float | None = None,
        reason: str | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        wordings: Sequence[str] | None = None,
    ) -> Experience | None:
        """End the run: credit what was shown, and learn by the save policy; returns the record, if one is kept.

        `success` without a `judge`, or with "agent", is the agent's own claim: the run is kept as observed, shown to
        nobody, and nothing is credited. `judge` "program" is a check of the result, "person" a user, "llm" a model
        that did not act. `wordings` are other ways to ask for the task, by which it is found, too; who did it
        can word them. The log gets the ending `.finished`: `ingest` of its folder reads what a crash left.
        """
        told = {"score": score, "failure_reason": reason, "tokens": tokens, "cost": cost, "wordings": wordings}
        made = self._learn(success, judge, **told)
        self._close_log()
        return made

    def _learn(self, success: bool | None, judge: JudgedBy | None, **known: Any) -> Experience | None:
        judged = success is not None and judge not in (None, "agent")
        if judged and self.shown:
            self.memory.report(list(self.shown), success=bool(success), session=self.session)
        if not self._steps or not self.policy.wants(_evaluation(success, known["score"], judged=judged), lambda: True):
            return None
        return self.memory.remember(
            self.task,
            self._steps,
            success=success,
            application=self.application,
            judge=judge or "agent",
            session=self.session,
            **{name: value for name, value in known.items() if value is not None},
        )

    async def astart(self, task: str, application: str | None = None, *, guide: bool = False) -> Start:
        """`start` in a thread, for loops that must not wait."""
        return await asyncio.to_thread(self.start, task, application, guide=guide)

    async def astep(
        self, action: str, target: str = "", parameters: Mapping[str, Any] | None = None, **more: Any
    ) -> None:
        """`step` in a thread."""
        await asyncio.to_thread(self.step, action, target, parameters, **more)

    async def afinish(
        self, success: bool | None = None, judge: JudgedBy | None = None, **more: Any
    ) -> Experience | None:
        """`finish` in a thread."""
        return await asyncio.to_thread(self.finish, success, judge, **more)

    @property
    def log(self) -> Path | None:
        """The log of this run."""
        name = f"{self.session}.jsonl{FINISHED if self._is_finished else ''}"
        return None if self._folder is None else self._folder / name

    def _close_log(self) -> None:
        running = self.log
        self._is_finished = True
        if running is not None and self.log is not None and running.exists():
            running.replace(self.log)

    def _without_secrets(self) -> Trajectory:
        """The run so far: what was typed into a password field is taken out of the later steps, too."""
        run = run_of(self.task, self._steps, success=None, session=self.session, application=self.application)
        return redact(run.trajectory)

    def _write(self, run: Trajectory) -> None:
        """The last step as one line, on the disk before the host goes on."""
        step, path = run.steps[-1], self.log
        fields = step.model_dump(
            mode="json", exclude_defaults=True, exclude={"step_number", "source", "target_control"}
        )
        row = {
            "session": self.session,
            "task": run.task,
            "application": self.application,
            "action": fields.pop("action_type", ""),
            "control": step.target_control.name,
            "control_type": step.target_control.type,
            **fields,
        }
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({key: value for key, value in row.items() if value}, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())


class CallOrder:
    """Calls that a host carries out side by side, noted in the order they were begun.

    order.begin("c1"), order.begin("c2")
    order.end("c2", …), order.end("c1", …)    c1 is noted first
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._open: dict[str, Callable[[], None] | None] = {}

    def begin(self, id: str) -> None:
        """A call is begun."""
        self._open[id] = None

    def end(
        self,
        id: str,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        result: object = "",
        error: str | None = None,
    ) -> None:
        """A call has ended; it is noted once those begun before it have."""
        self._open[id] = lambda: self._recorder.call(name, arguments, result, error)
        while self._open and (note := self._open[next(iter(self._open))]) is not None:
            del self._open[next(iter(self._open))]
            note()

    def close(self) -> None:
        """Note what has ended; calls that never did are let go."""
        ended, self._open = [note for note in self._open.values() if note is not None], {}
        for note in ended:
            note()


def _arguments(given: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """The arguments of a call: a mapping, or JSON text as models write it; other text is one argument."""
    if isinstance(given, Mapping):
        return dict(given)
    if not given:
        return {}
    try:
        read = json.loads(given)
    except ValueError:
        return {"arguments": given}
    return read if isinstance(read, dict) else {"arguments": given}


def _evaluation(success: bool | None, score: float | None, *, judged: bool) -> dict[str, Any] | None:
    """The outcome in the words of a save policy: None when nobody but the agent has judged."""
    if not judged:
        return None
    return {"complete": "yes" if success else "no", "score": score if score is not None else float(bool(success))}
