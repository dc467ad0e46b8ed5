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

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from ufo_experience.controls import around, in_view
from ufo_experience.errors import DataError
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.draft import Draft, run_key
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.ufo_lines import HOSTS, SKIPPED, LogEntry, release_of
from ufo_experience.traces.ufo_session import (
    CLAIMS,
    EVALUATION,
    REQUEST,
    RESPONSE,
    StepView,
    SubTask,
    UfoLog,
    UfoSession,
    read_log,
    subtasks_of,
)

_SYSTEMS = {"LinuxAgent": "linux", "MobileAgent": "android"}


class UfoReader:
    """Reads UFO's log folders (`response.log`, `evaluation.log`, `request.log`) and single files of its lines."""

    name = "ufo"

    def recognises(self, found: Found) -> bool:
        """True for a folder with one of UFO's logs, and for a file whose first lines UFO wrote."""
        if found.path.is_dir():
            return any((found.path / name).is_file() for name in (RESPONSE, REQUEST, EVALUATION))
        return found.path.name == RESPONSE or any(release_of(value) for value in found.values)

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the trajectories of each session in the log. Raises `DataError` when it holds no step."""
        log = read_log(path)
        report.problems += log.problems
        if not any(entry.role in ("host", "app") for session in log.sessions for entry in session.entries):
            found = f"{log.bad_lines} of its lines cannot be read" if log.bad_lines else "no record in it"
            raise DataError(f"no step of UFO found: {found}", file=str(log.path), code="E_EMPTY")
        for session in log.sessions:
            yield from _Teller(log, session).trajectories()


class _Teller:
    """Tells the sub-tasks and the whole request of each round of a session."""

    def __init__(self, log: UfoLog, session: UfoSession) -> None:
        self.log, self.session = log, session
        self.steps = {id(entry): list(_steps_of(entry, session)) for entry in session.entries}
        self.problems = _problems_of(log, session)
        self.verdict = session.evaluation.success if session.evaluation else None
        self.followed = _followed_task(session)

    def trajectories(self) -> Iterator[Trajectory]:
        """Sub-tasks first, then their round; of a followed plan the whole only."""
        rounds = [self.session.entries] if self.followed else self.session.rounds()
        for entries in rounds:
            goes_on = entries is not rounds[-1]
            request = self.followed or next((entry.request for entry in entries if entry.request), "")
            subtasks = [one for one in subtasks_of(entries) if one.text]
            alone = len(subtasks) == 1 and len(rounds) == 1
            for one in [] if self.followed or _says_all(subtasks, request) else subtasks:
                success = self._success(alone or not one.finished)
                yield self._tell(request, one.entries, one.text, success, goes_on or one is not subtasks[-1])
            ended = not entries[-1].failed and entries[-1].status in CLAIMS
            yield self._tell(request, entries, None, self._success(len(rounds) == 1 or not ended), goes_on)

    def _success(self, to_blame: bool) -> bool | None:
        return None if self.verdict is False and not to_blame else self.verdict

    def _tell(
        self, request: str, entries: list[LogEntry], subtask: str | None, success: bool | None, goes_on: bool
    ) -> Trajectory:
        log, session = self.log, self.session
        in_folder = log.path.name == RESPONSE
        folder = log.path.parent.name
        release = next((entry.release for entry in entries if entry.role != "error"), entries[0].release)
        key = run_key(folder if in_folder else log.path.stem, session.number, session.first)
        draft = Draft(log.path, format=f"ufo-{release}", session=key, request=request, subtask=subtask)
        for entry in entries:
            draft.application(entry.application)
            for step in self.steps[id(entry)]:
                draft.step(**step)
        judged = session.evaluation if subtask is None or success is not None else None
        judged = judged if judged and judged.complete else None
        claimed = any(entry.status in CLAIMS for entry in entries)
        reason = session.evaluation.reason if session.evaluation and success is False else None
        agent = _agent(entries)
        return draft.finish(
            success=success,
            evaluated_by="evaluator" if judged else "agent" if claimed else "none",
            judge=judged.judge if judged else None,
            failure_reason=entries[-1].error if success is None else reason,
            score=judged.score if judged and success is not None else None,
            **_spent(entries),
            plan=_plan(session, entries),
            agent=agent,
            env=_SYSTEMS.get(agent, "windows"),
            started_at=folder if in_folder else None,
            sources=[log.path.with_name(EVALUATION)] if session.evaluation and not session.entries[-1].verdict else [],
            complete=goes_on or session.complete,
            truncated=log.truncated and session is log.sessions[-1],
            problems=self.problems,
        )


def _followed_task(session: UfoSession) -> str:
    """The task of a `FollowerSession`, "" for any other. Its rounds are steps of a plan, in words of UFO's own;
    what the user asked for is told by the evaluation alone, as text where others tell a JSON list.
    """
    asked = session.evaluation.request if session.evaluation else ""
    known = any(asked in (entry.request, entry.subtask) for entry in session.entries)
    return "" if not asked or asked.startswith("[") or known or len(session.rounds()) < 2 else asked


def _says_all(subtasks: list[SubTask], request: str) -> bool:
    """True where the one sub-task of a round is its request, word for word: the whole tells of it."""
    first, *others = [" ".join((text or "").casefold().split()) for text in (request, *(one.text for one in subtasks))]
    return others == [first]


def _spent(entries: list[LogEntry]) -> dict[str, Any]:
    """What the entries cost in money, tokens and time; the time only where all tell it."""
    costs = [entry.cost for entry in entries if entry.cost is not None]
    tokens = [entry.tokens for entry in entries if entry.tokens is not None]
    times = [entry.seconds for entry in entries if entry.role != "error"]
    known = [time for time in times if time is not None]
    return {
        "cost": round(sum(costs), 9) if costs else None,
        "tokens": sum(tokens) if tokens else None,
        "latency_ms": 1000 * sum(known) if len(known) == len(times) else None,
    }


def _plan(session: UfoSession, entries: list[LogEntry]) -> tuple[str, ...]:
    """The first plan there is: the host's for a whole request, else the actor's, else that of `request.log`."""
    views = (session.views[entry.step].plan for entry in entries if entry.step in session.views)
    return next((plan for plan in chain((entry.plan for entry in entries), views) if plan), ())


def _steps_of(entry: LogEntry, session: UfoSession) -> Iterator[dict[str, Any]]:
    """Each executed or attempted action as the arguments of `Draft.step`; the first has what the model call cost."""
    view = session.views.get(-1 if entry.step is None else entry.step, StepView())
    acting = entry.role == "app"
    for number, action in enumerate(entry.actions):
        step = {name: value for name, value in action.items() if name not in ("label", "status")}
        label, control, error = action["label"], action["control"], action["error"] or ""
        within, place = around(view.listed, label, control) or ("", None)
        yield step | {
            "control_type": action["control_type"] or view.type_of(label, control),
            "observation": entry.observation or (view.in_words() if acting else ""),
            "result": action["result"] or ("skipped" if error.startswith(SKIPPED) else None),
            "agent": _agent([entry]),
            "application": entry.application,
            "cost": entry.cost if number == 0 else None,
            "line": entry.line,
            "in_view": in_view(view.listed) if acting else frozenset(),
            "within": within or action["within"],
            "around": place,
        }


def _agent(entries: list[LogEntry]) -> str:
    """HostAgent, AppAgent, or the name of another system's agent. v0.0.1 uses these names the other way round."""
    actor = next((entry for entry in entries if entry.role == "app"), entries[0])
    if actor.role == "host":
        return actor.agent if actor.agent in HOSTS else HOSTS[0]
    return actor.agent if actor.agent.isidentifier() and actor.agent != "ActAgent" else "AppAgent"


def _problems_of(log: UfoLog, session: UfoSession) -> list[Problem]:
    """Problems of the session's own lines, and those of the folder as a whole; they go to the last session."""
    place = log.sessions.index(session)
    first = session.entries[0].line if place else 0
    last = log.sessions[place + 1].entries[0].line if place + 1 < len(log.sessions) else None

    def belongs(one: Problem) -> bool:
        if one.file != str(log.path) or one.line is None:
            return last is None
        return first <= one.line and (last is None or one.line < last)

    return [one for one in log.problems if belongs(one)]
