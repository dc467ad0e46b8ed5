"""Looking after records as commands: list, show, remove, approve, quarantine, purge, import, export, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ufo_experience.cli.answers import answer_records, pairs
from ufo_experience.cli.app import App, Db, Ids, Json, Network, Trusts, app, open_memory
from ufo_experience.errors import DataError

if TYPE_CHECKING:
    from ufo_experience.memory import ExperienceMemory
    from ufo_experience.schema import Experience, Trust


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
    from ufo_experience import maintenance

    with open_memory(db, json=json) as (console, memory):
        record = memory.store.get(maintenance.resolve(memory.store, [id])[0])
        console.answer({"experiences": [record.model_dump(mode="json")]}, record.model_dump_json(indent=1))


@app.command()
def remove(ids: Ids, db: Db = None, network: Network = None, json: Json = False) -> None:
    """Delete records for good; the same log read again does not bring them back."""
    from ufo_experience import maintenance

    with open_memory(db, json=json, network=network) as (console, memory):
        answer_records(console, maintenance.remove(memory.store, maintenance.resolve(memory.store, ids)))


@app.command()
def approve(ids: Ids, db: Db = None, network: Network = None, json: Json = False) -> None:
    """Sign records off: they may be injected everywhere."""
    from ufo_experience.schema import Trust

    with open_memory(db, json=json, network=network) as (console, memory):
        answer_records(console, trusted(memory, ids, Trust.APPROVED))


@app.command()
def quarantine(ids: Ids, db: Db = None, network: Network = None, json: Json = False) -> None:
    """Take records out of use without deleting them."""
    from ufo_experience.schema import Trust

    with open_memory(db, json=json, network=network) as (console, memory):
        answer_records(console, trusted(memory, ids, Trust.QUARANTINED))


@app.command()
def purge(
    source: Annotated[str, typer.Option(help="The source (file or folder) or session whose records go.")],
    db: Db = None,
    network: Network = None,
    json: Json = False,
) -> None:
    """Delete everything that came from one source, from records, index and cache."""
    from ufo_experience.maintenance import known_sources, purge

    with open_memory(db, json=json, network=network) as (console, memory):
        gone = purge(memory.store, memory.live.generations, source)
        if not gone:
            nearest = ", ".join(known_sources(memory.store, source))
            raise DataError(f"no record comes from {source!r}" + (f"; nearest: {nearest}" if nearest else ""))
        answer_records(console, gone)


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
    from ufo_experience import maintenance

    with open_memory(db, json=json) as (console, memory):
        text = maintenance.export(memory.store, format)
        count = len(memory.store.ids())
        if output is None:
            console.answer({"records": count, "format": format, "text": text}, text)
            return
        output.write_text(text, encoding="utf-8", newline="\n")
        console.answer({"records": count, "format": format, "file": str(output)}, f"{count} records in {output}")


@app.command()
def verify(db: Db = None, json: Json = False) -> None:
    """Check every record, the index and its manifest; exit code 65 if anything is wrong."""
    from ufo_experience import maintenance

    with open_memory(db, json=json) as (console, memory):
        found = maintenance.verify(memory.store, memory.live.generations)
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


def trusted(memory: ExperienceMemory, beginnings: list[str], trust: Trust) -> list[Experience]:
    """Give the records whose ids begin so another trust."""
    from ufo_experience import maintenance

    return maintenance.set_trust(memory.store, maintenance.resolve(memory.store, beginnings), trust)
