"""OSWorld run folders: `traj.jsonl` (actions as Python source), `result.txt` (one float), the task from elsewhere.

The folder does not hold the instruction. It is looked for in `task.json` or `<task id>.json` beside the run, and in
`evaluation_examples/examples/<domain>/<task id>.json` of a folder above. `WAIT` is a step, `DONE` and `FAIL` are the
agent's claims. A result of 1 is success, 0 is failure, anything between is unknown and kept as the score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.calls import Call, calls_in
from ufo_experience.traces.draft import Draft, no_task, nothing_in, run_key
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import JsonLines, first_text, load_document, problem
from ufo_experience.traces.rows import rewarded, steps_of_calls
from ufo_experience.traces.tree import named_at
from ufo_experience.traces.values import as_dict, as_list, as_name, as_text, first_of

TRAJECTORY, RESULT = "traj.jsonl", "result.txt"
_CLAIMS = ("DONE", "FAIL")
_THOUGHTS = ("response", "thought", "reflection", "observation")
_WORDS = ("action_description", "instruction_step", "low_level_instruction", "thought", "response")
_LEVELS = 6  # folders above a run in which the task files are looked for


class OSWorldReader:
    """Reads one OSWorld run folder, or its `traj.jsonl`."""

    name = "osworld"

    def recognises(self, found: Found) -> bool:
        """True for a folder with `traj.jsonl`, and for a file whose lines have `step_num` and `action`."""
        if found.path.is_dir():
            return (found.path / TRAJECTORY).is_file()
        return any(isinstance(row, dict) and {"step_num", "action"} <= row.keys() for row in found.values)

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the run. Raises `DataError` when it has no line."""
        file = path / TRAJECTORY if path.is_dir() else path
        folder = file.absolute().parent
        lines = JsonLines(file)
        rows = [(line, row) for line, row in lines if row.keys() & {"action", "Error"}]
        if not rows:
            raise nothing_in(file, "step", lines.problems)
        task, source = _task_of(folder, lines.problems)
        if not task.get("instruction"):
            lines.problems.append(no_task(file, "no task file beside or above the run"))
        key = run_key(folder.name, 1, rows[0][1])
        draft = Draft(file, format=self.name, session=key, request=task.get("instruction"))
        related = [as_name(app) for app in as_list(task.get("related_apps"))]
        application = related[0] if related else as_name(task.get("snapshot")) or folder.parent.name or None
        for line, row in rows:
            for step in steps_of(row):
                draft.step(**step, agent=self.name, application=application, line=line)
        score = _score(file.with_name(RESULT), lines.problems)
        report.problems += lines.problems
        errors = [as_text(row["Error"]) for _, row in rows if "Error" in row]
        claims = [row.get("action") for _, row in rows if row.get("action") in _CLAIMS or row.get("done") is True]
        yield draft.finish(
            success=None if score is None else rewarded(score),
            evaluated_by="evaluator" if score is not None else "agent" if claims else "none",
            judge="program" if score is not None else None,
            score=score,
            failure_reason=errors[-1] if errors else "the agent gave up" if "FAIL" in claims else None,
            agent=self.name,
            started_at=rows[0][1].get("action_timestamp"),
            sources=source,
            complete=not errors and not lines.torn,
            problems=lines.problems,
        )


def steps_of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of one line of the log, as `Draft.step` takes them."""
    thought = first_of(row, _THOUGHTS)
    words = " ".join(as_name(row[key]) for key in _WORDS if row.get(key)) or as_name(thought)
    for step in steps_of_calls(_calls(first_of(row, ("action", "code"))), words, named_at(row)):
        error = as_name(row.get("error")) or None
        yield step | {"observation": thought, "error": error, "timestamp": row.get("action_timestamp")}


def _calls(action: Any) -> list[Call]:
    """The actions of one line: Python source, a word, or an object such as a tool call or one of computer_13."""
    given = as_dict(action)
    command = given.get("command")
    if isinstance(command, str) and "pyautogui" in command and not as_dict(given.get("input")):
        action = command
    for call in (calls := calls_in(action)):
        call.name = call.name.lower() if call.name.isupper() else call.name
    return [call for call in calls if call.name.upper() not in _CLAIMS]


def _score(path: Path, problems: list[Problem]) -> float | None:
    """The float of `result.txt`; None when the file is absent or says something else."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        score = float(first_text(path).strip())
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1.0001:
        problems.append(problem(path, "E_RESULT", "not a number from 0 to 1", 1))
        return None
    return min(score, 1.0)


def _task_of(folder: Path, problems: list[Problem]) -> tuple[dict[str, Any], list[Path]]:
    """The task file of a run, looked for by the run's own folder names; empty when there is none."""
    name = f"{folder.name}.json"
    places = [folder / "task.json", folder / name, folder.parent / name]
    above = list(folder.parents)[:_LEVELS]
    places += [parent / "evaluation_examples" / "examples" / folder.parent.name / name for parent in above]
    for place in places:
        if place.is_file() and not place.is_symlink():
            task = as_dict(load_document(place, problems))
            if task.get("instruction"):
                return task, [place]
    return {}, []
