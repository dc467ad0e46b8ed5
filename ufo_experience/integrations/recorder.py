"""One class for every agent loop: ask before a run, note each step, learn when it is over. The adapters of frameworks
share `Watched`, which does so by tool calls and a check.

    recorder = Recorder(memory, logs="agent_logs")
    start = recorder.start("Email Jane about the call", application="Outlook")  # start.block: before the task
    recorder.step("click", "New Email", control_type="Button")
    recorder.finish(success=True, judge="program")  # by somebody other than the agent

The log is written as the run goes, without secrets, and can be ingested after a crash. A wrong argument raises; a fault
of memory itself is logged once, and memory is silent for the rest of the run (`recorder.fault` says why).
"""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, UsageError, names_arguments, names_methods, with_store
from ufo_experience.ids import new_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.memory.aio import AsyncExperienceMemory
from ufo_experience.memory.upkeep import Closed
from ufo_experience.procedure.guide import Guide
from ufo_experience.redact import redact
from ufo_experience.schema import UNKNOWN_FIELD, Experience, expect, expect_if_given
from ufo_experience.session.files import append_line
from ufo_experience.session.parts import SavePolicy
from ufo_experience.store.files import storage_errors
from ufo_experience.traces.calls import arguments_of, take_target
from ufo_experience.traces.plain import JudgedBy, expect_ending, run_of

MAX_STEPS = 500  # of a run; what comes after is not noted
MAX_RESULT = 2_000  # characters of a tool's answer
_WRONG = ("E_SCHEMA", UNKNOWN_FIELD)  # codes of what the program gave wrongly: that is told, faults of memory are not
Check = Callable[[Any], bool | None]  # looks at a result and says whether the task was done; None: unknown
_log = logging.getLogger(__name__)


class _EndedByFinish:
    def __enter__(self) -> Any:
        raise UsageError("not with `with`: start(task) begins a run, and finish(success, judge) ends it")

    def __exit__(self, *error: object) -> None: ...


@names_methods
@dataclass(frozen=True)
class Start(_EndedByFinish):
    """What is known at the start of a run. `block` goes before the task; "" when nothing is known, and `reason` says
    why. `ids` are the records it shows. Asked for with `guide=True`: `guide` leads along the best known way; without
    one, `choices` along some that may be.
    """

    block: str = ""
    ids: tuple[str, ...] = ()
    guide: Guide | None = None
    choices: tuple[Guide, ...] = ()
    reason: str = ""


