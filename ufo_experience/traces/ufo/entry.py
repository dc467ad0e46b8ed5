"""What a line of a UFO log says, the same for every release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ufo_experience.traces.coerce import as_name

SKIPPED = "skipped: "
HOSTS = ("HostAgent", "ConstellationAgent")
NO_ACTION = ("", "no_action")


@dataclass
class LoggedAction:
    """An action as logged. `error` None means it worked; it starts with SKIPPED when it was never tried."""

    function: str
    arguments: dict[str, Any] = field(default_factory=dict)
    control: str = ""
    control_type: str = ""
    label: str = ""
    result: str = ""
    error: str | None = None
    status: str | None = None
    secret: bool = False
    within: str = ""

    @property
    def ok(self) -> bool:
        """True when the action was executed and did not fail."""
        return self.error is None

    @property
    def skipped(self) -> bool:
        """True when the action was not tried."""
        return self.error is not None and self.error.startswith(SKIPPED)


@dataclass
class LogEntry:
    """One record of a log. `role` is host, app, error or unknown; `failed` that the step or an action in it failed."""

    line: int
    release: str
    role: str
    agent: str = ""
    step: int | None = None
    round: int = 0
    counter: int | None = None
    status: str | None = None
    request: str = ""
    subtask: str | None = None
    subtask_index: int | None = None
    application: str | None = None
    window: str | None = None
    target: str | None = None
    observation: str = ""
    plan: tuple[str, ...] = ()
    actions: list[LoggedAction] = field(default_factory=list)
    error: str | None = None
    cost: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    run: str = ""
    verdict: dict[str, Any] | None = None

    @property
    def failed(self) -> bool:
        """True when the step, or one of its actions, did not work."""
        return bool(self.error) or self.status == "ERROR" or any(not action.ok for action in self.actions)


def status_of(record: dict[str, Any]) -> str | None:
    """The status as UFO compares it: trimmed, in capitals; None when there is none."""
    value = record.get("Status", record.get("status"))
    return value.strip().upper() if isinstance(value, str) else None


def first_name(record: dict[str, Any], *keys: str) -> str:
    """The first of these fields that is not empty."""
    return next((text for key in keys if (text := as_name(record.get(key)))), "")


def is_password(item: dict[str, Any]) -> bool:
    """True when the log flags a control as a password field."""
    return any(key.replace("_", "").casefold() == "ispassword" and value is True for key, value in item.items())
