"""UFO session logs → trajectories: one per sub-task, then one for the whole request of each round. A sub-task that is
all of its round and says the same is not told twice.

A status of FINISH is the agent's claim. Success comes from `evaluation.log`, which judges the session as a whole:

    evaluated    whole request    sub-task
    yes          True             True
    no           False            False if it is the only one, or ends failed or unfinished; else unknown
    otherwise    unknown          unknown

In a session of several rounds "no" falls on a round by the same rule as on a sub-task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ufo_experience.errors import TraceError
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.builder import Draft, content_key
from ufo_experience.traces.json_lines import peek
from ufo_experience.traces.reader import ReadReport
from ufo_experience.traces.surroundings import around
from ufo_experience.traces.ufo.entry import HOSTS, LogEntry
from ufo_experience.traces.ufo.lines import release_of
from ufo_experience.traces.ufo.requests import StepView
from ufo_experience.traces.ufo.session import (
    EVALUATION,
    REQUEST,
    RESPONSE,
    SubTask,
    UfoLog,
    UfoSession,
    read_entries,
    subtasks_of,
)

_SYSTEMS = {"LinuxAgent": "linux", "MobileAgent": "android"}
_LOCATOR = ("id", "name")
_CLAIMS = ("FINISH", "ALLFINISH")


class UfoReader:
    """Reads UFO's log folders (`response.log`, `evaluation.log`, `request.log`) and single files of its lines."""

    name = "ufo"

    def recognises(self, path: Path) -> bool:
        """True for a folder with one of UFO's logs, and for a file whose first lines UFO wrote."""
        if path.is_dir():
            return any((path / name).is_file() for name in (RESPONSE, REQUEST, EVALUATION))
        return path.name == RESPONSE or any(release_of(value) for value in peek(path))

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the trajectories of each session in the log. Raises `TraceError` when it holds no step."""
        log = read_entries(path)
        report.problems += log.problems
        if not any(entry.role in ("host", "app") for entry in log.entries()):
            found = f"{len(log.bad_lines)} of its lines cannot be read" if log.bad_lines else "no record in it"
            raise TraceError(f"no step of UFO found: {found}", file=str(log.path), code="E_EMPTY")
        for session in log.sessions:
            yield from _SessionWriter(log, session).trajectories()


class _SessionWriter:
    """Turns one session into trajectories."""

    def __init__(self, log: UfoLog, session: UfoSession) -> None:
        self.log, self.session = log, session
        name = log.path.parent.name if log.path.name == RESPONSE else log.path.stem
        self.key = content_key(name, session.number, session.digest)
        self.sources = (
            [log.path.with_name(EVALUATION)] if session.evaluation and not session.entries[-1].verdict else []
        )
        self.started = log.path.parent.name if log.path.name == RESPONSE else None
        self.problems = _problems_of(log, session)
        self._known: dict[int, list[dict[str, Any]]] = {}  # line → what its steps are made of

    def trajectories(self) -> Iterator[Trajectory]:
        rounds = [entries for entries in self.session.rounds() if any(e.role != "error" for e in entries)]
        for entries in rounds:
            last = entries is rounds[-1]
            subtasks = [subtask for subtask in subtasks_of(entries) if subtask.text]
            only = len(subtasks) == 1 and len(rounds) == 1
            for subtask in [] if _is_all(subtasks, entries) else subtasks:
                yield self._subtask(subtask, entries, only, complete=not last or subtask is not subtasks[-1])
            yield self._whole(entries, only=len(rounds) == 1, complete=not last)

    def _subtask(self, subtask: SubTask, entries: list[LogEntry], only: bool, complete: bool) -> Trajectory:
        success = self._success(only or not subtask.finished)
        return self._trajectory(subtask.entries, _request(entries), subtask.text, success, complete)

    def _whole(self, entries: list[LogEntry], only: bool, complete: bool) -> Trajectory:
        ended = not entries[-1].failed and entries[-1].status in _CLAIMS
        return self._trajectory(entries, _request(entries), None, self._success(only or not ended), complete)

    def _success(self, to_blame: bool) -> bool | None:
        verdict = self.session.evaluation.success if self.session.evaluation else None
        return None if verdict is False and not to_blame else verdict

    def _trajectory(
        self, entries: list[LogEntry], request: str, subtask: str | None, success: bool | None, complete: bool
    ) -> Trajectory:
        draft = Draft(
            self.log.path, format=f"ufo-{_release(entries)}", session=self.key, request=request, subtask=subtask
        )
        for entry in entries:
            draft.application(entry.application)
            for step in self._steps(entry):
                draft.step(**step)
        costs = [entry.cost for entry in entries if entry.cost is not None]
        tokens = [entry.tokens for entry in entries if entry.tokens is not None]
        times = [entry.seconds for entry in entries if entry.seconds is not None]
        timed = len(times) == len([entry for entry in entries if entry.role != "error"])
        evaluation = self.session.evaluation if subtask is None or success is not None else None
        claimed = any(entry.status in _CLAIMS for entry in entries)
        return draft.finish(
            success=success,
            evaluated_by="evaluator" if evaluation and evaluation.complete else "agent" if claimed else "none",
            judge=evaluation.judge if evaluation and evaluation.complete else None,
            failure_reason=self._reason(entries, success),
            score=evaluation.score if evaluation and evaluation.complete and success is not None else None,
            cost=round(sum(costs), 9) if costs else None,
            tokens=sum(tokens) if tokens else None,
            latency_ms=1000 * sum(times) if timed else None,
            plan=self._plan(entries),
            agent=_agent(entries),
            env=_SYSTEMS.get(_agent(entries), "windows"),
            started_at=self.started,
            sources=self.sources,
            complete=complete or self.session.complete,
            truncated=self.log.truncated and self.session is self.log.sessions[-1],
            problems=self.problems,
        )

    def _steps(self, entry: LogEntry) -> list[dict[str, Any]]:
        """The steps of an entry, which belong to a sub-task and to the whole request."""
        if entry.line not in self._known:
            view = self.session.views.get(-1 if entry.step is None else entry.step, StepView())
            self._known[entry.line] = list(_steps_of(entry, view))
        return self._known[entry.line]

    def _reason(self, entries: list[LogEntry], success: bool | None) -> str | None:
        """The evaluator's reason for a "no"; for a run nobody judged, the error it stopped with."""
        if success is False and self.session.evaluation:
            return self.session.evaluation.reason
        return entries[-1].error if success is None else None

    def _plan(self, entries: list[LogEntry]) -> tuple[str, ...]:
        """The first plan there is: the host's for a whole request, else the actor's, else that of `request.log`."""
        views = (self.session.views[entry.step].plan for entry in entries if entry.step in self.session.views)
        plans = chain((entry.plan for entry in entries), views)
        return next((plan for plan in plans if plan), ())


