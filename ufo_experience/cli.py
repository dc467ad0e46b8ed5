"""The command line: one subcommand per stage, each a call of the library.

Exit codes: 0 ok, 2 usage, 65 bad data, 69 service unavailable, 73 cannot write, 75 locked, 77 refused for safety.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ufo_experience.answers import (
    answer_records,
    ingest_text,
    pairs,
    retrieval_data,
    retrieval_text,
    say_what_is_missing,
)
from ufo_experience.console import Console
from ufo_experience.errors import DataError

if TYPE_CHECKING:
    from ufo_experience.memory import ExperienceMemory

app = typer.Typer(
    name="ufo-experience",
    help="Experience memory for UI agents: learn from session logs, hand the right steps to the next run.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Db = Annotated[str | None, typer.Option("--db", help="The store: a folder or a URL. Default: experience_db.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Task = Annotated[str, typer.Argument(help="What the agent is to do, in the user's words.")]
App = Annotated[str | None, typer.Option("--app", help="Only experiences of this application (exact).")]
Env = Annotated[str | None, typer.Option("--env", help="Only experiences of this environment (exact).")]
TopK = Annotated[int | None, typer.Option("-k", "--top-k", help="How many at most (1 to 50). Default: 3.")]
Threshold = Annotated[str, typer.Option(help="Lowest score: a number, or auto (calibrated for the embedder).")]
Explain = Annotated[bool, typer.Option("--explain", help="Show each signal's part of the score.")]
Ids = Annotated[list[str], typer.Argument(help="Ids of records; a unique beginning will do.")]

Trusts = Literal["quarantined", "observed", "verified", "approved"]


def main() -> None:
    """Entry point. Errors of the package become one line on stderr and an exit code, never a traceback."""
    app()


@contextmanager
def _memory(
    db: str | None, *, json: bool, create: bool = False, **options: Any
) -> Iterator[tuple[Console, ExperienceMemory]]:
    """A console and an open store; asking a store that is not there is an error, not an empty answer."""
    console = Console(as_json=json)
    with console.errors():
        from ufo_experience.config import load_settings
        from ufo_experience.memory import ExperienceMemory

        yield console, ExperienceMemory.open(settings=load_settings(db=db, **options), create=create)


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Log files, session folders, or folders of them.")],
    format: Annotated[str, typer.Option(help="Format of the logs, or auto.")] = "auto",
    summarizer: Annotated[str, typer.Option(help="Who words the experiences: auto, openai or extractive.")] = "auto",
    include_failures: Annotated[
        bool, typer.Option("--include-failures", help="Keep failed runs as negatives.")
    ] = False,
    trust: Annotated[Trusts | None, typer.Option(help="Trust given by you instead of by evidence.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Read logs into experience records and index them."""
    from ufo_experience.schema import Trust

    with _memory(db, json=json, create=True) as (console, memory):
        report = memory.ingest(
            *paths, format=format, summarizer=summarizer, include_failures=include_failures, trust=trust
        )
        for problem in report.problems:
            console.note(f"{problem.file}:{problem.line or '-'}: {problem.code}: {problem.message}")
        for source, error in report.failed:
            console.note(f"failed: {source}: {error}")
        data = {
            "added": report.added,
            "skipped": pairs(report.skipped, "source", "reason"),
            "failed": pairs(report.failed, "source", "error"),
            "problems": [problem.model_dump() for problem in report.problems],
            "cost": report.cost,
        }
        held = sum(memory.store.get(identifier).trust.rank < Trust.VERIFIED.rank for identifier in report.added)
        console.answer(data, ingest_text(report, held))
        if report.failed and not (report.added or report.skipped):
            raise SystemExit(DataError.exit_code)


