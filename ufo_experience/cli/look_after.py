"""Looking after records as commands: list, show, judge, approve, quarantine, remove, purge, export, verify, stats,
sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ufo_experience.cli.answers import answer_changes, answer_records, record_text, stats_text
from ufo_experience.cli.app import (
    Context,
    DryRun,
    Ids,
    MaybeIds,
    Where,
    Worked,
    app,
    open_memory,
    takes_filter,
)
from ufo_experience.cli.console import counted
from ufo_experience.errors import DataError, UsageError
from ufo_experience.procedure.runs import join
from ufo_experience.store.selection import RecordFilter, why_none

if TYPE_CHECKING:
    from ufo_experience.memory import ExperienceMemory
    from ufo_experience.store.selection import ChangeReport


@app.command("list")
@takes_filter
def list_records(
    ctx: Context,
    where: Where,
    limit: Annotated[int | None, typer.Option("-n", "--limit", min=1, help="At most so many, the newest.")] = None,
) -> None:
    """List what was learned, the newest first; with `--json` also each procedure with its runs."""
    with open_memory(ctx) as (console, memory):
        found = memory.list(where=where, limit=limit)
        if not found and (why := why_none(memory.store, where)):
            console.note(why)
        procedures = [known.to_json() for known in join(found)]
        answer_records(console, found, policy=memory.parts.policy, procedures=procedures)


@app.command()
def show(ctx: Context, ids: Ids) -> None:
    """Show records: task, outcome, trust, source and steps; whole with --json."""
    with open_memory(ctx) as (console, memory):
        records = [memory.get(id) for id in ids]
        data = {"experiences": [record.model_dump(mode="json") for record in records]}
        console.answer(data, "\n\n".join(map(record_text, records)))


@app.command()
def judge(
    ctx: Context,
    ids: Ids,
    success: Worked = None,
    reason: Annotated[str | None, typer.Option(help="Why it failed, or what was wrong.")] = None,
    judge: Annotated[Literal["user", "program", "model"], typer.Option(help="Who says so.")] = "user",
) -> None:
    """Say how runs ended that nobody had judged."""
    with open_memory(ctx) as (console, memory):
        if success is None:
            raise UsageError("say --success or --failure")
        full = [memory.get(id).id for id in ids]  # all are there before one is judged
        answer_records(console, [memory.judge(id, success=success, judge=judge, reason=reason) for id in full])


Change = Callable[["ExperienceMemory", Sequence[str], RecordFilter, bool], "ChangeReport"]


def change_command(change: Change) -> None:
    """Make a command of a change to records: named by ids or a filter, with a dry run; answered as `answer_changes`."""

    def run(ctx: Context, where: Where, ids: MaybeIds = None, dry_run: DryRun = False) -> None:
        with open_memory(ctx) as (console, memory):
            answer_changes(console, change(memory, ids or (), where, dry_run), change.__name__)

    run.__name__, run.__doc__ = change.__name__, change.__doc__
    app.command()(takes_filter(run))


@change_command
def approve(memory: ExperienceMemory, ids: Sequence[str], where: RecordFilter, dry_run: bool) -> ChangeReport:
    """Sign records off: they may be shown to agents everywhere. By filter, risky ones are left out."""
    return memory.approve(*ids, where=where, dry_run=dry_run)


@change_command
def quarantine(memory: ExperienceMemory, ids: Sequence[str], where: RecordFilter, dry_run: bool) -> ChangeReport:
    """Take records out of use without deleting them."""
    return memory.quarantine(*ids, where=where, dry_run=dry_run)


@app.command()
@takes_filter
def remove(
    ctx: Context,
    where: Where,
    ids: MaybeIds = None,
    undo: Annotated[bool, typer.Option("--undo", help="Bring back what was removed, until it is purged.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Take records out of the store; the same log read again does not bring them back, --undo does. See purge."""
    with open_memory(ctx) as (console, memory):
        if undo:
            answer_records(console, memory.undo_remove(*(ids or ())))
            return
        answer_changes(console, memory.remove(*(ids or ()), where=where, dry_run=dry_run), "remove")


