"""OSWorld run folders: `traj.jsonl` (actions as Python source), `result.txt` (one float), the task from elsewhere.

The folder does not hold the instruction. It is looked for in `task.json` or `<task id>.json` beside the run, and in
`evaluation_examples/examples/<domain>/<task id>.json` of a folder above. `WAIT` is a step, `DONE` and `FAIL` are the
agent's claims. A result of 1 is success, 0 is failure, anything between is unknown and kept as the score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.actions import Call, calls_in, take_target
from ufo_experience.traces.builder import Draft, content_key
from ufo_experience.traces.coerce import as_dict, as_list, as_name, as_text
from ufo_experience.traces.common_keys import nothing_in
from ufo_experience.traces.json_lines import JsonLines, load_document, peek, peek_text
from ufo_experience.traces.reader import ReadReport
from ufo_experience.traces.screen_tree import named_at, names_of_calls

TRAJECTORY, RESULT = "traj.jsonl", "result.txt"
_KEYS = {"action", "Error"}
_CLAIMS = ("DONE", "FAIL")
_THOUGHTS = ("response", "thought", "reflection", "observation")
_WORDS = ("action_description", "instruction_step", "low_level_instruction", "thought", "response")
_ALMOST_ONE = 0.999


class OSWorldReader:
    """Reads one OSWorld run folder, or its `traj.jsonl`."""

    name = "osworld"

    def recognises(self, path: Path) -> bool:
        """True for a folder with `traj.jsonl`, and for a file whose lines have `step_num` and `action`."""
        if path.is_dir():
            return (path / TRAJECTORY).is_file()
        return any(isinstance(row, dict) and {"step_num", "action"} <= row.keys() for row in peek(path))

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield the run. Raises `TraceError` when it has no line."""
        file = path / TRAJECTORY if path.is_dir() else path
        lines = JsonLines(file)
        rows = [(line, row) for line, row in lines if row.keys() & _KEYS]
        if not rows:
            raise nothing_in(file, "step", lines.problems)
        folder = file.absolute().parent
        task, source = _task_of(folder, lines.problems)
        request = task.get("instruction")
        if not request:
            message = "the instruction is in no task file beside or above the run"
            lines.problems.append(Problem(file=str(file), code="E_NO_TASK", message=message))
        folder = file.absolute().parent
        draft = Draft(
            file, format=self.name, session=content_key(folder.name, 1, content_hash(rows[0][1])), request=request
        )
        application = _application(task, folder)
        for line, row in rows:
            for step in steps_of(row):
                draft.step(**step, agent="osworld", application=application, line=line)
        score = _score(file.with_name(RESULT), lines.problems)
        report.problems += lines.problems
        errors = [as_text(row["Error"]) for _, row in rows if "Error" in row]
        claims = [row.get("action") for _, row in rows if row.get("action") in _CLAIMS or row.get("done") is True]
        yield draft.finish(
            success=_success(score),
            evaluated_by="evaluator" if score is not None else "agent" if claims else "none",
            judge="program" if score is not None else None,
            score=score,
            failure_reason=errors[-1] if errors else "the agent gave up" if "FAIL" in claims else None,
            agent="osworld",
            started_at=rows[0][1].get("action_timestamp"),
            sources=source,
            complete=not errors and not lines.torn,
            problems=lines.problems,
        )


def steps_of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of one line of the log, as `Draft.step` takes them."""
    thought = next((row[key] for key in _THOUGHTS if row.get(key)), None)
    calls = _calls(row.get("action") if row.get("action") not in (None, "") else row.get("code"))
    words = " ".join(as_name(row[key]) for key in _WORDS if row.get(key)) or as_name(thought)
    names = names_of_calls(calls, words, named_at(row))
    for call, mentioned in zip(calls, names, strict=True):
        own, role = take_target(call.arguments, call.name)
        yield {
            "action_type": call.name,
            "control": own,
            "control_type": role,
            "parameters": call.arguments,
            "observation": thought,
            "mentioned": mentioned,
            "error": as_name(row.get("error")) or None,
            "timestamp": row.get("action_timestamp"),
        }


def _calls(action: Any) -> list[Call]:
    """The actions of one line: Python source, a word, or an object such as a tool call or one of computer_13."""
    command = as_dict(action).get("command")
    if isinstance(command, str) and "pyautogui" in command and not as_dict(as_dict(action).get("input")):
        action = command
    calls = calls_in(action)
    return [
        replace(call, name=call.name.lower() if call.name.isupper() else call.name)
        for call in calls
        if call.name.upper() not in _CLAIMS
    ]


def _success(score: float | None) -> bool | None:
    if score is None:
        return None
    return True if score >= _ALMOST_ONE else False if score == 0 else None


def _score(path: Path, problems: list[Problem]) -> float | None:
    """The float of `result.txt`; None when the file is absent or says something else."""
    if path.is_symlink() or not path.is_file():
        return None
    text = peek_text(path).strip()
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1.0001:
        problems.append(Problem(file=str(path), line=1, code="E_RESULT", message="not a number from 0 to 1"))
        return None
    return min(score, 1.0)


def _task_of(folder: Path, problems: list[Problem]) -> tuple[dict[str, Any], list[Path]]:
    """The task file of a run, looked for by the run's own folder names; empty when there is none."""
    name = f"{folder.name}.json"
    places = [folder / "task.json", folder / name, folder.parent / name]
    above = list(folder.parents)[:6]
    places += [parent / "evaluation_examples" / "examples" / folder.parent.name / name for parent in above]
    for place in places:
        if place.is_file() and not place.is_symlink():
            task = as_dict(load_document(place, problems))
            if task.get("instruction"):
                return task, [place]
    return {}, []


def _application(task: dict[str, Any], folder: Path) -> str | None:
    related = [as_name(app) for app in as_list(task.get("related_apps"))]
    return related[0] if related else as_name(task.get("snapshot")) or folder.parent.name or None
