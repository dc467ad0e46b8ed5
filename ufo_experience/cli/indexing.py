"""The index job as a command: what it would do, doing it now, or by the Batch API for half the price."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ufo_experience.cli.common import Db, Json, Network, app, open_memory
from ufo_experience.cli.console import Console
from ufo_experience.errors import LockedError, UsageError

if TYPE_CHECKING:
    from ufo_experience.batch.job import BatchProgress
    from ufo_experience.index_plan import IndexPlan
    from ufo_experience.indexer import IndexReport
    from ufo_experience.memory import ExperienceMemory

TRY_LATER = LockedError.exit_code


@app.command()
def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="From scratch instead of only what changed.")] = False,
    embedder: Annotated[str | None, typer.Option(help="hashing, openai:MODEL, azure:DEPLOYMENT, local:MODEL.")] = None,
    index: Annotated[str | None, typer.Option("--index", help="Engine or URL of the index. Default: faiss.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and at what price.")] = False,
    batch: Annotated[bool, typer.Option("--batch", help="Embed by OpenAI's Batch API: half the price, a day.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="With --batch: stay until the answers are in.")] = False,
    concurrency: Annotated[int | None, typer.Option(help="Embedding requests at once. Default: 4.")] = None,
    db: Db = None,
    network: Network = None,
    json: Json = False,
) -> None:
    """Bring the index in line with the records."""
    with open_memory(db, json=json, network=network, embedder=embedder, index=index, concurrency=concurrency) as (
        console,
        memory,
    ):
        if wait and not batch:
            raise UsageError("--wait goes with --batch")
        if dry_run:
            plan = memory.live.plan(rebuild=rebuild)
            text = f"would embed {_plan_text(plan, batch)}\nnothing was sent, nothing was written"
            console.answer({"dry_run": True, "batch": batch, **asdict(plan), **_as_batch(plan, batch)}, text)
            return
        if batch and not _batched(console, memory, rebuild=rebuild, wait=wait):
            raise SystemExit(TRY_LATER)
        if memory.live.asks_service and not batch and (plan := memory.live.plan(rebuild=rebuild)).texts:
            console.note(f"to embed: {_plan_text(plan, batch)}")
        with console.progress("embedding") as progress:
            report = memory.index(rebuild=rebuild, progress=progress)
        console.answer(asdict(report), _report_text(report))


def _batched(console: Console, memory: ExperienceMemory, *, rebuild: bool, wait: bool) -> bool:
    """Take the batch jobs as far as they go; True when all vectors are in the cache. Else the answer is given here."""
    from ufo_experience.batch.job import wait_for

    jobs = memory.live.batches(rebuild=rebuild)
    found = wait_for(jobs, lambda now: console.note(_batch_text(now))) if wait else jobs.advance()
    if found.collected:
        console.note(f"{found.collected} vectors collected, ${found.cost:.4f}")
    if not found.jobs:
        return True
    console.answer({"pending": True, **asdict(found)}, f"{_batch_text(found)}; run the same command again to collect")
    return False


def _plan_text(plan: IndexPlan, batch: bool) -> str:
    """One line for people."""
    cost = _as_batch(plan, batch).get("cost", plan.cost)
    price = "price unknown" if cost is None else f"at most ${cost:.6f}"
    start = f"{plan.texts} texts of {plan.records} records with {plan.embedder} ({plan.cached} more are in the cache)"
    if batch:
        return f"{start}: at most {plan.tokens} tokens, {price}, within 24 hours"
    return f"{start}: {plan.requests} requests, at most {plan.tokens} tokens, {price}, about {plan.seconds:g} s"


def _as_batch(plan: IndexPlan, batch: bool) -> dict[str, float | None]:
    """What of a plan is otherwise when it is done by batches."""
    from ufo_experience.openai_service.prices import BATCH_SHARE

    return (
        {"requests": 0, "cost": None if plan.cost is None else plan.cost * BATCH_SHARE, "seconds": None}
        if batch
        else {}
    )


def _batch_text(now: BatchProgress) -> str:
    what = f"submitted {now.submitted} texts" if now.submitted else f"{now.done} of {now.lines} texts are answered"
    return f"{what} in {len(now.jobs)} batches: {', '.join(now.jobs)}"


def _report_text(report: IndexReport) -> str:
    return (
        f"generation {report.generation}: {report.records} records, {report.embedded} embedded, {report.cached} "
        f"from the cache, {report.requests} requests, {report.seconds:.2f} s"
    )
