"""The stages of the pipeline as commands: ingest, retrieve, prompt, report, demo. (`indexing` has the index job.)"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ufo_experience.cli.answers import (
    answer_records,
    answer_retrieval,
    ingest_text,
    pairs,
    say_what_is_missing,
)
from ufo_experience.cli.app import (
    App,
    Db,
    Env,
    Explain,
    Ids,
    Json,
    Network,
    Task,
    Threshold,
    TopK,
    Trusts,
    app,
    console_for,
    filled,
    open_memory,
    read_json,
    shared,
    telling_what_was_kept,
    text_of,
)
from ufo_experience.cli.console import counted
from ufo_experience.errors import DataError

if TYPE_CHECKING:
    from ufo_experience.index.build import IndexReport
    from ufo_experience.index.forecast import IndexPlan


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
        f"would embed {counted(plan.texts, 'text')} of {counted(plan.records, 'record')} with {plan.embedder}: "
        f"{counted(plan.requests, 'request')} "
        f"({plan.cached} more are in the cache, {plan.repeated} the same as others)\n"
        "nothing was sent, nothing was written"
    )


def _report_text(report: IndexReport) -> str:
    return (
        f"generation {report.generation}: {counted(report.records, 'record')}, {report.embedded} embedded, "
        f"{report.cached} from the cache, {counted(report.requests, 'request')}, {report.seconds:.2f} s"
    )


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Log files, session folders, or folders of them.")],
    format: Annotated[str, typer.Option(help="Format of the logs, or auto.")] = "auto",
    summarizer: Annotated[str, typer.Option(help="Who words the experiences: auto, openai or extractive.")] = "auto",
    include_failures: Annotated[
        bool, typer.Option("--include-failures", help="Keep failed runs as negatives.")
    ] = False,
    trust: Annotated[Trusts | None, typer.Option(help="Trust given by you instead of by evidence.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Read logs that seem to be still written to.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="Processes that read, for many logs.")] = 1,
    task: Annotated[
        str | None, typer.Option("--task", callback=filled, help="The task of logs that do not say it.")
    ] = None,
    application: Annotated[
        str | None,
        typer.Option("--app", "--application", callback=filled, help="The application of logs that do not say it."),
    ] = None,
    success: Annotated[
        bool | None, typer.Option("--success/--failure", help="Your judgement of runs that nobody has judged.")
    ] = None,
    db: Db = None,
    network: Network = None,
    json: Json = False,
) -> None:
    """Read logs into experience records and index them."""
    from ufo_experience.schema import Trust
    from ufo_experience.traces.files import LEARNED

    with open_memory(db, json=json, create=True, network=network) as (console, memory):
        stopped = telling_what_was_kept(console, memory)
        with stopped, console.progress("reading") as progress, in_our_words():
            report = memory.ingest(
                *paths,
                format=format,
                summarizer=summarizer,
                include_failures=include_failures,
                trust=trust,
                force=force,
                jobs=jobs,
                task=task,
                application=application,
                success=success,
                progress=progress,
            )
        for problem in report.problems:
            place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
            console.note(f"{place}: {problem.code}: {problem.message}")
        for source, error in report.failed:
            console.note(f"failed: {source}: {error}")
        for identifier, reason in report.conflicts:
            console.note(f"quarantined: {identifier}: {reason}")
        data = {
            "added": report.added,
            "skipped": pairs(report.skipped, "source", "reason"),
            "failed": pairs(report.failed, "source", "error"),
            "conflicts": pairs(report.conflicts, "id", "reason"),
            "incomplete": pairs(report.incomplete, "id", "lacks"),
            "problems": [problem.model_dump() for problem in report.problems],
            "trusted": report.trusted,
            "judged": report.judged,
            "cost": report.cost,
        }
        judgeable = set(report.added).difference(identifier for identifier, _ in report.incomplete)
        held = [one.id for one in memory.store.scan(sorted(judgeable)) if one.trust.rank < Trust.VERIFIED.rank]
        text = ingest_text(report, held, same_store=console.same_store, verbose=shared().verbose)
        console.answer(data, text)
        was_learned = any(reason == LEARNED for _, reason in report.skipped)
        if not (report.read or report.added or report.known or was_learned):
            raise SystemExit(DataError.exit_code)


@contextmanager
def in_our_words() -> Iterator[None]:
    """Keep the façade's warnings of unread logs and of a missing index quiet: the command tells of each."""
    loggers = [logging.getLogger(f"ufo_experience.{name}") for name in ("memory", "maintenance")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


@app.command()
def remember(
    task: Task,
    steps: Annotated[str, typer.Option(help="The steps: a JSON file, - for stdin, or a JSON list itself.")],
    application: Annotated[
        str | None, typer.Option("--app", "--application", callback=filled, help="The application it ran in.")
    ] = None,
    success: Annotated[bool | None, typer.Option("--success/--failure", help="How it ended. Default: unknown.")] = None,
    judge: Annotated[
        Literal["person", "program", "llm", "agent"] | None, typer.Option(help="Who says so. Default: the caller.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(callback=filled, help="Name of the run; handed in again, it is stored once.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why it failed.")] = None,
    wording: Annotated[
        list[str] | None, typer.Option(help="Another way to ask for it, by which it is found, too; up to eight times.")
    ] = None,
    db: Db = None,
    network: Network = None,
    json: Json = False,
) -> None:
    """Store one finished run: a task and its steps."""
    with open_memory(db, json=json, create=True, network=network) as (console, memory):
        given = read_json(steps)
        rows = given if isinstance(given, list) else (given or {}).get("steps", given)
        with telling_what_was_kept(console, memory), in_our_words():
            stored = memory.remember(
                text_of(task),
                rows,
                success,
                application,
                judge,
                wordings=wording or (),
                session=session,
                failure_reason=reason,
            )
        problems = [why] if (why := memory.waiting_for_index) else []
        for why in problems:
            console.note(why)
        answer_records(console, [stored], problems=problems)


@app.command()
def retrieve(
    task: Task,
    application: App = None,
    env: Env = None,
    top_k: TopK = None,
    threshold: Threshold = "auto",
    near: Annotated[bool, typer.Option("--near", help="Show the nearest below the threshold, too.")] = False,
    explain: Explain = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Find the experiences that help with a task."""
    with open_memory(db, json=json, top_k=top_k, threshold=threshold) as (console, memory):
        found = memory.retrieve(text_of(task), application=application, env=env, near=3 if near else 0)
        answer_retrieval(console, memory, found, explain, application=application)


@app.command()
def prompt(
    task: Task,
    application: App = None,
    env: Env = None,
    top_k: TopK = None,
    threshold: Threshold = "auto",
    max_tokens: Annotated[int | None, typer.Option(help="Budget of the examples in tokens. Default: 1200.")] = None,
    format: Annotated[Literal["text", "messages", "ufo"], typer.Option(help="Shape of the prompt.")] = "text",
    db: Db = None,
    json: Json = False,
) -> None:
    """Build the prompt for a task with few-shot examples from memory."""
    with open_memory(db, json=json, top_k=top_k, threshold=threshold, max_tokens=max_tokens) as (console, memory):
        asked = text_of(task)
        found = memory.retrieve(asked, application=application, env=env)
        say_what_is_missing(console, memory, found, application=application)
        block = memory.build_prompt(asked, found, format=format)
        if block.needed:
            console.note(f"{len(block.dropped)} left out: the next example needs {block.needed} tokens (--max-tokens)")
        data = {"prompt": block.prompt, "ids": list(block.ids), "tokens": block.tokens, "dropped": list(block.dropped)}
        console.answer(data | {"needed": block.needed}, str(block))


@app.command()
def report(
    ids: Ids,
    outcome: Annotated[Literal["success", "failure"], typer.Option(help="What became of the run.")],
    session: Annotated[
        str | None, typer.Option(callback=filled, help="Name of the run; reported twice, it counts once.")
    ] = None,
    db: Db = None,
    network: Network = None,
    json: Json = False,
) -> None:
    """Credit what was injected with the outcome of the run."""
    with open_memory(db, json=json, network=network) as (console, memory):
        asked = [memory.get(id).id for id in ids]
        updated = memory.report(asked, success=outcome == "success", session=session)
        before = [id for id in dict.fromkeys(asked) if id not in updated]
        why = f"session {session!r} was reported before; the first report counts"
        for id in before:
            console.note(f"not updated: {id[:8]}: {why}")
        left_out = [{"id": id, "reason": why} for id in before]
        console.answer({"updated": updated, "left_out": left_out}, f"updated {len(updated)}")


@app.command()
def demo(db: Db = None, json: Json = False) -> None:
    """Run the whole loop on bundled sample logs, with no key and no network, and print the prompt it built.

    With --db what it learned is kept there, to be asked further.
    """
    from ufo_experience.cli.demo import run_demo

    console = console_for(json)
    with console.errors():
        block = run_demo(console.note, shared().db if db is None else db)
        console.answer({"prompt": block.prompt, "ids": list(block.ids), "tokens": block.tokens}, str(block.prompt))
