"""Looking after records: list, show, judge, approve, quarantine, remove, purge, export, verify, stats, sources."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from ufo_experience.cli.answers import answer_changes, answer_records, record_text, stats_text
from ufo_experience.cli.app import command, open_memory, telling_itself
from ufo_experience.cli.arguments import Context, DryRun, Ids, Worked, takes_filter
from ufo_experience.cli.console import Table, counted
from ufo_experience.errors import DataError, UsageError
from ufo_experience.procedure.runs import join
from ufo_experience.schema import Trust
from ufo_experience.store.selection import RecordFilter, trust_reason, why_none
from ufo_experience.store.watch import LEFT_ALONE


@command("Look after", "list")
@takes_filter
def list_records(
    ctx: Context,
    where: RecordFilter,
    limit: Annotated[int | None, Option("-n", "--limit", min=1, help="At most so many, the newest.")] = None,
    removed: Annotated[bool, Option("--removed", help="What was removed and can be brought back.")] = False,
) -> None:
    """List what was learned, the newest first; with `--json` also each procedure with its runs."""
    with open_memory(ctx) as (console, memory):
        found = memory.list(where=where, limit=limit, removed=removed)
        if not (found or removed) and (why := why_none(memory.store, where)):
            console.note(why)
        procedures = [known.to_json() for known in join(found)]
        answer_records(console, found, policy=memory.parts.policy, procedures=procedures)


@command("Look after")
def show(ctx: Context, ids: Ids) -> None:
    """Show records: task, outcome, trust, source and steps; whole with --json."""
    with open_memory(ctx) as (console, memory):
        records = [memory.get(id) for id in ids]
        reasons = {one.id: why for one in records if (why := trust_reason(memory.store, one.id))}
        texts = [record_text(one, reasons.get(one.id)) for one in records]
        console.answer({"experiences": records, "trust_reasons": reasons}, "\n\n".join(texts))


@command("Look after")
def judge(
    ctx: Context,
    ids: Ids,
    success: Worked = None,
    reason: Annotated[str | None, Option(help="Why it failed, or what was wrong.")] = None,
    judge: Annotated[Literal["user", "program", "model"], Option(help="Who says so.")] = "user",
) -> None:
    """Say how runs ended that nobody had judged."""
    with open_memory(ctx) as (console, memory):
        if success is None:
            raise UsageError("say --success or --failure")
        full = [memory.get(id).id for id in ids]  # all are there before one is judged
        judged = [memory.judge(id, success=success, judge=judge, reason=reason) for id in full]
        if held := " ".join(one.id[:8] for one in judged if one.trust is Trust.QUARANTINED):
            console.note(f"still quarantined; to release: ufo-experience approve {held}")
        answer_records(console, judged)


@command("Look after")
@takes_filter
def approve(ctx: Context, where: RecordFilter, dry_run: DryRun = False) -> None:
    """Sign records off: they may be shown to agents everywhere. By filter, risky ones are left out."""
    with open_memory(ctx) as (console, memory):
        answer_changes(console, memory.approve(where=where, dry_run=dry_run), "approve")


@command("Look after")
@takes_filter
def quarantine(
    ctx: Context,
    where: RecordFilter,
    reason: Annotated[str | None, Option(help="Why; `show` tells it.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Take records out of use without deleting them."""
    with open_memory(ctx) as (console, memory):
        answer_changes(console, memory.quarantine(where=where, dry_run=dry_run, reason=reason), "quarantine")


@command("Look after")
@takes_filter
def remove(
    ctx: Context,
    where: RecordFilter,
    undo: Annotated[bool, Option("--undo", help="Bring back what was removed, until it is purged.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Take records out of the store; the same log read again does not bring them back, --undo does. See purge."""
    with open_memory(ctx) as (console, memory):
        if undo:
            answer_records(console, memory.undo_remove(*where.ids))
        else:
            answer_changes(console, memory.remove(where=where, dry_run=dry_run), "remove")


@command("Look after")
@takes_filter
def purge(
    ctx: Context,
    where: RecordFilter,
    yes: Annotated[bool, Option("--yes", help="Do not ask before --all.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Erase records for good, with all that was made of them: index, cache, copies, removed ones."""
    with open_memory(ctx) as (console, memory):
        if where.all and not (yes or dry_run):
            number = counted(len(memory.purge(where=where, dry_run=True)), "record")
            console.confirm(f"Erase {number} of {memory.store.location} for good, beyond undo?")
        answer_changes(console, memory.purge(where=where, dry_run=dry_run), "purge")


@command("Look after")
def export(
    ctx: Context,
    format: Annotated[Literal["json", "ufo", "skills"], Option(help="ufo: for UFO; skills: SKILL.md.")] = "json",
    output: Annotated[Path | None, Option("--output", "-o", help="File to write. Default: stdout.")] = None,
) -> None:
    """Write all records to one file; as skills: a folder for each approved success, in the folder `--output`."""
    with open_memory(ctx) as (console, memory):
        if format == "skills":
            from ufo_experience.integrations.skills import export_skills

            if output is None:
                raise UsageError("skills are folders: say where with --output DIR")
            places = export_skills(memory, output)
            data = {"records": len(places), "format": format, "folder": output}
            console.answer(data, f"{counted(len(places), 'approved experience')} as skills in {output}")
            return
        done = memory.export(format, output)
        if done.left_out:
            reasons = ", ".join(f"{count} {reason}" for reason, count in done.left_out.items())
            console.note(f"{sum(done.left_out.values())} left out: {reasons}")
        data = {"records": done.records, "left_out": done.left_out, "format": format}
        data |= {"text": done.text} if done.file is None else {"file": done.file}
        console.answer(data, done.text if done.file is None else f"{counted(done.records, 'record')} in {done.file}")


@command("Look after")
def verify(ctx: Context) -> None:
    """Check every record and the index; exit code 65 if anything is wrong."""
    with telling_itself("ufo_experience.store"), open_memory(ctx) as (console, memory):
        found = memory.verify()
        for problem in found.corrupt:
            console.note(f"corrupt: {problem.place}: {problem.message}")
        if any(one.code not in LEFT_ALONE and one.file != "index" for one in found.corrupt):
            console.note("what is corrupt is left out: bring it back from a backup, or delete the file or line")
        if found.index != "ok":
            console.note("to make the index again: ufo-experience index --rebuild")
        number = counted(found.records, "record")
        console.answer(found, f"{number}, {len(found.corrupt)} corrupt, index {found.index}")
        if found.corrupt:
            raise SystemExit(DataError.exit_code)


@command("Look after")
def stats(ctx: Context) -> None:
    """Say what is in a store: records by trust, outcome and application, use, index, size."""
    with open_memory(ctx) as (console, memory):
        told = memory.stats()
        console.answer(told, console.with_store(stats_text(told, memory.settings.threshold)))


@command("Look after")
def sources(ctx: Context) -> None:
    """List where the records came from, the newest first."""
    with open_memory(ctx) as (console, memory):
        found = memory.sources()
        rows = [(one.newest.date(), one.records, one.format or "-", one.source or "(a program)") for one in found]
        console.answer({"sources": found}, Table(("newest", "records", "format", "source"), rows))