@app.command()
def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="From scratch instead of only what changed.")] = False,
    embedder: Annotated[str | None, typer.Option(help="hashing, openai:MODEL, azure:DEPLOYMENT, local:MODEL.")] = None,
    index: Annotated[str | None, typer.Option("--index", help="Engine or URL of the index. Default: faiss.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Bring the index in line with the records."""
    with _memory(db, json=json, embedder=embedder, index=index) as (console, memory):
        with console.progress("embedding") as progress:
            report = memory.index(rebuild=rebuild, progress=progress)
        text = (
            f"generation {report.generation}: {report.records} records, {report.embedded} embedded, {report.cached} "
            f"from the cache, {report.requests} requests, {report.seconds:.2f} s"
        )
        console.answer(asdict(report), text)


@app.command()
def retrieve(
    task: Task,
    application: App = None,
    env: Env = None,
    top_k: TopK = None,
    threshold: Threshold = "auto",
    explain: Explain = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Find the experiences that help with a task."""
    with _memory(db, json=json, top_k=top_k, threshold=threshold) as (console, memory):
        found = memory.retrieve(task, application=application, env=env)
        say_what_is_missing(console, found)
        console.answer(retrieval_data(found, explain), retrieval_text(found, explain))


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
    from json import dumps

    with _memory(db, json=json, top_k=top_k, threshold=threshold, max_tokens=max_tokens) as (console, memory):
        found = memory.retrieve(task, application=application, env=env)
        say_what_is_missing(console, found)
        block = memory.build_prompt(task, found, format=format)
        shown = block.prompt if isinstance(block.prompt, str) else dumps(block.prompt, ensure_ascii=False, indent=1)
        console.answer({"prompt": block.prompt, "ids": list(block.ids), "tokens": block.tokens}, shown)


@app.command()
def report(
    ids: Ids,
    outcome: Annotated[Literal["success", "failure"], typer.Option(help="What became of the run.")],
    session: Annotated[str | None, typer.Option(help="Name of the run; reported twice, it counts once.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Credit what was injected with the outcome of the run."""
    from ufo_experience import upkeep

    with _memory(db, json=json) as (console, memory):
        updated = memory.report(upkeep.resolve(memory.store, ids), success=outcome == "success", session=session)
        console.answer({"updated": updated}, f"updated {len(updated)}")


@app.command("list")
def list_records(
    application: App = None,
    trust: Annotated[Trusts | None, typer.Option(help="Only records of this trust.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """List the records of a store."""
    from ufo_experience.applications import application_key

    with _memory(db, json=json) as (console, memory):
        chosen = [
            one
            for one in memory.store.scan()
            if (trust is None or one.trust.value == trust)
            and (application is None or application_key(one.state.application) == application_key(application))
        ]
        answer_records(console, chosen)


@app.command()
def show(id: Annotated[str, typer.Argument(help="Id of a record.")], db: Db = None, json: Json = False) -> None:
    """Print one record whole."""
    from ufo_experience import upkeep

    with _memory(db, json=json) as (console, memory):
        record = memory.store.get(upkeep.resolve(memory.store, [id])[0])
        console.answer({"experiences": [record.model_dump(mode="json")]}, record.model_dump_json(indent=1))


@app.command()
def remove(ids: Ids, db: Db = None, json: Json = False) -> None:
    """Delete records for good; the same log read again does not bring them back."""
    from ufo_experience import upkeep

    with _memory(db, json=json) as (console, memory):
        answer_records(console, upkeep.remove(memory.store, upkeep.resolve(memory.store, ids)))


@app.command()
def approve(ids: Ids, db: Db = None, json: Json = False) -> None:
    """Sign records off: they may be injected everywhere."""
    from ufo_experience import upkeep
    from ufo_experience.schema import Trust

    with _memory(db, json=json) as (console, memory):
        answer_records(console, upkeep.set_trust(memory.store, upkeep.resolve(memory.store, ids), Trust.APPROVED))


@app.command()
def quarantine(ids: Ids, db: Db = None, json: Json = False) -> None:
    """Take records out of use without deleting them."""
    from ufo_experience import upkeep
    from ufo_experience.schema import Trust

    with _memory(db, json=json) as (console, memory):
        answer_records(console, upkeep.set_trust(memory.store, upkeep.resolve(memory.store, ids), Trust.QUARANTINED))


@app.command()
def purge(
    source: Annotated[str, typer.Option(help="The source (path) or session whose records go.")],
    db: Db = None,
    json: Json = False,
) -> None:
    """Delete everything that came from one source, from records, index and cache."""
    from ufo_experience import upkeep

    with _memory(db, json=json) as (console, memory):
        answer_records(console, upkeep.purge(memory.store, source))


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="An export of this package, or UFO's experience.yaml.")],
    db: Db = None,
    json: Json = False,
) -> None:
    """Take in records from elsewhere; they are quarantined until approved."""
    from ufo_experience import upkeep

    with _memory(db, json=json, create=True) as (console, memory):
        done = upkeep.import_file(memory.store, file)
        data = {
            "added": done.added,
            "skipped": pairs(done.skipped, "source", "reason"),
            "failed": pairs(done.failed, "source", "error"),
        }
        text = f"{len(done.added)} added (quarantined), {len(done.skipped)} skipped, {len(done.failed)} failed"
        for source, error in done.failed:
            console.note(f"failed: {source}: {error}")
        console.answer(data, text)
        if done.failed and not (done.added or done.skipped):
            raise SystemExit(DataError.exit_code)


@app.command()
def export(
    format: Annotated[Literal["json", "yaml", "ufo"], typer.Option(help="ufo: its experience.yaml.")] = "json",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write. Default: stdout.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Write all records to one file."""
    from ufo_experience import upkeep

    with _memory(db, json=json) as (console, memory):
        text = upkeep.export(memory.store, format)
        count = len(memory.store.ids())
        if output is None:
            console.answer({"records": count, "format": format, "text": text}, text)
            return
        output.write_text(text, encoding="utf-8", newline="\n")
        console.answer({"records": count, "format": format, "file": str(output)}, f"{count} records in {output}")


@app.command()
def verify(db: Db = None, json: Json = False) -> None:
    """Check every record, the index and its manifest; exit code 65 if anything is wrong."""
    from ufo_experience import upkeep

    with _memory(db, json=json) as (console, memory):
        found = upkeep.verify(memory.store, memory.generations)
        for problem in found.corrupt:
            console.note(f"corrupt: {problem.file}: {problem.message}")
        console.answer(
            {
                "records": found.records,
                "corrupt": [problem.model_dump() for problem in found.corrupt],
                "index": found.index,
                "generation": found.generation,
            },
            f"{found.records} records, {len(found.corrupt)} corrupt, index {found.index}",
        )
        if found.corrupt or found.index in ("corrupt", "missing"):
            raise SystemExit(DataError.exit_code)


@app.command()
def demo(json: Json = False) -> None:
    """Run the whole loop on bundled sample logs, with no key and no network, and print the prompt it built."""
    from ufo_experience.demo import run_demo

    console = Console(as_json=json)
    with console.errors():
        block = run_demo(console.note)
        console.answer({"prompt": block.prompt, "ids": list(block.ids), "tokens": block.tokens}, str(block.prompt))
