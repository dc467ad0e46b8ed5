"""UFO's files: session logs, `experience.yaml` and demonstrations, results of its dataflow.

A session log gives one trajectory per sub-task, then one for the whole request of each round. A sub-task that is
all of its round and says the same is not told twice.

A status of FINISH is the agent's claim. Success comes from `evaluation.log`, which judges the session as a whole:

    evaluated    whole request    sub-task
    yes          True             True
    no           False            False if it is the only one, or ends failed or unfinished; else unknown
    otherwise    unknown          unknown

In a session of several rounds "no" falls on a round by the same rule as on a sub-task. UFO keeps in a YAML what a user
or a setting told it to keep, so an entry says nothing certain about success; only the first action of each example is
structured. A dataflow task that was not executed is a plan: its steps say so, and its outcome is unknown.
"""

import re
from collections.abc import Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from ufo_experience.controls import around
from ufo_experience.errors import DataError
from ufo_experience.schema import NOT_EXECUTED, Problem, Trajectory
from ufo_experience.store.safe_yaml import load_yaml
from ufo_experience.traces import ufo_log
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import problem
from ufo_experience.traces.rows import RowsReader
from ufo_experience.traces.ufo_log import EVALUATION, HOSTS, RESPONSE, LogEntry, StepView, UfoSession
from ufo_experience.traces.values import Row, as_dict, as_name

_MARKS = re.compile(r"^[^\S\n]{1,64}example:", re.MULTILINE)
_SYSTEMS = {"LinuxAgent": "linux", "MobileAgent": "android"}


class UfoReader:
    """Reads UFO's log folders (`response.log`, `evaluation.log`, `request.log`) and single files of its lines."""

    name = "ufo"

    def recognises(self, found: Found) -> bool:
        named = found.format == self.name or found.path.name == RESPONSE
        return named or any(map(ufo_log.release_of, found.values))

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        problems: list[Problem] = []
        sessions = ufo_log.read_log(path, problems)
        report.problems += problems
        if not any(session.rounds() for session in sessions):
            found = f"{len(problems)} of its lines cannot be read" if problems else "no record in it"
            file = path / RESPONSE if path.is_dir() else path
            raise DataError(f"no step of UFO found: {found}", file=str(file), code="E_EMPTY")
        for session in sessions:
            yield from _told(session)


def _told(session: UfoSession) -> Iterator[Trajectory]:
    """The sub-tasks of each round, then the round; of a followed plan the whole only."""
    followed = _followed_task(session)
    rounds = [session.entries] if followed else session.rounds()
    for entries in rounds:
        goes_on = entries is not rounds[-1]
        request = followed or next((entry.request for entry in entries if entry.request), "")
        # The actor entries by sub-task: a host entry, another text, index or application starts a new one.
        told = [entry for entry in entries if entry.role != "error"]
        groups = groupby(told, lambda one: (one.role, one.subtask, one.subtask_index, one.application))
        subtasks = [list(group) for (role, subtask, *_), group in groups if role == "app" and subtask]
        alone = len(subtasks) == 1 and len(rounds) == 1
        texts = [(text or "").casefold().split() for text in (request, *(one[0].subtask for one in subtasks))]
        says_all = texts[1:] == texts[:1]  # the one sub-task of a round is its request: the whole tells of it
        for one in [] if followed or says_all else subtasks:
            more = goes_on or one is not subtasks[-1]
            yield _tell(session, one, request, subtask=one[0].subtask, alone=alone, goes_on=more)
        yield _tell(session, entries, request, subtask=None, alone=len(rounds) == 1, goes_on=goes_on)


def _tell(
    session: UfoSession, entries: list[LogEntry], request: str, *, subtask: str | None, alone: bool, goes_on: bool
) -> Trajectory:
    """The trajectory of some entries of a session. A "no" falls on it when it is `alone`, or did not end well."""
    release = next((entry.release for entry in entries if entry.role != "error"), entries[0].release)
    draft = Draft(session.path, format=f"ufo-{release}", request=request, subtask=subtask)
    draft.number, draft.starts_with = session.number, session.first
    in_folder = session.path.name == RESPONSE
    draft.name = session.path.parent.name if in_folder else draft.name
    for entry in entries:
        draft.application(entry.application)
        for step in _steps_of(entry, session):
            draft.step(**step)
    evaluation, to_blame = session.evaluation, alone or entries[-1].failed or not entries[-1].claims_end
    success = evaluation.success if evaluation and (evaluation.success or to_blame) else None
    judged = evaluation if evaluation and evaluation.complete and (success is not None or subtask is None) else None
    claimed, agent = any(entry.claims_end for entry in entries), _agent(entries)
    reason = entries[-1].error if success is None else evaluation.reason if evaluation and not success else ""
    # The first plan there is: the host's for a whole request, else the actor's, else that of `request.log`.
    views = (session.views[entry.step].plan for entry in entries if entry.step in session.views)
    plans = chain((entry.plan for entry in entries), views)
    return draft.finish(
        success=success, evaluated_by="evaluator" if judged else "agent" if claimed else "none",
        judge=judged.judge if judged else None, failure_reason=reason,
        score=judged.score if judged and success is not None else None,
        **_spent(entries), plan=next(filter(None, plans), ()), agent=agent, env=_SYSTEMS.get(agent, "windows"),
        started_at=draft.name if in_folder else None,
        sources=[session.path.with_name(EVALUATION)] if evaluation else [],
        complete=goes_on or session.complete, problems=session.problems,
    )  # fmt: skip


def _followed_task(session: UfoSession) -> str:
    """The task of a `FollowerSession`, "" for any other. Its rounds are steps of a plan in words of UFO's own; what
    was asked for stands in the evaluation alone, as text where others have a JSON list.
    """
    asked = session.evaluation.request if session.evaluation else ""
    known = any(asked in (entry.request, entry.subtask) for entry in session.entries)
    return "" if not asked or asked.startswith("[") or known or len(session.rounds()) < 2 else asked


