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
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.draft import Draft, run_key
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.in_view import around
from ufo_experience.traces.ufo_lines import HOSTS, LogEntry, release_of
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
_LOCATOR = ("id", "name")


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
            yield from _trajectories(log, session)


def _trajectories(log: UfoLog, session: UfoSession) -> Iterator[Trajectory]:
    """The sub-tasks and the whole request of each round of a session."""
    known = {id(entry): list(_steps_of(entry, session)) for entry in session.entries}
    problems = _problems_of(log, session)
    rounds, followed = session.rounds(), _followed_task(session)
    if followed:
        rounds = [session.entries]
    for entries in rounds:
        request = followed or next((e.request for e in entries if e.request), "")
        told = partial(_trajectory, log, session, known, problems, request)
        goes_on = entries is not rounds[-1]
        subtasks = [subtask for subtask in subtasks_of(entries) if subtask.text]
        only = len(subtasks) == 1 and len(rounds) == 1
        for subtask in [] if followed or _is_all(subtasks, entries) else subtasks:
            success = _success(session, only or not subtask.finished)
            yield told(subtask.entries, subtask.text, success, goes_on or subtask is not subtasks[-1])
        ended = not entries[-1].failed and entries[-1].status in CLAIMS
        yield told(entries, None, _success(session, len(rounds) == 1 or not ended), goes_on)


def _followed_task(session: UfoSession) -> str:
    """The task of a `FollowerSession`, "" for any other. Its rounds are steps of a plan, in words of UFO's own;
    what the user asked for is told by the evaluation alone, as text where others tell a JSON list.
    """
    asked = session.evaluation.request if session.evaluation else ""
    known = any(asked in (entry.request, entry.subtask) for entry in session.entries)
    return "" if not asked or asked.startswith("[") or known or len(session.rounds()) < 2 else asked


def _success(session: UfoSession, to_blame: bool) -> bool | None:
    verdict = session.evaluation.success if session.evaluation else None
    return None if verdict is False and not to_blame else verdict


def _trajectory(
    log: UfoLog,
    session: UfoSession,
    known: dict[int, list[dict[str, Any]]],
    problems: list[Problem],
    request: str,
    entries: list[LogEntry],
    subtask: str | None,
    success: bool | None,
    goes_on: bool,
) -> Trajectory:
    name = log.path.parent.name if log.path.name == RESPONSE else log.path.stem
    release = next((entry.release for entry in entries if entry.role != "error"), entries[0].release)
    key = run_key(name, session.number, session.first)
    draft = Draft(log.path, format=f"ufo-{release}", session=key, request=request, subtask=subtask)
    for entry in entries:
        draft.application(entry.application)
        for step in known[id(entry)]:
            draft.step(**step)
    judged = session.evaluation if subtask is None or success is not None else None
    judged = judged if judged and judged.complete else None
    claimed = any(entry.status in CLAIMS for entry in entries)
    return draft.finish(
        success=success,
        evaluated_by="evaluator" if judged else "agent" if claimed else "none",
        judge=judged.judge if judged else None,
        failure_reason=_reason(session, entries, success),
        score=judged.score if judged and success is not None else None,
        **_spent(entries),
        plan=_plan(session, entries),
        agent=_agent(entries),
        env=_SYSTEMS.get(_agent(entries), "windows"),
        started_at=log.path.parent.name if log.path.name == RESPONSE else None,
        sources=[log.path.with_name(EVALUATION)] if session.evaluation and not session.entries[-1].verdict else [],
        complete=goes_on or session.complete,
        truncated=log.truncated and session is log.sessions[-1],
        problems=problems,
    )


def _spent(entries: Sequence[LogEntry]) -> dict[str, Any]:
    """What the entries cost in money, tokens and time; the time only where all tell it."""
    costs, tokens = ([v for v in (getattr(e, name) for e in entries) if v is not None] for name in ("cost", "tokens"))
    times = [entry.seconds for entry in entries if entry.role != "error"]
    return {
        "cost": round(sum(costs), 9) if costs else None,
        "tokens": sum(tokens) if tokens else None,
        "latency_ms": None if None in times else 1000 * sum(time for time in times if time is not None),
    }


def _reason(session: UfoSession, entries: list[LogEntry], success: bool | None) -> str | None:
    """The evaluator's reason for a "no"; for a run nobody judged, the error it stopped with."""
    if success is False and session.evaluation:
        return session.evaluation.reason
    return entries[-1].error if success is None else None


def _plan(session: UfoSession, entries: list[LogEntry]) -> tuple[str, ...]:
    """The first plan there is: the host's for a whole request, else the actor's, else that of `request.log`."""
    views = (session.views[entry.step].plan for entry in entries if entry.step in session.views)
    return next((plan for plan in chain((entry.plan for entry in entries), views) if plan), ())


def _is_all(subtasks: Sequence[SubTask], entries: list[LogEntry]) -> bool:
    """True where the one sub-task of a round is its request, word for word: the whole tells of it."""
    request = next((entry.request for entry in entries if entry.request), "")
    texts = [" ".join(text.casefold().split()) for text in (request, *(one.text or "" for one in subtasks))]
    return len(texts) == 2 and texts[0] == texts[1]


def _steps_of(entry: LogEntry, session: UfoSession) -> Iterator[dict[str, Any]]:
    """Each executed or attempted action as the arguments of `Draft.step`; the first has what the model call cost."""
    view = session.views.get(-1 if entry.step is None else entry.step, StepView())
    in_words = view.in_words() if entry.role == "app" else ""
    seen = view.seen() if entry.role == "app" else frozenset()
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
            "observation": entry.observation or in_words,
            "result": action.result or ("skipped" if action.skipped else None),
            "error": action.error,
            "agent": _agent([entry]),
            "application": entry.application,
            "cost": entry.cost if number == 0 else None,
            "line": entry.line,
            "secret": action.secret,
            "in_view": seen,
            "within": within or action.within,
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
