"""PPTC sessions: instructions for a presentation with the API calls that carry them out, one session a line.

Each turn is one task. The calls are the data set's answer, not a log: steps say "not executed", success is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.base import ReadReport
from ufo_experience.traces.draft import NOT_EXECUTED, Draft, content_key, digest_of
from ufo_experience.traces.jsontext import peek
from ufo_experience.traces.python_calls import calls_of
from ufo_experience.traces.rows import first_of, nothing_in, records_of
from ufo_experience.traces.values import as_dict, as_list, as_name

_INSTRUCTION = ("instruction", "User instruction")
_CALLS = ("api_sequence", "Feasible API sequence")
_APPLICATION = "PowerPoint"


class PptcReader:
    """Reads PPTC sessions."""

    name = "pptc"

    def recognises(self, path: Path) -> bool:
        """True when the first object has turns with an API sequence."""
        first = as_dict(next(iter(peek(path)), None))
        return any(first_of(as_dict(turn), _CALLS) for turn in as_list(first.get("turns")))

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory per turn. Raises `TraceError` when no turn has an instruction and calls."""
        problems: list[Problem] = []
        number = 0
        for place, (line, record) in enumerate(records_of(path, problems), start=1):
            key = content_key(path.stem, place, digest_of(record))
            for turn in map(as_dict, as_list(record.get("turns"))):
                calls = calls_of(as_name(first_of(turn, _CALLS)))
                instruction = as_name(first_of(turn, _INSTRUCTION)).partition(" ##")[0].strip()
                if not calls or not instruction:
                    message = f"turn {turn.get('turn')!s:.10} has no instruction or no calls that can be read"
                    problems.append(Problem(file=str(path), line=line, code="E_STEP", message=message))
                    continue
                number += 1
                yield self._trajectory(path, key, line, instruction, calls)
        report.problems += problems
        if not number:
            raise nothing_in(path, "turn", problems)

    def _trajectory(
        self, path: Path, key: str, line: int | None, instruction: str, calls: list[tuple[str, dict[str, Any]]]
    ) -> Trajectory:
        draft = Draft(path, format=self.name, session=key, request=instruction)
        for name, arguments in calls:
            draft.step(name, parameters=arguments, result=NOT_EXECUTED, application=_APPLICATION, line=line)
        return draft.finish(success=None)
