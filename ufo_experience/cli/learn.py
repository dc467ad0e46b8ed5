"""Learning as commands: ingest, remember, import, index."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from ufo_experience.cli.answers import answer_records, import_text, ingest_data, ingest_text, pairs, tell_problems
from ufo_experience.cli.app import (
    Application,
    Context,
    Session,
    Task,
    Trusts,
    Worked,
    app,
    filled,
    given_of,
    open_memory,
    read_json,
    telling_what_was_kept,
    text_of,
)
from ufo_experience.cli.console import Console, counted
from ufo_experience.errors import DataError, NotFoundError, UsageError
from ufo_experience.ingest import unfollowable
from ufo_experience.memory import ExperienceMemory
from ufo_experience.traces.files import LEARNED
from ufo_experience.traces.in_memory import A_STEP


@app.command()
def ingest(
    ctx: Context,
    paths: Annotated[list[Path], typer.Argument(help="Log files, session folders, or folders of them.")],
    format: Annotated[str, typer.Option(help="Format of the logs, or auto.")] = "auto",
    summarizer: Annotated[
        str | None, typer.Option(help="Who words the experiences: extractive (no model), openai or openai:MODEL.")
    ] = None,
    include_failures: Annotated[
        bool, typer.Option("--include-failures", help="Keep failed runs as negatives.")
    ] = False,
    trust: Annotated[Trusts | None, typer.Option(help="Trust given by you instead of by evidence.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Read logs that seem to be still written to.")] = False,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Minutes to wait for a model that does not answer.")
    ] = 0.0,
    task: Annotated[str | None, typer.Option(callback=filled, help="The task of logs that do not say it.")] = None,
    application: Application = None,
    success: Worked = None,
) -> None:
    """Read logs into experience records and index them.

    --application, --task and --success or --failure say what logs do not say themselves.
    """
    if not any(path.exists() for path in paths):  # a path that is spelled wrong leaves no empty store
        raise NotFoundError("there is no such file or folder", file=str(paths[0]))
    with open_memory(ctx, create=True) as (console, memory):
        stopped = telling_what_was_kept(console, memory)
        with stopped, console.progress("reading") as progress, in_our_words():
            report = memory.ingest(
                *paths,
                format=format,
                summarizer=summarizer,
                include_failures=include_failures,
                trust=trust,
                force=force,
                wait=60 * wait,
                task=task,
                application=application,
                success=success,
                progress=progress,
            )
        tell_problems(console, report)
        _tell_of_the_key(console, memory, summarizer)
        text = ingest_text(report, memory, "verbose" in given_of(ctx))
        console.answer(ingest_data(report), console.with_store(text))
        was_learned = any(reason == LEARNED for _, reason in report.skipped)
        if not (report.read or report.added or report.known or was_learned):
            raise SystemExit(DataError.exit_code)


def _tell_of_the_key(console: Console, memory: ExperienceMemory, summarizer: str | None) -> None:
    """What a key in the environment does by itself, and what it does only when asked for."""
    from ufo_experience.service import Access

    chosen = summarizer is not None or "summarizer" in memory.settings.model_fields_set
    if chosen or not console.is_terminal or not (access := Access.from_env()).api_key:
        return
    hosted = memory.parts.embedder().name.startswith(("openai:", "azure:"))
    sent = "" if not hosted else "the redacted text of each record, to be embedded (setting embedder); "
    console.note(
        f"sent to {access.endpoint}: {sent or 'nothing; '}worded by rules. With --summarizer openai (setting "
        "summarizer) each redacted log goes there, where a model words it"
    )


@contextmanager
def in_our_words() -> Iterator[None]:
    """Keep the façade's warnings of unread logs and of a missing index quiet: the command tells of each."""
    logger = logging.getLogger("ufo_experience.memory")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@app.command()
def remember(
    ctx: Context,
    task: Task,
    steps: Annotated[str | None, typer.Option(help="The steps: a JSON file, - for stdin, or a JSON list.")] = None,
    application: Application = None,
    success: Worked = None,
    judge: Annotated[
        Literal["user", "program", "model", "agent"] | None, typer.Option(help="Who says so. Default: the caller.")
    ] = None,
    session: Session = None,
    reason: Annotated[str | None, typer.Option(help="Why it failed.")] = None,
    wording: Annotated[
        list[str] | None, typer.Option(help="Another way to ask for it, by which it is found, too; up to eight times.")
    ] = None,
) -> None:
    """Store one finished run: a task and its steps."""
    asked = text_of(task)
    if steps is None:
        raise UsageError(f"the steps are missing: --steps FILE, or --steps '[{A_STEP}]'")
    with open_memory(ctx, create=True) as (console, memory):
        given = read_json(steps)
        rows = given if isinstance(given, list) else (given or {}).get("steps", given)
        with telling_what_was_kept(console, memory), in_our_words():
            stored = memory.remember(
                asked,
                rows,
                success,
                application,
                judge,
                wordings=wording or (),
                session=session,
                failure_reason=reason,
            )
        problems = [why for why in (unfollowable(stored), memory.waiting_for_index) if why]
        for why in problems:
            console.note(why)
        answer_records(console, [stored], problems=problems)


@app.command("import")
def import_file(
    ctx: Context,
    file: Annotated[
        Path, typer.Argument(help="An export, another store's folder, or UFO's experience.yaml or its folder.")
    ],
    approve: Annotated[bool, typer.Option("--approve", help="You vouch for it: it may be shown to agents.")] = False,
    restore: Annotated[
        bool, typer.Option("--restore", help="It is your own export: trust, verdicts and use as they were.")
    ] = False,
) -> None:
    """Take in records from elsewhere; they are quarantined until approved. UFO's own index files are not opened."""
    if not file.exists():  # a name that is spelled wrong leaves no empty store
        raise NotFoundError("there is no such file or folder", file=str(file))
    with open_memory(ctx, create=True) as (console, memory), telling_what_was_kept(console, memory):
        done = memory.import_(file, approve=approve, restore=restore)
        data = {
            "added": done.added,
            "approved": done.approved,
            "skipped": pairs(done.skipped, "source", "reason"),
            "failed": pairs(done.failed, "source", "error"),
            "unopened": [str(path) for path in done.unopened],
        }
        tell_problems(console, done)
        console.answer(data, console.with_store(import_text(done, memory)))
        if done.failed and not (done.added or done.skipped):
            raise SystemExit(DataError.exit_code)


@app.command()
def index(
    ctx: Context,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="From scratch instead of only what changed.")] = False,
    embedder: Annotated[str | None, typer.Option(help="hashing, openai:MODEL, azure:DEPLOYMENT, local:MODEL.")] = None,
    lessons: Annotated[
        bool, typer.Option("--lessons", help="Ask the chat model that is set what successes and failures teach.")
    ] = False,
) -> None:
    """Bring the index in line with the records; with --lessons, draw lessons from them."""
    with open_memory(ctx, embedder=embedder) as (console, memory):
        if lessons:
            learned = memory.learn_lessons()
            data = {"lessons": [one.model_dump(mode="json") for one in learned]}
            text = "\n".join(f"{one.id}  {one.application}: {one.text}" for one in learned)
            console.answer(data, text or "no lesson: it takes successes and failures of one application")
            return
        with console.progress("embedding") as progress:
            done = memory.index(rebuild=rebuild, progress=progress)
        text = (
            f"{counted(done.records, 'record')}, {done.embedded} embedded, "
            f"{done.cached} from the cache, {counted(done.requests, 'request')}, {done.seconds:.2f} s"
        )
        console.answer(asdict(done), text)