def _spent(entries: list[LogEntry]) -> dict[str, Any]:
    """Money, tokens and time; the time only where all entries tell it."""
    costs = [entry.cost for entry in entries if entry.cost is not None]
    times = [entry.seconds for entry in entries if entry.role != "error"]
    return {
        "cost": round(sum(costs), 9) if costs else None,
        "tokens": sum(entry.tokens or 0 for entry in entries) or None,
        "latency_ms": None if None in times else 1000 * sum(time or 0 for time in times),
    }


def _steps_of(entry: LogEntry, session: UfoSession) -> Iterator[dict[str, Any]]:
    """Each executed or attempted action as the arguments of `Draft.step`; the first has what the model call cost."""
    view = session.views.get(-1 if entry.step is None else entry.step, StepView())
    for number, action in enumerate(entry.actions):
        step = {name: value for name, value in action.items() if name not in ("label", "status")}
        label, control, error = action["label"], action["control"], action["error"] or ""
        within, place = around(view.listed, label, control) or ("", None)
        yield step | {
            "control_type": action["control_type"] or view.type_of(label, control),
            "observation": entry.observation,
            "result": action["result"] or ("skipped" if error.startswith(ufo_log.SKIPPED) else None),
            "agent": _agent([entry]),
            "application": entry.application,
            "cost": entry.cost if number == 0 else None,
            "line": entry.line,
            "screen": view.listed if entry.role == "app" else (),
            "within": within or action["within"],
            "around": place,
        }


def _agent(entries: list[LogEntry]) -> str:
    """HostAgent, AppAgent, or the name of another system's agent. v0.0.1 uses these names the other way round."""
    actor = next((entry for entry in entries if entry.role == "app"), entries[0])
    if actor.role == "host":
        return actor.agent if actor.agent in HOSTS else HOSTS[0]
    return actor.agent if actor.agent.isidentifier() and actor.agent != "ActAgent" else "AppAgent"


class UfoYamlReader(RowsReader):
    """One `experience.yaml` or demonstration file: `{exampleN: {example: {…}, Tips, request, Sub-task, app_list}}`."""

    name = "ufo-yaml"
    tasks = ("request",)
    agent, env = "AppAgent", "windows"
    suffixes, sign = (".yaml", ".yml"), _MARKS

    def is_row(self, row: Row) -> bool:
        return bool(row.row("example")) and bool(row.name("request", "Sub-task"))

    def run_of(self, entry: Any) -> Trajectory:
        """The run of an entry that a program hands in. Raises `DataError`."""
        row = as_dict(entry)
        if not self.is_row(row):
            raise DataError("not an example with a request", code="E_SCHEMA")
        draft = Draft(Path(self.name), format=self.name, starts_with=row)
        ending = self.fill(draft, row)
        return draft.finish(**ending, agent=self.agent, env=self.env)

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        for key, value in load_yaml(path, typed="Args").items():
            entry = as_dict(value)
            if key.startswith("example") and self.is_row(entry):
                yield entry
            else:
                report.problems.append(problem(path, "E_ENTRY", f"{key[:60]!r} is not an example with a request"))

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        example, applications = row.row("example"), [as_name(name) for name in row.listed("app_list")]
        draft.request, draft.subtask = row.name("request"), row.name("Sub-task")
        if function := example.name("Function"):
            draft.step(
                function, control=example.get("ControlText"), parameters=example.get("Args"), agent=self.agent,
                observation=example.first("Observation", "Thought"), application=next(iter(applications), None),
            )  # fmt: skip
        for name in applications:
            draft.application(name)
        finished = example.name("Status").upper() == "FINISH"
        told = {"plan": example.lines("Plan"), "tips": row.lines("Tips")}
        return {"evaluated_by": "agent" if finished else "none", **told}


class DataflowReader(RowsReader):
    """One dataflow result. The published records miss fields their own schema requires; all are optional."""

    name = "ufo-dataflow"
    agent, env = "AppAgent", "windows"

    def is_row(self, row: Row) -> bool:
        results = row.keys() & {"instantiation_result", "execution_result"}
        return bool(results) and bool(row.keys() & {"unique_id", "original"}) and bool(_request_of(row))

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        draft.request = _request_of(row)
        execution = row.row("execution_result")
        judged, failure = execution.row("result"), execution.row("error")
        draft.application(row.get("app"))
        for item in _prefill(row).rows("instantiated_plan"):
            worked = item.get("Success")
            if function := item.name("Function"):
                draft.step(
                    function, control=item.first("MatchedControlText", "ControlText"), parameters=item.get("Args"),
                    observation=item.get("Subtask"), agent=self.agent, application=row.get("app"),
                    result=None if judged or isinstance(worked, bool) else NOT_EXECUTED,
                    error="the step did not succeed" if worked is False else None,
                )  # fmt: skip
        verdict, seconds = ufo_log.evaluation_of(judged), row.row("time_cost").amount("execute")
        outcome = {"success": verdict.success, "evaluated_by": "evaluator", "judge": "model"} if judged else {}
        reason = verdict.reason if verdict.success is False else ""
        return {
            **outcome,
            "failure_reason": reason or failure.text("message", "type") or None,
            "latency_ms": seconds * 1000 if seconds is not None else None,
            "plan": row.row("original").lines("original_steps"),
            "complete": not failure,
        }


def _prefill(row: Row) -> Row:
    return row.row("instantiation_result").row("prefill").row("result")


def _request_of(row: Row) -> str:
    return _prefill(row).text("instantiated_request") or row.row("original").text("original_task")