@names_arguments
class Recorder(_EndedByFinish):
    """Records the runs of one agent, one after another, in a memory (or the place of a store); runs side by side need
    a recorder each, and may share the memory.

    `logs` is a folder for the log of the run that goes on (without it a crash loses the run), `save` says which runs
    are learned: a mode of UFO's SAVE_EXPERIENCE or a policy; `max_tokens` is of the block (default: the memory's).
    """

    def __init__(
        self,
        memory: ExperienceMemory | AsyncExperienceMemory | str | Path,
        *,
        logs: str | Path | None = None,
        save: str | SavePolicy = "always",
        max_tokens: int | None = None,
    ) -> None:
        own = memory.memory if isinstance(memory, AsyncExperienceMemory) else memory
        opened = ExperienceMemory(own) if isinstance(own, (str, Path)) else own
        self.memory: ExperienceMemory = expect(ExperienceMemory, opened, "memory")
        self._policy = save if isinstance(save, SavePolicy) else SavePolicy(save)
        self._folder = None if logs is None else Path(expect((str, Path), logs, "logs"))
        self._max_tokens = max_tokens
        self._begin("", None)
        self._is_finished = True

    def _begin(self, task: str, application: str | None) -> None:
        self.task, self.application = task, application
        self.session: str = new_id()[:16]
        self.fault: Exception | None = None
        self._shown: list[str] = []
        self._steps: list[dict[str, Any]] = []
        self._is_finished = False

    def start(self, task: str, application: str | None = None, *, guide: bool = False) -> Start:
        """Begin a run: what is known of the task. A run that was not finished is left to its log; a warning says so."""
        if self._steps and not self._is_finished:
            left = "not learned" if self.log is None else f"left to {self.log}: ingest it"
            _log.warning("the run before was not finished by finish(success, judge): its steps are %s", left)
        if not expect(str, task, "task").strip():
            _log.warning("the task is empty: nothing is known of it, and nothing will be learned")
        self._begin(task, expect_if_given(str, application, "application"))
        known = Start()
        with self._silently():
            found = self.memory.retrieve(task, application=application)
            shown = self.memory.build_prompt(task, found, max_tokens=self._max_tokens)
            self._shown = [*shown.ids, *shown.lessons]
            why = "" if shown.text else found.reason or "; ".join(shown.unshown.values())
            known = Start(shown.text, tuple(shown.ids), reason=why)
            if guide:
                way = self.memory.guide(task, application=application, hits=found)
                choices = () if way is not None else tuple(self.memory.choices(task, application=application))
                known = replace(known, guide=way, choices=choices)
        return known

    def step(
        self,
        action: str,
        target: str = "",
        parameters: Mapping[str, Any] | None = None,
        seen: str = "",
        result: str = "",
        *,
        text: str | None = None,
        control_type: str | None = None,
        within: str | None = None,
        controls: Sequence[str | Mapping[str, Any]] = (),
        error: str | None = None,
        application: str | None = None,
        secret: bool = False,
    ) -> None:
        """Note one executed action: on which control, with what, what was seen before it and what came of it.

        A typed value goes into `parameters`, or `text`, also where it differs each time. `within` names the row, group
        or dialog around the control, `controls` lists what was in view before the action (names, or objects with name
        and type; texts, `value` and `checked` tell idle steps). A step that had no effect says `result="no effect"`.
        Text of a `secret` control is kept nowhere. A value that cannot be kept is a `DataError`; the run goes on.
        """
        texts = {"control_type": control_type, "within": within, "error": error, "application": application}
        if isinstance(parameters, str):
            raise UsageError(f"parameters is a dict of its fields; what was typed is given so: text={parameters!r:.60}")
        typed = {} if text is None else {"text": expect(str, text, "text")}
        given = {
            "action": expect(str, action, "action"),
            "control": expect(str, target, "target"),
            "parameters": {**expect(Mapping, {} if parameters is None else parameters, "parameters"), **typed},
            "observation": expect(str, seen, "seen"),
            "result": expect(str, result, "result"),
            **{name: expect(str, text, name) for name, text in texts.items() if text is not None},
            "controls": _in_view(controls),
            "is_password": expect(bool, secret, "secret") or None,
        }
        self._expect_begun()
        if self.fault is not None or len(self._steps) >= MAX_STEPS:
            return
        given = {"application": self.application} | given
        step = {name: value for name, value in given.items() if value not in (None, "", {}, [])}
        with self._silently():  # what cannot be kept raises here, not at the end of the run
            run_of(self.task, [step], success=None, session=self.session)
        self._steps.append(step)
        with self._silently():
            self._write()

    def call(
        self, name: str, arguments: Mapping[str, Any] | str | None, result: object = "", error: str | None = None
    ) -> None:
        """Note a tool call as a step: the argument that names a control is its target, the others are parameters."""
        expect(Mapping, {} if arguments is None or isinstance(arguments, str) else arguments, "arguments")
        given = arguments_of(dict(arguments) if isinstance(arguments, Mapping) else arguments)
        target, role = take_target(given, expect(str, name, "name"))
        answer = ""
        with self._silently():  # whatever a host's tool gives, its text is asked for here
            answer = str(result)[:MAX_RESULT]
        self.step(name, target, given, result=answer, control_type=role or None, error=error)

    def attempt(self, work: Callable[[], None]) -> None:
        """Do what memory needs in the host's loop under the same rule: a fault is logged, and memory is silent."""
        if self.fault is None:
            with self._silently():
                work()

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

        `success` without a `judge`, or with "agent", is the agent's own claim: the run is shown to nobody, nothing is
        credited, and a warning says so. `judge` "program" is a check of the result, "user" a person, "model" a model
        that did not act. `wordings` are other ways to ask for the task. The log of a run is deleted at
        its end: what is kept stands in the store, where a purge reaches it.
        """
        expect_ending(success, judge, score=score, tokens=tokens, cost=cost)
        self._expect_begun()
        if not self._steps and self.fault is None:
            _log.warning("no step was noted in this run: nothing is learned")
        known = {"score": score, "failure_reason": reason, "tokens": tokens, "cost": cost, "wordings": wordings}
        made = None
        if self.fault is None:
            with self._silently():
                made = self._learn(success, judge, known)
        if made is not None and success and judge in (None, "agent"):
            told = (
                "this run is shown to nobody, since only its agent says that it worked: say who checked it, "
                f'finish(success=True, judge="program"), or afterwards: ufo-experience judge {made.id[:8]} --success'
            )
            _log.warning("%s", with_store(told, self.memory.store.location))
        self._is_finished = True
        if self.log is not None and self.fault is None:  # else it is all there is of the run
            with self._silently(), storage_errors(self.log):
                self.log.unlink(missing_ok=True)
        return made

    def _learn(self, success: bool | None, judge: JudgedBy | None, known: Mapping[str, Any]) -> Experience | None:
        judged = success is not None and judge not in (None, "agent")
        if judged and self._shown:
            self.memory.report(self._shown, success=bool(success), session=self.session)
        score = float(bool(success)) if known["score"] is None else known["score"]
        evaluation = {"complete": "yes" if success else "no", "score": score} if judged else None
        if not self._steps or not self.task.strip() or not self._policy.wants(evaluation, lambda: True):
            return None
        told = {"session": self.session, **known}
        details: dict[str, Any] = {name: value for name, value in told.items() if value is not None}
        return self.memory.remember(self.task, self._steps, success, self.application, judge or "agent", **details)

    async def astart(self, task: str, application: str | None = None, *, guide: bool = False) -> Start:
        """`start` in a thread, for loops that must not wait; so are `astep` and `afinish`."""
        return await asyncio.to_thread(self.start, task, application, guide=guide)

    async def astep(self, *given: Any, **more: Any) -> None:
        await asyncio.to_thread(self.step, *given, **more)

    async def afinish(self, *given: Any, **more: Any) -> Experience | None:
        return await asyncio.to_thread(self.finish, *given, **more)

    @property
    def log(self) -> Path | None:
        return None if self._folder is None else self._folder / f"{self.session}.jsonl"

    def _expect_begun(self) -> None:
        if self._is_finished:
            raise UsageError("the run is finished, or none has begun: recorder.start(task) begins one")
        if isinstance(self.memory.store, Closed):
            raise UsageError("the memory is closed: open it again")

    @contextmanager
    def _silently(self) -> Iterator[None]:
        """Keep a fault of memory from the host. What the caller did wrong, and what stops the program, passes."""
        try:
            yield
        except Exception as fault:
            if isinstance(fault, UsageError) or (isinstance(fault, DataError) and fault.code in _WRONG):
                raise
            self.fault = fault
            _log.warning("memory is silent for the rest of this run: %s: %s", type(fault).__name__, fault)

    def _write(self) -> None:
        """The last step as one line, as redaction leaves it: typed text goes, also out of the steps after it."""
        if self.log is None:
            return
        run = redact(run_of(self.task, self._steps, success=None, session=self.session).trajectory)
        step = run.steps[-1].model_dump(mode="json", exclude_defaults=True, exclude={"step_number", "source"})
        row = {"session": self.session, "task": run.task, "application": self.application, **step}
        append_line(self.log, json.dumps({key: value for key, value in row.items() if value}, ensure_ascii=False))


class Watched:
    """The runs of one agent of a framework. `block` is what is known of the task of the run that goes on. Calls side by
    side are noted in the order they were begun."""

    def __init__(self, recorder: Recorder, application: str | None = None, check: Check | None = None) -> None:
        self.recorder, self._application, self._check = recorder, application, check
        self.block = ""
        self._calls: dict[str, Callable[[], None] | None] = {}

    def begin(self, task: str) -> None:
        self.block = self.recorder.start(task, self._application).block
        self._calls = {}

    def before(self, own: str | None) -> str:
        return "\n\n".join(part for part in (self.block, own) if part)

    def called(self, id: str) -> None:
        self._calls[id] = None

    def answered(self, id: str, name: str, arguments: Any, result: object = "", error: str | None = None) -> None:
        """A tool has answered; the call is noted once those before it are."""
        given = arguments if arguments is None or isinstance(arguments, (Mapping, str)) else {"value": arguments}
        self._calls[id] = lambda: self.recorder.call(name, given, result, error)
        while self._calls and (note := self._calls[next(iter(self._calls))]) is not None:
            del self._calls[next(iter(self._calls))]
            note()

    def end(self, result: Any) -> Experience | None:
        """Learn the run; calls that were answered behind one that never was are noted now."""
        for note in filter(None, self._calls.values()):
            note()
        success = None if self._check is None else self._check(result)
        return self.recorder.finish(success, None if success is None else "program")

    async def abegin(self, task: str) -> None:
        """`begin` in a thread, for loops that must not wait; so is `aend`."""
        await asyncio.to_thread(self.begin, task)

    async def aend(self, result: Any) -> Experience | None:
        return await asyncio.to_thread(self.end, result)


def _in_view(controls: Iterable[Any]) -> list[Any]:
    if isinstance(controls, (str, Mapping)) or not all(isinstance(one, (str, Mapping)) for one in controls):
        raise UsageError("controls is a list of what is in view: names, or objects with name and type")
    return [one if isinstance(one, str) else dict(one) for one in controls]
