"""Small records and a memory of them, for the tests of scoring and retrieval."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ufo_experience.config import Settings
from ufo_experience.ids import content_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import Control, Experience, Outcome, Provenance, State, Step, Trust, Usage
from ufo_experience.text.slots import mask_slots

WHEN = datetime(2025, 1, 1, tzinfo=timezone.utc)
OK = Control(name="OK", type="Button")
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


def record(
    text: str, *, session: str = "", trust: Trust = Trust.VERIFIED, steps: int = 1, **changes: Any
) -> Experience:
    """The record of a successful run at `text`; its id follows from text and session."""
    usage = Usage(**changes.pop("usage", {}))
    return Experience(
        id=content_id([text, session, steps]),
        state=State(task=mask_slots(text), request=text, application=changes.pop("application", None)),
        action={"steps": [Step(step_number=n + 1, action_type="click_input", target_control=OK) for n in range(steps)]},
        outcome=Outcome(success=changes.pop("success", True)),
        created_at=WHEN,
        trust=trust,
        usage=usage,
        provenance=Provenance(session=session or text, origin=changes.pop("origin", "log")),
        **changes,
    )


def memory_of(folder: Path, *records: Experience) -> ExperienceMemory:
    """A memory that holds these records, with the hashing embedder."""
    memory = ExperienceMemory.open(settings=Settings(db=str(folder), embedder="hashing"))
    memory.store.add(records)
    for one in records:
        if one.usage != Usage():
            memory.store.set_status(one.id, usage=one.usage)
    memory.index()
    return memory
