"""Advice and its measure as commands: recommend, calibrate."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ufo_experience.cli.app import Db, Json, Network, app, open_memory, read_json
from ufo_experience.cli.console import table
from ufo_experience.errors import DataError

_NONE = "no run of this very task is known (values aside); what is similar: ufo-experience retrieve TASK"


@app.command()
def recommend(
    state: Annotated[str, typer.Option(help="The state as JSON (task, env, …): a file, - for stdin, or itself.")],
    k_actions: Annotated[int, typer.Option(min=1, help="How many actions at most.")] = 5,
    k_records: Annotated[int, typer.Option(min=1, help="How many records they are drawn from at most.")] = 25,
    db: Db = None,
    json: Json = False,
) -> None:
    """Say which actions tend to work in a state. Advice, never a decision.

    Runs of the same task count, whatever its values; for similar tasks there is `retrieve`.
    """
    with open_memory(db, json=json) as (console, memory):
        advice = memory.recommend(_state(state), k_actions=k_actions, k_records=k_records)
        rows = [(f"{one.action_score:.3f}", one.trials, f"{one.success_rate:.0%}", one.signature) for one in advice]
        text = table(("score", "trials", "success", "action"), rows) if rows else _NONE + console.same_store
        console.answer({"actions": [asdict(one) for one in advice]}, text)


@app.command()
def calibrate(
    labels: Annotated[
        Path | None, typer.Option(help='JSON lines {"query", "id" or "text", "relevant"}. Default: the store itself.')
    ] = None,
    precision: Annotated[float, typer.Option(help="Share of what is served that must be relevant.")] = 0.95,
    db: Db = None,
    network: Network = None,
    json: Json = False,
) -> None:
    """Set the threshold of the embedder in use, from labelled pairs or from the store itself."""
    with open_memory(db, json=json, network=network) as (console, memory):
        found = memory.calibrate(labels, precision=precision)
        text = (
            f"threshold {found.threshold:.3f} for {found.embedder}: precision {found.precision:.1%}, "
            f"recall {found.recall:.1%} on {found.pairs} pairs"
        )
        console.answer(found.model_dump(), text)


def _state(given: str) -> dict[str, Any]:
    state = read_json(given)
    if not isinstance(state, dict):
        raise DataError("not an object", file=given[:80])
    return state
