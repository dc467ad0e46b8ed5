"""What tests are made of, built in one place: steps, runs, records, and memories that hold them."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ufo_experience.ids import content_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.request import Request
from ufo_experience.schema import (
    Control,
    Experience,
    Outcome,
    Provenance,
    State,
    Step,
    Trajectory,
    Trust,
    Usage,
    validate,
)
from ufo_experience.settings import Settings

WHEN = datetime(2025, 11, 12, 10, 4, 28, tzinfo=timezone.utc)
TEXTS = [
    "Send an email to Jane about the budget",
    "Turn on Bluetooth in the settings",
    "Filter the orders table by region",
    "Insert a chart of the sales data",
    "Export the presentation as a PDF",
    "Search the web for the city library",
    "Create a folder named Reports",
    "Schedule a meeting with the design team",
]


def a_step(number: int, action: str, control: str = "", kind: str | None = None, **fields: Any) -> Step:
    """A step on a control; `fields` are further fields of `Step`."""
    values = {"step_number": number, "action_type": action, "target_control": Control(name=control, type=kind)}
    return Step.model_validate({**values, **fields})


def a_run(*steps: Step, request: str = "Do it", **fields: Any) -> Trajectory:
    """A run of unknown outcome with these steps; `fields` are further fields of `Trajectory`."""
    values = {"outcome": Outcome(success=None), "format": "test", "session": "s#0", **fields}
    return Trajectory.model_validate({"request": request, "steps": steps, **values})


def a_record(number: int = 0, **changes: Any) -> Experience:
    """An observed record with one step; its id follows from `number`. `changes` replace whole fields."""
    return validate(
        Experience,
        {
            "id": content_id(["test", number]),
            "state": {
                "task": "send an email to <recipient>",
                "request": f"Email Zoë № {number}",
                "application": "Outlook",
            },
            "action": {
                "steps": [{"step_number": 1, "action_type": "click_input", "target_control": {"name": "New Email"}}]
            },
            "outcome": {"success": True, "score": 0.75},
            "created_at": WHEN,
            "trust": Trust.OBSERVED,
            "provenance": {"source": f"logs/s{number % 2}/response.log", "session": f"s{number % 2}", "origin": "log"},
        }
        | changes,
    )


def a_record_of(
    text: str, *, session: str = "", trust: Trust = Trust.VERIFIED, steps: int = 1, **changes: Any
) -> Experience:
    """The verified record of a successful run at the request `text`; its id follows from text and session."""
    usage = Usage(**changes.pop("usage", {}))
    return Experience(
        id=content_id([text, session, steps]),
        state=State(task=Request.parse(text).masked, request=text, application=changes.pop("application", None)),
        action={"steps": [a_step(n + 1, "click_input", "OK", "Button") for n in range(steps)]},
        outcome=Outcome(success=changes.pop("success", True)),
        created_at=changes.pop("created_at", datetime(2025, 1, 1, tzinfo=timezone.utc)),
        trust=trust,
        usage=usage,
        provenance=Provenance(session=session or text, origin=changes.pop("origin", "log")),
        **changes,
    )


def open_memory(folder: Path, **settings: Any) -> ExperienceMemory:
    """A memory that needs no service."""
    offline = {"embedder": "hashing", "summarizer": "extractive"}
    return ExperienceMemory.open(settings=Settings(db=str(folder), **{**offline, **settings}))


def memory_of(folder: Path, *records: Experience, index: bool = True, **settings: Any) -> ExperienceMemory:
    """A memory of these records and their credit, offline."""
    memory = open_memory(folder, **settings)
    memory.store.add(records)
    if index:
        memory.index()
    return memory
