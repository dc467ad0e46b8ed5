"""Looking after records as commands: list, show, remove, approve, quarantine, purge, import, export, verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ufo_experience.cli.answers import answer_records, pairs
from ufo_experience.cli.app import App, Db, Ids, Json, Network, Trusts, app, open_memory
from ufo_experience.errors import DataError


@app.command("list")
def list_records(
    application: App = None,
    trust: Annotated[Trusts | None, typer.Option(help="Only records of this trust.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """List the records of a store."""
    from ufo_experience.text.applications import application_key

    with open_memory(db, json=json) as (console, memory):
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
    with open_memory(db, json=json) as (console, memory):
        record = memory.get(id)
        console.answer({"experiences": [record.model_dump(mode="json")]}, record.model_dump_json(indent=1))


@app.command()
def remove(ids: Ids, db: Db = None, network: Network = None, json: Json = False) -> None:
    """Delete records for good; the same log read again does not bring them back."""
    with open_memory(db, json=json, network=network) as (console, memory):
        answer_records(console, memory.remove(*ids))


@app.command()
def approve(ids: Ids, db: Db = None, network: Network = None, json: Json = False) -> None:
    """Sign records off: they may be injected everywhere."""
    with open_memory(db, json=json, network=network) as (console, memory):
        answer_records(console, memory.approve(*ids))


@app.command()
def quarantine(ids: Ids, db: Db = None, network: Network = None, json: Json = False) -> None:
    """Take records out of use without deleting them."""
    with open_memory(db, json=json, network=network) as (console, memory):
        answer_records(console, memory.quarantine(*ids))


@app.command()
def purge(
    source: Annotated[str, typer.Option(help="The source (file or folder) or session whose records go.")],
    db: Db = None,
    network: Network = None,
    json: Json = False,
) -> None:
    """Delete everything that came from one source, from records, index and cache."""
    with open_memory(db, json=json, network=network) as (console, memory):
        answer_records(console, memory.purge(source))


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="An export of this package, or UFO's experience.yaml or its folder.")],
    approve: Annotated[bool, typer.Option("--approve", help="You vouch for it: it may be injected.")] = False,
    db: Db = None,
    network: Network = None,
    json: Json = False,
) -> None:
    """Take in records from elsewhere; they are quarantined until approved. UFO's own index files are not opened."""
    from ufo_experience.integrations.ufo.migration import migrate_into, yaml_file

    with open_memory(db, json=json, create=True, network=network) as (console, memory):
        migration = migrate_into(memory, yaml_file(file) or file, approve=approve)
        done = migration.report
        data = {
            "added": done.added,
            "skipped": pairs(done.skipped, "source", "reason"),
            "failed": pairs(done.failed, "source", "error"),
            "unopened": [str(path) for path in migration.unopened],
        }
        for source, error in done.failed:
            console.note(f"failed: {source}: {error}")
        console.answer(data, migration.message)
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
    with open_memory(db, json=json) as (console, memory):
        done = memory.export(format, output)
        data = {"records": done.records, "left_out": done.left_out, "format": format}
        reasons = ", ".join(f"{count} {reason}" for reason, count in done.left_out.items())
        if reasons:
            console.note(f"{sum(done.left_out.values())} left out: {reasons}")
        if done.file is None:
            console.answer({**data, "text": done.text}, done.text)
        else:
            console.answer({**data, "file": str(done.file)}, f"{done.records} records in {done.file}")


@app.command()
def verify(db: Db = None, json: Json = False) -> None:
    """Check every record, the index and its manifest; exit code 65 if anything is wrong."""
    with open_memory(db, json=json) as (console, memory):
        found = memory.verify()
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
        if found.corrupt or found.index == "corrupt":
            raise SystemExit(DataError.exit_code)
