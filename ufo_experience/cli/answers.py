"""What each command answers, as data for programs and as text for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ufo_experience.cli.console import Console, Table, counted
from ufo_experience.ingest import IngestReport
from ufo_experience.memory import ExperienceMemory
from ufo_experience.retrieve.answer import SIGNALS, Retrieval, count_whys, releases
from ufo_experience.schema import Experience, Hit, Step, Trust
from ufo_experience.store.exchange import ImportReport
from ufo_experience.store.selection import ChangeReport, StoreStats, nearest_application
from ufo_experience.traces.files import without_log
from ufo_experience.trust.policy import TrustPolicy

_WIDTH = 60
_FEW = 5  # so many lines that say the same are shown
# The parts of the pairs of a report, as JSON names them.
_PAIRS = {
    "skipped": ("source", "reason"),
    "failed": ("source", "error"),
    "shortened": ("source", "reason"),
    "incomplete": ("id", "lacks"),
    "left_out": ("id", "reason"),
}
_DONE = {
    "approve": "approved",
    "quarantine": "quarantined",
    "remove": "removed; to bring back: ufo-experience remove --undo {ids}",
    "purge": "erased for good",
}


def report_data(report: IngestReport | ImportReport | ChangeReport) -> dict[str, Any]:
    data = vars(report)
    pairs = {name: parts for name, parts in _PAIRS.items() if name in data}
    return data | {name: [dict(zip(parts, pair, strict=True)) for pair in data[name]] for name, parts in pairs.items()}


def ingest_text(report: IngestReport, memory: ExperienceMemory, verbose: bool) -> str:
    """Counts, and what the user can do about the records that nobody judged; `verbose` names each skipped."""
    judgeable = {*report.added}.difference(id for id, _ in report.incomplete)
    held = [one.id[:8] for one in memory.store.scan(sorted(judgeable)) if one.trust.rank < Trust.VERIFIED.rank]
    judging = f"judge {' '.join(held)} --success" if len(held) <= _FEW else "ingest THE SAME LOGS --success"
    on_word = {*report.on_log_word} & {*report.added}
    lacking = [f"{count} {why}" for why, count in Counter(why for _, why in report.incomplete).items()]
    said = {
        f"not read{without_log(report.no_log)}": report.no_log and report.read,
        f"{len(report.trusted)} stored before: the trust is now the one you gave": report.trusted,
        f"{len(report.judged)} stored before: the outcome is now the one you gave": report.judged,
        f"not judged by anybody: {len(held)} of the added; kept, and not shown to agents (that an agent calls itself "
        f"done is no judgement). If {'it' if len(held) == 1 else 'they'} worked: ufo-experience {judging}": held,
        f"trusted on what the log itself says of the end: {len(on_word)} of the added": on_word,
        f"never shown, for nobody could follow them: {len(report.incomplete)} of the added "
        f"({', '.join(lacking)})": lacking,
        f"cost: ${report.cost:.4f}": report.cost,
    }
    return counts(report, said, verbose=verbose)


def import_text(done: ImportReport, memory: ExperienceMemory) -> str:
    there = memory.store.scan(sorted({*done.added, *done.known}))
    waiting = sum(one.trust is Trust.QUARANTINED for one in there)
    said = {
        f"{len(done.approved)} approved": done.approved,
        f"{waiting} are quarantined until you approve them (--approve here does): ufo-experience approve ID": waiting,
    }
    return counts(done, said)


def counts(report: ImportReport, said: Mapping[str, object], *, verbose: bool = False) -> str:
    """What was added, skipped (a line each, or one for many of the same reason) and failed; what else holds of it."""
    head = f"{len(report.added)} added, {len(report.skipped)} skipped, {len(report.failed)} failed"
    lines = _told("  skipped", report.skipped, verbose=verbose)
    return "\n".join([head, *lines, *(text for text, holds in said.items() if holds)])


def _told(what: str, pairs: Sequence[tuple[str, str]], *, verbose: bool = False) -> list[str]:
    """A line for each source and why; one for many of the same reason."""
    reasons = [why.partition(" as ")[0] if "already" in why else why for _, why in pairs]
    often = [reason for reason, count in sorted(Counter(reasons).items()) if count > _FEW and not verbose]
    told = zip(pairs, reasons, strict=True)
    lines = [f"{what}: {source}: {why}" for (source, why), reason in told if reason not in often]
    return lines + [f"{what}: {reasons.count(reason)} × {reason}" for reason in often]


def tell_problems(console: Console, report: IngestReport | ImportReport) -> None:
    """What could not be read, and what was read in part, a line each."""
    for problem in getattr(report, "problems", ()):
        console.note(f"{problem.place}: {problem.code}: {problem.message}")
    for name in ("failed", "shortened"):
        for line in _told(name, getattr(report, name, ())):
            console.note(line)


def answer_retrieval(console: Console, memory: ExperienceMemory, found: Retrieval, explain: bool) -> None:
    """The hits as a table, with failed runs and near misses; why there are none."""
    say_what_is_missing(console, memory, found)
    applications = {one.id: one.state.application for one in memory.store.scan(sorted(found.withheld_ids))}
    told = ("degraded", "withheld_ids", "withheld_why", "embedder", "threshold", "reason", "notes")
    data = {name: [_hit(hit, explain) for hit in getattr(found, name)] for name in ("hits", "negatives", "near")}
    data |= {name: getattr(found, name) for name in told} | {"withheld": len(found.withheld)}
    data["withheld_records"] = [
        {**vars(one), "application": applications.get(one.id), "remedy": one.remedy} for one in found.withheld
    ]
    rows = [*map(_hit_row, (*found.hits, *found.negatives)), *(_hit_row(hit, "near miss") for hit in found.near)]
    nothing = "" if found.hits else f"no useful experience: {found.reason}"
    if nothing and rows:
        console.note(nothing)
    console.answer(data, Table(("score", "outcome", "steps", "application", "id", "task"), rows) if rows else nothing)
    if explain and not console.as_json:
        console.note(_explained([*found.hits, *found.negatives, *found.near]))


def _explained(hits: Sequence[Hit]) -> str:
    """Each signal of a score in plain words, with its value for each hit."""
    ids = [hit.id[:8] for hit in hits]
    rows = [
        [name, *(f"{hit.explanation[name]:.3f}" if name in hit.explanation else "-" for hit in hits), words]
        for name, words in SIGNALS.items()
        if any(name in hit.explanation for hit in hits)
    ]
    return Table(["signal", *ids, "what it says"], rows).text() if hits else ""


def say_what_is_missing(console: Console, memory: ExperienceMemory, found: Retrieval) -> None:
    """Say on stderr what a user must know to trust the answer: degraded, withheld, a name that is spelled wrong."""
    if found.degraded:
        console.note(f"degraded: {found.degraded}; answered by words alone")
    if found.withheld:
        console.note(f"{len(found.withheld)} withheld ({count_whys(found.withheld)})")
        for command in releases(found.withheld):
            console.note(f"  to release: {command}")
        for one in [one for one in found.withheld if not one.release][:_FEW]:
            console.note(f"  {one.id[:8]} {one.task[:_WIDTH]!r}: {one.remedy}")
    asked = found.application
    if asked and not found.hits and (near := nearest_application(memory.store, asked)) is not None:
        known = f"; did you mean {' or '.join(near)}?" if near else ""
        console.note(f"no experience of an application {asked!r}{known}")
    for note in found.notes:
        console.note(note)


def answer_records(
    console: Console, experiences: Sequence[Experience], *, policy: TrustPolicy | None = None, **more: Any
) -> None:
    """Records as a list of their headlines; `more` goes into the JSON. `policy` says which need a new look."""
    listed, rows, again = [], [], []
    for one in experiences:
        why = policy.look_again(one) if policy else None
        listed.append({**_headline(one), "created_at": one.created_at.isoformat(), "look_again": why})
        verdict = f"{one.outcome.word}{', look again' if why else ''}"
        steps, application = len(one.action.steps), one.state.application or "-"
        again += [f"look again: {one.id[:8]} {why}"] if why else []
        rows.append((one.id[:8], one.created_at.date(), verdict, one.trust.value, steps, application, _title(one)))
    headers = ("id", "date", "outcome", "trust", "steps", "application", "task")
    for line in again[:_FEW]:
        console.note(line)
    if again:
        console.note("to look: ufo-experience show ID; then quarantine it, or report a success once it worked again")
    console.answer({"experiences": listed, **more}, Table(headers, rows) if rows else "no records")


def answer_changes(console: Console, changes: ChangeReport, verb: str) -> None:
    for identifier, why in changes.left_out:
        console.note(f"left out: {identifier[:8]}: {why}")
    number = counted(len(changes), "record")
    if changes.dry_run:
        console.note(f"would {verb} {number}; nothing was changed")
    elif len(changes):
        console.note(f"{number} {_DONE[verb].format(ids=_few_ids(changes))}")
    if verb == "approve" and (failed := [one for one in changes if one.is_negative]):
        console.note(f"{len(failed)} of them failed; agents are shown that as tried and failed: {_few_ids(failed)}")
    if verb == "approve" and (open_ := [one for one in changes if one.outcome.success is None]):
        console.note(
            f"{len(open_)} nobody has judged; agents are shown that as tried, outcome unknown. If it worked: "
            f"ufo-experience judge {' '.join(one.id[:8] for one in open_[:_FEW])} --success"
        )
    answer_records(console, changes, **report_data(changes))


def _few_ids(records: Sequence[Experience]) -> str:
    return " ".join(one.id[:8] for one in records[:_FEW]) + (" …" if len(records) > _FEW else "")


def record_text(one: Experience, trust_reason: str | None = None) -> str:
    state, outcome, usage, origin = one.state, one.outcome, one.usage, one.provenance
    score = "" if outcome.score is None else f", score {outcome.score:.2f}"
    facts = {
        "id": one.id,
        "outcome": f"{outcome.word} (said by {outcome.judge or outcome.evaluated_by}{score})",
        "trust": f"{one.trust.value} ({trust_reason})" if trust_reason else one.trust.value,
        "application": state.application,
        "wordings": "; ".join(state.wordings),
        "made": f"{one.created_at:%Y-%m-%d %H:%M} UTC",
        "source": f"{origin.source or 'a program'} {f'({origin.format})' if origin.format else ''}".strip(),
        "session": origin.session,
        "used": f"{counted(usage.injected, 'time')}, helped {usage.helped}, hurt {usage.hurt}"
        if usage.injected
        else None,
        "reason": outcome.failure_reason,
        "slots": ", ".join(f"{name} = {kind}" for name, kind in one.slots.items()),
        "needs": "; ".join(one.preconditions),
        "avoid when": "; ".join(one.avoid_when),
        "action": "" if one.action.steps else f"{one.action.strategy} {one.action.skill}".strip(),
        "tips": "; ".join(one.action.tips),
        "notes": "; ".join(origin.notes),
    }
    lines = [state.request or state.task, *_facts(facts, 13, indent="  ")]
    return "\n".join([*lines, *(f"  {_step_text(step)}" for step in one.action.steps)])


def _facts(facts: Mapping[str, object], width: int, indent: str = "") -> list[str]:
    """What is known, a line each, as `name: value` in two columns."""
    return [f"{indent}{name + ':':<{width}}{value}" for name, value in facts.items() if value]


def _step_text(step: Step) -> str:
    """A recorded step in one line, and how it ended."""
    seen = " ".join(step.observation.split())
    return str(step) + (f" - failed: {step.error}" if step.error else f" - {seen}" if seen else "")


def stats_text(told: StoreStats, threshold: float | str) -> str:
    """What is in a store, a line each; `threshold` is what the settings say of it."""

    def most_of(found: dict[str, int], most: int = 6) -> str:
        shown = [f"{count} {name}" for name, count in list(found.items())[:most]]
        return ", ".join(shown + ([f"{len(found) - most} more"] if len(found) > most else [])) or "-"

    in_use = "auto" if told.threshold is None else f"{told.threshold:.3g}{' (calibrated)' * (threshold == 'auto')}"
    index = f"{told.indexed} of {told.records} records embedded by {told.embedder}, threshold {in_use}"
    dates = f"{told.oldest:%Y-%m-%d} to {told.newest:%Y-%m-%d}" if told.oldest and told.newest else "-"
    facts = {
        "store": told.location,
        "records": f"{told.records}, {dates}",
        "outcome": most_of(told.outcome),
        "trust": most_of(told.trust),
        "risky": f"{told.risky} with a step to look at before it is approved" if told.risky else "",
        "applications": most_of(told.applications),
        "used": f"{told.injected} times by the reports, helped {told.helped}, hurt {told.hurt}",
        "look again": f"{told.look_again} that last did not work; which, and what to do: ufo-experience list"
        if told.look_again
        else "",
        "index": index if told.embedder else "not made yet: the next question makes it, or: ufo-experience index",
    }
    return "\n".join(_facts(facts, 14))


def _headline(one: Experience) -> dict[str, Any]:
    return {
        "id": one.id,
        "task": one.state.task,
        "request": one.state.request,
        "application": one.state.application,
        "success": one.outcome.success,
        "trust": one.trust,
        "steps": len(one.action.steps),
    }


def _hit(hit: Hit, explain: bool) -> dict[str, Any]:
    data = {**_headline(hit.experience), "score": hit.score, "ranked_by": hit.ranked_by}
    return {**data, "explanation": hit.explanation} if explain else data


def _hit_row(hit: Hit, outcome: str = "") -> tuple[object, ...]:
    one = hit.experience
    told, application = outcome or one.outcome.word, one.state.application or "-"
    return (f"{hit.score:.2f}", told, len(hit.steps), application, hit.id[:8], _title(one))


def _title(one: Experience) -> str:
    text = " ".join((one.state.request or one.state.task).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
