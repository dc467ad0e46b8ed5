"""UFO's `experience.yaml` and demonstration files: `{exampleN: {example: {…}, Tips, request, Sub-task, app_list}}`.

Only the first action of each example is structured. UFO keeps what a user or a setting told it to keep, so an entry
says nothing certain about success.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.builder import Draft, content_key
from ufo_experience.traces.coerce import as_dict, as_lines, as_list, as_name
from ufo_experience.traces.common_keys import nothing_in
from ufo_experience.traces.json_lines import peek_text
from ufo_experience.traces.reader import ReadReport

_SUFFIXES = (".yaml", ".yml")
_MARKS = re.compile(r"^[^\S\n]{1,64}example:", re.MULTILINE)
_TYPED = "Args"


class UfoYamlReader:
    """Reads one `experience.yaml` or demonstration file."""

    name = "ufo-yaml"

    def recognises(self, path: Path) -> bool:
        """True for a YAML file with UFO's `example:` entries."""
        return path.suffix.casefold() in _SUFFIXES and bool(_MARKS.search(peek_text(path)))

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory per example. Raises `TraceError` for unsafe or broken YAML, or without an example."""
        from ufo_experience.traces.safe_yaml import load_yaml

        problems: list[Problem] = []
        number = 0
        for key, entry in load_yaml(path, typed=_TYPED).items():
            example = as_dict(as_dict(entry).get("example"))
            request = as_name(as_dict(entry).get("request")) or as_name(as_dict(entry).get("Sub-task"))
            if not key.startswith("example") or not example or not request:
                message = f"{key[:60]!r} is not an example with a request"
                problems.append(Problem(file=str(path), code="E_ENTRY", message=message))
                continue
            number += 1
            yield self._trajectory(path, as_dict(entry), example, number)
        report.problems += problems
        if not number:
            raise nothing_in(path, "example", problems)

    def _trajectory(self, path: Path, entry: dict[str, Any], example: dict[str, Any], number: int) -> Trajectory:
        key = content_key(path.stem, number, content_hash(entry))
        draft = Draft(path, format=self.name, session=key, request=entry.get("request"), subtask=entry.get("Sub-task"))
        applications = [as_name(name) for name in as_list(entry.get("app_list"))]
        if as_name(example.get("Function")):
            draft.step(
                example["Function"],
                control=example.get("ControlText"),
                parameters=example.get(_TYPED),
                observation=example.get("Observation") or example.get("Thought"),
                agent="AppAgent",
                application=applications[0] if applications else None,
            )
        for name in applications:
            draft.application(name)
        finished = as_name(example.get("Status")).upper() == "FINISH"
        return draft.finish(
            success=None,
            evaluated_by="agent" if finished else "none",
            plan=as_lines(example.get("Plan")),
            tips=as_lines(entry.get("Tips")),
            agent="AppAgent",
            env="windows",
        )
