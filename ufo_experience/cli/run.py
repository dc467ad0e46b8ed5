"""`run`: a known way carried out in a browser, without a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ufo_experience.cli.app import Application, Context, Task, app, open_memory, text_of
from ufo_experience.cli.console import Console
from ufo_experience.errors import ExperienceError, RefusedError, UsageError

if TYPE_CHECKING:
    from ufo_experience.executor import Executed


@app.command()
def run(
    ctx: Context,
    task: Task,
    browser: Annotated[str | None, typer.Option(help="Address of the page to begin with, in Chromium.")] = None,
    application: Application = None,
    check: Annotated[str | None, typer.Option(help="Text on the screen, or in the address, at the end.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Allow every step that is to be asked for first.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Show the window of the browser.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the steps, and carry out none.")] = False,
) -> None:
    """Carry out the known way of a task without a model, checking each step; exit code 77 where it stopped."""
    with open_memory(ctx) as (console, memory):
        asked = text_of(task)
        guide = memory.guide(asked, application=application)
        plan = str(guide.procedure) if guide else "no way of this task is known"
        if dry_run or guide is None:
            console.answer({"procedure": plan, "known": guide is not None}, plan)
            return
        if browser is None:
            raise UsageError("say where to begin: --browser URL, or --dry-run to see the steps")
        console.note(plan)
        from ufo_experience.executor.drivers import chromium

        with chromium(browser, show=show) as driver:
            done = memory.run(
                asked, driver, ask=_ask(console, yes=yes), check=check, application=application, progress=_told(console)
            )
        told = {
            "reached": done.reached,
            "stopped": done.stopped,
            "calls_saved": done.calls_saved,
            "learned": done.learned,
        }
        told_of = ("text", "by", "effect", "ok", "healed")
        steps = [{part: getattr(one, part) for part in told_of} for one in done.steps]
        console.answer(told | {"steps": steps}, f"{done.stopped}; {done.calls_saved} steps without a model")
        if not done.reached:
            raise RefusedError(done.stopped)


def _told(console: Console) -> Any:
    """Says each step as it happens; with --json a line of JSON each, on stderr."""

    def tell(one: Executed) -> None:
        seen = one.effect or ("failed" if not one.ok else "no effect seen")
        healed = f" (healed: {one.healed})" if one.healed else ""
        console.note(
            json.dumps({"step": one.text, "effect": seen}) if console.as_json else f"{one.text} … {seen}{healed}"
        )

    return tell


def _ask(console: Console, *, yes: bool) -> Any:
    """Asks on a terminal; without one nothing is allowed, unless `yes` says so."""

    def ask(act: Any) -> bool:
        name = act.target.name if act.target else act.action
        if not yes:
            try:
                console.confirm(f'{act.action} "{name}"?')
            except ExperienceError as refusal:
                console.note(str(refusal))
                return False
        return True

    return ask
