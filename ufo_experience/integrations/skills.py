"""Approved experiences as Agent Skills: a folder for each, with a SKILL.md that agents read and the record itself.

    skills/insert-a-table-into-the-document-6935f48a/
        SKILL.md          name, description (when to use it, when not), steps, slots, where it comes from
        experience.json   the record as a `TaskExperience`

Only what a person approved and what worked is written; what comes back in is quarantined. The same store gives the same
bytes. Layout: https://agentskills.io (name of at most 64 lower-case letters, digits and hyphens; description of at most
1,024 characters).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from ufo_experience.errors import DataError, StorageError
from ufo_experience.integrations.formats.task_experience import from_task_experience, to_task_experience
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.cleaning import clean
from ufo_experience.schema import Experience, Trust
from ufo_experience.store.files import read_regular, replace_file, storage_errors
from ufo_experience.store.selection import RecordFilter
from ufo_experience.store.strict_json import parse
from ufo_experience.trust.risk import asks_first

SKILL, RECORD = "SKILL.md", "experience.json"
MAX_NAME, MAX_DESCRIPTION, MAX_LINE, MAX_STEPS = 64, 1_024, 300, 60
MAX_BYTES = 1 << 20


def export_skills(memory: ExperienceMemory, folder: Path) -> list[Path]:
    """Write a skill for each approved success; returns their folders.

    Raises:
        StorageError: a file cannot be written, or `folder` is a file.
    """
    written = []
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for one in memory.list(where=RecordFilter(trust=Trust.APPROVED, success=True)):
        place = folder / skill_name(one)
        if place.is_symlink():
            raise StorageError(f"{place}: a link, not a folder")
        with storage_errors(place):
            place.mkdir(exist_ok=True)
        record = json.dumps(to_task_experience(one), ensure_ascii=False, indent=1, sort_keys=True)
        replace_file(place / SKILL, skill_text(one).encode("utf-8"))
        replace_file(place / RECORD, f"{record}\n".encode())
        written.append(place)
    return sorted(written)


def read_skills(folder: Path) -> Iterator[Experience]:
    """The records of a folder of skills, or of one skill; quarantined.

    Raises:
        DataError: no skill of ours is there, or one cannot be read.
    """
    places = [folder] if (folder / RECORD).is_file() else sorted(path.parent for path in folder.glob(f"*/{RECORD}"))
    if not places:
        raise DataError(f"no skill with an {RECORD} is here", file=str(folder))
    for place in places:
        data = parse(read_regular(place / RECORD, MAX_BYTES), file=str(place / RECORD))
        if not isinstance(data, dict):
            raise DataError("not an object", file=str(place / RECORD), code="E_SCHEMA")
        yield from_task_experience(data, trust=Trust.QUARANTINED)


def import_skills(memory: ExperienceMemory, folder: Path) -> list[str]:
    """Take the skills of a folder in, quarantined; returns the ids that are new. Raises as `read_skills`."""
    return list(memory.take_in(read_skills(folder)).added)


def is_skills(folder: Path) -> bool:
    """True for a folder of skills that were exported here, or one of them."""
    return folder.is_dir() and ((folder / RECORD).is_file() or any(folder.glob(f"*/{RECORD}")))


def skill_name(one: Experience) -> str:
    """The task in lower-case words and hyphens, and the first digits of the id, so that no two are the same."""
    words = re.sub(r"[^a-z0-9]+", "-", one.state.task.lower()).strip("-")
    return f"{words[: MAX_NAME - 9].strip('-') or 'experience'}-{one.id[:8]}"


def skill_text(one: Experience) -> str:
    """The SKILL.md of a record. Its texts are data: one line each, no control characters, no tokens of roles."""
    application = _told(one.state.application or "")
    task = _told(one.state.task)
    where = f" in {application}" if application else ""
    unless = "; ".join(_told(text) for text in one.avoid_when)
    description = f"How to {task}{where}. Use it when asked for this with other values." + (
        f" Not when: {unless}." if unless else " Not for other settings, objects or directions that sound alike."
    )
    head = {"name": skill_name(one), "description": description[:MAX_DESCRIPTION]}
    parts = [
        f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=1_000)}---",
        f"# {task}",
        "Recorded steps, not orders. Adapt names and values to the screen; stop where a control is missing.",
        _section("Before", [_told(text) for text in one.preconditions]),
        "## Steps\n\n" + "\n".join(_steps(one)),
        _section("Values to fill in", [f"`{name}`: {_told(kind)}" for name, kind in sorted(one.slots.items())]),
        _section("Tips", [_told(tip) for tip in one.action.tips]),
        _section("Where it comes from", _origin(one)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _steps(one: Experience) -> Iterator[str]:
    asks = {step.step_number for step in one.action.steps if asks_first(step)}
    for place, step in enumerate(one.action.steps[:MAX_STEPS]):
        values = step.model_dump(mode="json", include={"parameters"})["parameters"]
        told = ", ".join(f"{name}={_told(str(value))}" for name, value in values.items())
        control = _told(f"{step.target_control.type or ''} {step.target_control.name}")
        ask = " (ask the user before this step)" if step.step_number in asks else ""
        yield f"{place + 1}. {_told(step.action_type)} {control}{f' with {told}' if told else ''}{ask}"


def _origin(one: Experience) -> list[str]:
    usage = one.usage
    return [
        f"record {one.id}, {one.provenance.format or one.provenance.origin}, approved by a person",
        f"shown {usage.injected} times, helped {usage.helped}, hurt {usage.hurt}",
    ]


def _told(text: str) -> str:
    """A text of the record on one line."""
    return " ".join(clean(text, MAX_LINE).split())


def _section(title: str, lines: list[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines) if lines else ""
