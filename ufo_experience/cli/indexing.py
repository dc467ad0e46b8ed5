"""The index job as a command: how much it would embed, or doing it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ufo_experience.cli.common import Db, Json, Network, app, open_memory

if TYPE_CHECKING:
    from ufo_experience.index_plan import IndexPlan
    from ufo_experience.indexer import IndexReport


@app.command()
def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="From scratch instead of only what changed.")] = False,
    embedder: Annotated[str | None, typer.Option(help="hashing, openai:MODEL, azure:DEPLOYMENT, local:MODEL.")] = None,
    index: Annotated[str | None, typer.Option("--index", help="Engine or URL of the index. Default: faiss.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the texts that would be embedded.")] = False,
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
        if dry_run:
            plan = memory.live.plan(rebuild=rebuild)
            console.answer({"dry_run": True, **asdict(plan)}, _plan_text(plan))
            return
        with console.progress("embedding") as progress:
            report = memory.index(rebuild=rebuild, progress=progress)
        console.answer(asdict(report), _report_text(report))


def _plan_text(plan: IndexPlan) -> str:
    return (
        f"would embed {plan.texts} texts of {plan.records} records with {plan.embedder}: {plan.requests} requests "
        f"({plan.cached} more are in the cache)\nnothing was sent, nothing was written"
    )


def _report_text(report: IndexReport) -> str:
    return (
        f"generation {report.generation}: {report.records} records, {report.embedded} embedded, {report.cached} "
        f"from the cache, {report.requests} requests, {report.seconds:.2f} s"
    )
