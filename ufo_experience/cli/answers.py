"""What each command answers, as data for programs and as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ufo_experience.cli.console import Console, table

if TYPE_CHECKING:
    from ufo_experience.ingest import IngestReport
    from ufo_experience.retrieval.answer import Retrieval
    from ufo_experience.schema import Experience, Hit

_WIDTH = 60


def pairs(rows: Sequence[tuple[str, str]], first: str, second: str) -> list[dict[str, str]]:
    """Two-column rows as objects."""
    return [{first: one, second: other} for one, other in rows]


def ingest_text(report: IngestReport, held: int) -> str:
    """Counts, and what the user can do about records that will not be injected yet."""
    lines = [f"{len(report.added)} added, {len(report.skipped)} skipped, {len(report.failed)} failed"]
    lines += [f"  skipped: {source}: {reason}" for source, reason in report.skipped]
    if held:
        lines.append(
            f"{held} of them have no judged outcome: kept, but not injected until you run: ufo-experience approve ID"
        )
    if report.cost:
        lines.append(f"cost: ${report.cost:.4f}")
    return "\n".join(lines)


def retrieval_data(found: Retrieval, explain: bool) -> dict[str, Any]:
    """The retrieval as one object."""
    return {
        "hits": [_hit(hit, explain) for hit in found.hits],
        "negatives": [_hit(hit, explain) for hit in found.negatives],
        "degraded": found.degraded,
        "withheld": len(found.withheld),
        "withheld_ids": list(found.withheld_ids),
        "withheld_why": list(found.withheld_why),
        "withheld_records": [asdict(one) for one in found.withheld],
        "embedder": found.embedder,
        "threshold": found.threshold,
        "reason": found.reason,
        "notes": list(found.notes),
    }


def retrieval_text(found: Retrieval, explain: bool) -> str:
    """The retrieval as a table, or the sentence that nothing useful is known."""
    if not found.hits and not found.negatives:
        return f"no useful experience: {found.reason}"
    rows = [_hit_row(hit) for hit in [*found.hits, *found.negatives]]
    lines = [table(("score", "by", "outcome", "steps", "application", "id", "task"), rows)]
    if explain:
        for hit in [*found.hits, *found.negatives]:
            parts = ", ".join(f"{name} {value:.3f}" for name, value in hit.explanation.items())
            lines.append(f"{hit.experience.id[:8]}: {parts}")
    return "\n".join(lines)


def say_what_is_missing(console: Console, found: Retrieval) -> None:
    """Say on stderr what a user must know to trust the answer: degraded, withheld, notes."""
    if found.degraded:
        console.note(f"degraded: {found.degraded}; answered by words alone")
    if found.withheld:
        from ufo_experience.retrieval.answer import count_whys

        console.note(f"{len(found.withheld)} withheld ({count_whys(found.withheld)})")
        for command in list(dict.fromkeys(one.release for one in found.withheld if one.release))[:3]:
            console.note(f"  to release: {command}")
    for note in found.notes:
        console.note(note)


def answer_records(console: Console, experiences: Sequence[Experience]) -> None:
    """Records as a list of their headlines."""
    data = {"experiences": [_record(one) for one in experiences]}
    rows = [
        (one.id[:8], _verdict(one), one.trust.value, len(one.action.steps), one.state.application or "-", _title(one))
        for one in experiences
    ]
    text = table(("id", "outcome", "trust", "steps", "application", "task"), rows) if rows else "no records"
    console.answer(data, text)


def _record(one: Experience) -> dict[str, Any]:
    return {
        "id": one.id,
        "task": one.state.task,
        "request": one.state.request,
        "application": one.state.application,
        "success": one.outcome.success,
        "trust": one.trust.value,
        "steps": len(one.action.steps),
    }


def _hit(hit: Hit, explain: bool) -> dict[str, Any]:
    data = {
        "id": hit.experience.id,
        "score": hit.score,
        "ranked_by": hit.ranked_by,
        "task": hit.experience.state.task,
        "request": hit.experience.state.request,
        "application": hit.experience.state.application,
        "steps": len(hit.experience.action.steps),
        "success": hit.experience.outcome.success,
        "trust": hit.experience.trust.value,
    }
    return {**data, "explanation": hit.explanation} if explain else data


def _hit_row(hit: Hit) -> tuple[object, ...]:
    one = hit.experience
    steps = len(one.action.steps)
    application = one.state.application or "-"
    return (f"{hit.score:.2f}", hit.ranked_by, _verdict(one), steps, application, one.id[:8], _title(one))


def _verdict(one: Experience) -> str:
    return {True: "success", False: "failure", None: "unknown"}[one.outcome.success]


def _title(one: Experience) -> str:
    text = " ".join((one.state.request or one.state.task).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