@app.command()
@takes_filter
def purge(
    ctx: Context,
    where: Where,
    ids: MaybeIds = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before --all.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Erase records for good, with all that was made of them: index, cache, copies, removed ones."""
    with open_memory(ctx) as (console, memory):
        meant = replace(where, ids=tuple(ids or ()))
        if meant.all and not (yes or dry_run):
            number = counted(len(memory.purge(where=meant, dry_run=True)), "record")
            console.confirm(f"Erase {number} of {memory.store.location} for good, beyond undo?")
        answer_changes(console, memory.purge(where=meant, dry_run=dry_run), "purge")


@app.command()
def export(
    ctx: Context,
    format: Annotated[
        Literal["json", "yaml", "ufo", "skills"],
        typer.Option(help="ufo: its experience.yaml; skills: SKILL.md folders."),
    ] = "json",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write. Default: stdout.")] = None,
) -> None:
    """Write all records to one file; as skills: a folder for each approved success, in the folder `--output`."""
    with open_memory(ctx) as (console, memory):
        if format == "skills":
            from ufo_experience.integrations.skills import export_skills

            if output is None:
                raise UsageError("skills are folders: say where with --output DIR")
            places = export_skills(memory, output)
            data = {"records": len(places), "format": format, "folder": str(output)}
            console.answer(data, f"{counted(len(places), 'approved experience')} as skills in {output}")
            return
        done = memory.export(format, output)
        data = {"records": done.records, "left_out": done.left_out, "format": format}
        if done.left_out:
            reasons = ", ".join(f"{count} {reason}" for reason, count in done.left_out.items())
            console.note(f"{sum(done.left_out.values())} left out: {reasons}")
        if done.file is None:
            console.answer({**data, "text": done.text}, done.text)
        else:
            console.answer({**data, "file": str(done.file)}, f"{counted(done.records, 'record')} in {done.file}")


@app.command()
def verify(
    ctx: Context,
    repair: Annotated[
        bool, typer.Option("--repair", help="Set aside what cannot be used (in corrupt/), and make the index again.")
    ] = False,
) -> None:
    """Check every record and the index; exit code 65 if anything is wrong."""
    with open_memory(ctx) as (console, memory):
        found = memory.verify(repair=repair)
        for problem in found.repaired:
            console.note(f"set aside: {problem.file}: {problem.message}")
        for problem in found.corrupt:
            console.note(f"corrupt: {problem.file}: {problem.message}")
        damaged = bool(found.corrupt) or found.index != "ok"
        if damaged and not repair:
            console.note("to set it aside and make the index again: ufo-experience verify --repair")
        data = {
            "records": found.records,
            "corrupt": [problem.model_dump() for problem in found.corrupt],
            "repaired": [problem.model_dump() for problem in found.repaired],
            "index": found.index,
        }
        text = f"{counted(found.records, 'record')}, {len(found.corrupt)} corrupt, index {found.index}"
        console.answer(data, text)
        if damaged:
            raise SystemExit(DataError.exit_code)


@app.command()
def stats(ctx: Context) -> None:
    """Say what is in a store: records by trust, outcome and application, use, index, size."""
    with open_memory(ctx) as (console, memory):
        told = memory.stats()
        console.answer(asdict(told), console.with_store(stats_text(told, memory.settings.threshold)))


@app.command()
def sources(ctx: Context) -> None:
    """List where the records came from, the newest first."""
    with open_memory(ctx) as (console, memory):
        found = memory.sources()
        rows = [
            (f"{one.newest:%Y-%m-%d}", one.records, one.format or "-", one.source or "(a program)") for one in found
        ]
        data = {"sources": [asdict(one) for one in found]}
        console.answer_table(data, ("newest", "records", "format", "source"), rows)
