"""Asking as commands: retrieve, prompt, recommend, report."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

import typer

from ufo_experience.cli.answers import answer_retrieval, say_what_is_missing
from ufo_experience.cli.app import (
    Application,
    Context,
    Env,
    Ids,
    Session,
    Task,
    Threshold,
    TopK,
    Worked,
    app,
    open_memory,
    read_json,
    text_of,
)
from ufo_experience.cli.console import table
from ufo_experience.errors import DataError, UsageError
from ufo_experience.store.lessons import is_lesson

_NONE = "no run of this very task is known (values aside); what is similar: ufo-experience retrieve TASK"


@app.command()
def retrieve(
    ctx: Context,
    task: Task,
    application: Application = None,
    env: Env = None,
    top_k: TopK = None,
    threshold: Threshold = None,
    near: Annotated[int, typer.Option(min=0, max=50, help="Show so many below the threshold, too.")] = 0,
    explain: Annotated[bool, typer.Option("--explain", help="Show each signal's part of the score.")] = False,
) -> None:
    """Find the experiences that help with a task."""
    with open_memory(ctx, top_k=top_k, threshold=threshold) as (console, memory):
        found = memory.retrieve(text_of(task), application=application, env=env, near=near)
        answer_retrieval(console, memory, found, explain, application=application)


@app.command()
def prompt(
    ctx: Context,
    task: Task,
    application: Application = None,
    env: Env = None,
    top_k: TopK = None,
    threshold: Threshold = None,
    max_tokens: Annotated[int | None, typer.Option(help="Budget of the examples in tokens. Default: 1200.")] = None,
    format: Annotated[Literal["text", "messages", "ufo"], typer.Option(help="Shape of the prompt.")] = "text",
) -> None:
    """Build the prompt for a task with few-shot examples from memory."""
    with open_memory(ctx, top_k=top_k, threshold=threshold, max_tokens=max_tokens) as (console, memory):
        asked = text_of(task)
        found = memory.retrieve(asked, application=application, env=env)
        say_what_is_missing(console, memory, found, application=application)
        block = memory.build_prompt(asked, found, format=format)
        for identifier, why in block.unshown.items():
            console.note(f"{identifier[:8]} is not shown: {why}")
        data = {"prompt": block.prompt, "ids": list(block.ids), "tokens": block.tokens, "dropped": list(block.dropped)}
        console.answer(data | {"needed": block.needed, "lessons": list(block.lessons)}, str(block))


@app.command()
def recommend(
    ctx: Context,
    state: Annotated[str, typer.Option(help="The state as JSON (task, env, …): a file, - for stdin, or itself.")],
    k_actions: Annotated[int, typer.Option(min=1, help="How many actions at most.")] = 5,
    k_records: Annotated[int, typer.Option(min=1, help="How many records they are drawn from at most.")] = 25,
) -> None:
    """Say which actions tend to work in a state. Advice, never a decision.

    Runs of the same task count, whatever its values; for similar tasks there is `retrieve`.
    """
    with open_memory(ctx) as (console, memory):
        given = read_json(state)
        if not isinstance(given, dict):
            raise DataError("not an object", file=state[:80])
        advice = memory.recommend(given, k_actions=k_actions, k_records=k_records)
        rows = [(f"{one.action_score:.3f}", one.trials, f"{one.success_rate:.0%}", one.signature) for one in advice]
        text = table(("score", "trials", "success", "action"), rows) if rows else console.with_store(_NONE)
        console.answer({"actions": [asdict(one) for one in advice]}, text)


@app.command()
def report(ctx: Context, ids: Ids, success: Worked = None, session: Session = None) -> None:
    """Credit what was shown with the outcome of the run."""
    with open_memory(ctx) as (console, memory):
        if success is None:
            raise UsageError("say --success or --failure: what became of the run")
        asked = [id if is_lesson(id) else memory.get(id).id for id in ids]
        updated = memory.report(asked, success=success, session=session)
        why = f"session {session!r} was reported before; the first report counts"
        left_out = [{"id": id, "reason": why} for id in dict.fromkeys(asked) if not (is_lesson(id) or id in updated)]
        for one in left_out:
            console.note(f"not updated: {one['id'][:8]}: {why}")
        console.answer({"updated": updated, "left_out": left_out}, f"updated {len(updated)}")
