"""What an agent can know of past runs: the steps of one that worked, and what others tried in vain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class HintStep:
    """One remembered step: the function, the control it acted on, its parameters (placeholders stand for values)."""

    function: str
    control: str = ""
    type: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, step: Mapping[str, Any]) -> HintStep:
        """From a mapping with `function`, `control`, `type` and `parameters`; what is missing is empty."""
        parameters = {key: str(value) for key, value in (step.get("parameters") or {}).items()}
        return cls(str(step["function"]), str(step.get("control") or ""), str(step.get("type") or ""), parameters)


@dataclass(frozen=True)
class Hints:
    """A remembered run: the words of its task and its steps.

    Of failed runs: steps that are better avoided, and those it was about when it ended. `application` is where the
    remembered run began to work, "" where that is not told.
    """

    steps: tuple[HintStep, ...] = ()
    task: str = ""
    avoid: tuple[HintStep, ...] = ()
    unfinished: tuple[HintStep, ...] = ()
    application: str = ""
