"""Learning as commands: ingest, remember, import, index."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ufo_experience.cli.answers import answer_records, import_text, ingest_text, report_data, tell_problems
from ufo_experience.cli.app import command, given_of, open_memory, read_json, telling_itself, text_of
from ufo_experience.cli.arguments import Application, Context, Judge, Session, Task, Trusts, Worked, named
from ufo_experience.cli.console import Console, counted
from ufo_experience.errors import DataError, ExperienceError, UsageError
from ufo_experience.ingest import expect_sources, unfollowable
from ufo_experience.memory import ExperienceMemory
from ufo_experience.traces import expect_format
from ufo_experience.traces.plain import A_STEP


@command("Learn")
def ingest(
    ctx: Context,
    paths: Annotated[list[Path], Argument(help="Log files, session folders, or folders of them.")],
    format: Annotated[str, Option(help="Format of the logs, or auto.")] = "auto",
    summarizer: Annotated[str | None, Option(help="Who words them: extractive (no model), openai:MODEL.")] = None,
    include_failures: Annotated[bool, Option("--include-failures", help="Keep failed runs, too.")] = False,
    trust: Annotated[Trusts | None, Option(help="Trust given by you instead of by evidence.")] = None,
    force: Annotated[bool, Option("--force", help="Read logs that seem to be still written to.")] = False,
    wait: Annotated[float, Option(min=0, help="Minutes to wait for a model that does not answer.")] = 0.0,
    task: Annotated[str | None, named("The task of logs that do not say it.")] = None,
    application: Application = None,
    success: Worked = None,
) -> None:
    """Read logs into experience records and index them.

    --application, --task and --success or --failure say what logs do not say themselves.
    """
    expect_sources(paths)  # what is spelled wrong leaves no empty store
    expect_format(format)
    with open_memory(ctx, create=True) as (console, memory):
        how = {"format": format, "summarizer": summarizer, "trust": trust, "force": force, "wait": 60 * wait}
        told: dict[str, Any] = how | {"task": task, "application": application, "success": success}
        with learning(console, memory), console.progress("reading") as progress:
            report = memory.ingest(*paths, include_failures=include_failures, progress=progress, **told)
        tell_problems(console, report)
        _tell_of_the_key(console, memory, summarizer)
        console.answer(report_data(report), console.with_store(ingest_text(report, memory, "verbose" in given_of(ctx))))
        named = {str(path) for path in paths}
        if not (report.read or report.added or report.known) or any(source in named for source, _ in report.failed):
            raise SystemExit(DataError.exit_code)


@contextmanager
def learning(console: Console, memory: ExperienceMemory) -> Iterator[None]:
    """Around learning: say what was kept and how to go on where an error ends it, or a person (Ctrl-C)."""
    before = len(memory)
    try:
        with telling_itself("ufo_experience.memory"):
            yield
    except ExperienceError:
        with suppress(ExperienceError):  # where the store cannot be asked any more, the error says so
            if kept := len(memory) - before:
                told = f"{counted(kept, 'record')} of this run kept, and not in the index yet"
                console.note(f"{told}. When what is said below is mended: ufo-experience index")
        raise
    except KeyboardInterrupt:
        console.note(
            f"stopped: {counted(len(memory) - before, 'record')} of this run kept. The same command again goes on: "
            "what is stored is passed over, and what is not in the index yet gets there (as by: ufo-experience index)"
        )
        raise SystemExit(130) from None


def _tell_of_the_key(console: Console, memory: ExperienceMemory, summarizer: str | None) -> None:
    """What a key in the environment does by itself, and what it does only when asked for."""
    from ufo_experience.service import Access

    chosen = summarizer is not None or "summarizer" in memory.settings.model_fields_set
    if chosen or not console.is_terminal or not (access := Access.from_env()).api_key:
        return
    hosted = memory.parts.embedder().name.startswith(("openai:", "azure:"))
    sent = "the redacted text of each record, to be embedded (setting embedder); " if hosted else "nothing; "
    console.note(
        f"sent to {access.endpoint}: {sent}worded by rules. With --summarizer openai (setting summarizer) each "
        "redacted log goes there, where a model words it"
    )


@command("Learn")
def remember(
    ctx: Context,
    task: Task,
    steps: Annotated[str | None, Option(help="The steps: a JSON file, - for stdin, or a JSON list.")] = None,
    application: Application = None,
    success: Worked = None,
    judge: Annotated[Judge | None, Option(help="Who says so. Default: the caller.")] = None,
    session: Session = None,
    reason: Annotated[str | None, Option(help="Why it failed.")] = None,
    wording: Annotated[
        list[str] | None, Option(help="Another way to ask for it, in part with the task's words; up to eight times.")
    ] = None,
) -> None:
    """Store one finished run: a task and its steps."""
    asked = text_of(task)
    if steps is None:
        raise UsageError(f"the steps are missing: --steps FILE, or --steps '[{A_STEP}]'")
    with open_memory(ctx, create=True) as (console, memory):
        given = read_json(steps)
        rows = given.get("steps", given) if isinstance(given, dict) else given
        with learning(console, memory):
            more: dict[str, Any] = {"wordings": wording or (), "session": session, "failure_reason": reason}
            stored = memory.remember(asked, rows, success, application, judge, **more)
        problems = [why for why in (unfollowable(stored), memory.waiting_for_index) if why]
        for why in problems:
            console.note(why)
        answer_records(console, [stored], problems=problems)


@command("Learn", "import")
def import_file(
    ctx: Context,
    file: Annotated[Path, Argument(help="An export, a store's folder, or UFO's experience.yaml or its folder.")],
    approve: Annotated[bool, Option("--approve", help="You vouch for it: it may be shown to agents.")] = False,
    restore: Annotated[bool, Option("--restore", help="Your own export: trust, verdicts, use as they were.")] = False,
) -> None:
    """Take in records from elsewhere; they are quarantined until approved. UFO's own index files are not opened."""
    expect_sources([file])
    with open_memory(ctx, create=True) as (console, memory), learning(console, memory):
        done = memory.import_(file, approve=approve, restore=restore)
        tell_problems(console, done)
        console.answer(report_data(done), console.with_store(import_text(done, memory)))
        if done.failed:
            raise SystemExit(DataError.exit_code)


@command("Learn")
def index(
    ctx: Context,
    rebuild: Annotated[bool, Option("--rebuild", help="From scratch instead of only what changed.")] = False,
    embedder: Annotated[str | None, Option(help="hashing, openai:MODEL, azure:DEPLOYMENT, local:MODEL.")] = None,
    lessons: Annotated[bool, Option("--lessons", help="Ask the chat model what successes and failures teach.")] = False,
) -> None:
    """Bring the index in line with the records; with --lessons, draw lessons from them."""
    with open_memory(ctx, embedder=embedder) as (console, memory):
        if lessons:
            learned = memory.learn_lessons()
            text = "\n".join(f"{one.id}  {one.application}: {one.text}" for one in learned)
            none = "no lesson: it takes successes and failures of one application"
            console.answer({"lessons": learned}, text or none)
            return
        with console.progress("embedding") as progress:
            done = memory.index(rebuild=rebuild, progress=progress)
        records, requests = counted(done.records, "record"), counted(done.requests, "request")
        text = f"{records}, {done.embedded} embedded, {done.cached} from the cache, {requests}, {done.seconds:.2f} s"
        console.answer(done, text)
