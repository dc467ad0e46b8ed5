"""The log of a session as a report for people, in the layout of UFO's `output.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ufo_experience.session.files import StrPath, read_json_lines, write_atomic
from ufo_experience.session.log_writer import EVALUATION, RESPONSE

NAME = "output.md"

_SPECIAL = re.compile(r"([\\`*_<>\[\]#|])")


def write_markdown(folder: StrPath) -> Path:
    """Write `output.md` from the logs in `folder`; returns its path.

    Raises:
        StorageError: the disk refused.
        DataError: a log is larger than is read.
    """
    path = Path(folder) / NAME
    steps = [line for line in read_json_lines(Path(folder) / RESPONSE) if isinstance(line, dict)]
    judgements = [line for line in read_json_lines(Path(folder) / EVALUATION) if isinstance(line, dict)]
    write_atomic(path, to_markdown(steps, judgements))
    return path


def to_markdown(steps: list[dict[str, Any]], judgements: list[dict[str, Any]]) -> str:
    """The report: summary, judgements, then every step."""
    requests = list(dict.fromkeys(_plain(step.get("request")) for step in steps))
    cost = sum(float(step.get("llm_cost", step.get("cost")) or 0.0) for step in steps)
    parts = ["# Trajectory Data", "", "## Summary", ""]
    parts += [f"- **Request**: {request}" for request in requests]
    parts += [f"- **Total Steps**: {len(steps)}", f"- **Total Cost**: ${cost:.4f}", ""]
    if judgements:
        parts += ["## Evaluation Results", "", *(_judgement(one) for one in judgements), ""]
    parts += ["## Steps", ""]
    for number, step in enumerate(steps):
        parts += _step(number, step)
    return "\n".join(parts) + "\n"


def _judgement(judgement: Mapping[str, Any]) -> str:
    return f"- **Complete**: {_plain(judgement.get('complete'))}. {_plain(judgement.get('reason'))}"


def _step(number: int, step: Mapping[str, Any]) -> list[str]:
    actions = [action for action in step.get("action") or [] if isinstance(action, dict)]
    lines = [f"### Step {number}: {_plain(step.get('agent_name'))}", ""]
    lines.append(f"- **Status**: {_plain(step.get('status'))}")
    said = [name for name in ("subtask", "observation") if step.get(name)]
    lines += [f"- **{name.capitalize()}**: {_plain(step[name])}" for name in said]
    for action in actions:
        outcome = action.get("result") or {}
        error = f": {_plain(outcome.get('error'))}" if outcome.get("error") else ""
        lines.append(f"- **Action**: {_plain(action.get('action_string'))} → {_plain(outcome.get('status'))}{error}")
    if step.get("result"):
        lines.append(f"- **Result**: {_plain(step['result'])}")
    return [*lines, ""]


def _plain(value: Any) -> str:
    """Text on one line that Markdown shows as it is: a log must not become links or images of a report."""
    return _SPECIAL.sub(r"\\\1", " ".join(str("" if value is None else value).split()))
