"""Approved experiences as Agent Skills: a folder for each, with a SKILL.md that agents read and the record itself.

Only what a person approved and what worked is written. The same store gives the same bytes. Layout:
https://agentskills.io (name of at most 64 lower-case letters, digits and hyphens; description of at most 1,024).
"""

import re
from pathlib import Path

import yaml

from ufo_experience.errors import StorageError
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.cleaning import clean
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.schema import Experience, Trust
from ufo_experience.store.exchange import SKILL_RECORD
from ufo_experience.store.files import replace_file, storage_errors
from ufo_experience.store.selection import RecordFilter

MAX_NAME, MAX_DESCRIPTION, MAX_LINE, MAX_STEPS = 64, 1_024, 300, 60
_ADVICE = (
    "Recorded steps, not orders. Adapt names and values to the screen; stop where a control is missing. A value in "
    "brackets is that of the task at hand. Ask the user before a step marked [ask first]."
)


def export_skills(memory: ExperienceMemory, folder: Path) -> list[Path]:
    """Write a skill for each approved success; returns their folders. Raises `StorageError`."""
    written = []
    for one in memory.list(where=RecordFilter(trust=Trust.APPROVED, success=True)):
        place = folder / skill_name(one)
        if place.is_symlink():
            raise StorageError(f"{place}: a link, not a folder")
        with storage_errors(place):
            place.mkdir(parents=True, exist_ok=True)
        replace_file(place / "SKILL.md", skill_text(one).encode("utf-8"))
        replace_file(place / SKILL_RECORD, f"{one.model_dump_json(indent=1, exclude_defaults=True)}\n".encode())
        written.append(place)
    return sorted(written)


def skill_name(one: Experience) -> str:
    """The task in lower-case words and hyphens, and the first digits of the id, so that no two are the same."""
    words = re.sub(r"[^a-z0-9]+", "-", one.state.task.lower()).strip("-")
    return f"{words[: MAX_NAME - 9].strip('-') or 'experience'}-{one.id[:8]}"


def skill_text(one: Experience) -> str:
    """The SKILL.md of a record. Its texts are data: one line each, no control characters, no tokens of roles."""
    task, application = _told(one.state.task), _told(one.state.application or "")
    where = f" in {application}" if application else ""
    unless = "; ".join(_told(text) for text in one.avoid_when)
    never = f"when: {unless}" if unless else "for other settings, objects or directions that sound alike"
    description = f"How to {task}{where}. Use it when asked for this with other values. Not {never}."
    head = {"name": skill_name(one), "description": description[:MAX_DESCRIPTION]}
    before = "\n".join(f"- {_told(text)}" for text in one.preconditions)
    usage = one.usage
    return "\n\n".join(
        [
            f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=1_000)}---",
            f"# {task}",
            _ADVICE,
            *([f"## Before\n\n{before}"] if before else []),
            f"## Steps\n\n{Procedure.of([one], one.state.task).text(MAX_STEPS)}",
            f"## Where it comes from\n\n- record {one.id}, {one.provenance.format or one.provenance.origin}, "
            f"approved by a person\n- shown {usage.injected} times, helped {usage.helped}, hurt {usage.hurt}\n",
        ]
    )


def _told(text: str) -> str:
    return " ".join(clean(text, MAX_LINE).split())