def _is_all(subtasks: Sequence[SubTask], entries: list[LogEntry]) -> bool:
    """True where the one sub-task of a round is its request, word for word: the whole tells of it."""
    texts = [" ".join(text.casefold().split()) for text in (_request(entries), *(one.text or "" for one in subtasks))]
    return len(texts) == 2 and texts[0] == texts[1]


def _steps_of(entry: LogEntry, view: StepView) -> Iterator[dict[str, Any]]:
    """Each executed or attempted action as the arguments of `Draft.step`; the first has what the model call cost."""
    for number, action in enumerate(entry.actions):
        arguments = dict(action.arguments)
        if entry.release == "v3" and "id" in arguments:  # without an id, a name is a real argument
            arguments = {key: value for key, value in arguments.items() if key not in _LOCATOR}
        within, place = around(view.listed, action.label, action.control) or ("", None)
        yield {
            "action_type": action.function,
            "control": action.control,
            "control_type": action.control_type or view.type_of(action.label, action.control),
            "parameters": arguments,
            "observation": entry.observation or (view.in_words() if entry.role == "app" else ""),
            "result": action.result or ("skipped" if action.skipped else None),
            "error": action.error,
            "agent": _agent([entry]),
            "application": entry.application,
            "cost": entry.cost if number == 0 else None,
            "line": entry.line,
            "secret": action.secret,
            "seen": view.seen() if entry.role == "app" else frozenset(),
            "within": within or action.within,
            "around": place,
        }


def _agent(entries: list[LogEntry]) -> str:
    """HostAgent, AppAgent, or the name of another system's agent. v0.0.1 uses these names the other way round."""
    actor = next((entry for entry in entries if entry.role == "app"), entries[0])
    if actor.role == "host":
        return actor.agent if actor.agent in HOSTS else HOSTS[0]
    return actor.agent if actor.agent.isidentifier() and actor.agent != "ActAgent" else "AppAgent"


def _release(entries: list[LogEntry]) -> str:
    return next((entry.release for entry in entries if entry.role != "error"), entries[0].release)


def _request(entries: list[LogEntry]) -> str:
    return next((entry.request for entry in entries if entry.request), "")


def _problems_of(log: UfoLog, session: UfoSession) -> list[Problem]:
    """Problems of the session's own lines, and those of the folder as a whole; they go to the last session."""
    place = log.sessions.index(session)
    first = session.entries[0].line if place else 0
    last = log.sessions[place + 1].entries[0].line if place + 1 < len(log.sessions) else None

    def belongs(problem: Problem) -> bool:
        if problem.file != str(log.path) or problem.line is None:
            return last is None
        return first <= problem.line and (last is None or problem.line < last)

    return [problem for problem in log.problems if belongs(problem)]
