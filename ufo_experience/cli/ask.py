"""Asking as commands: retrieve, prompt, recommend, report, and run, which carries out a known way in a browser."""

from typing import Annotated, Any, Literal

from typer import Argument, Option

from ufo_experience.cli.answers import answer_retrieval, say_what_is_missing
from ufo_experience.cli.app import command, open_memory, read_json, text_of
from ufo_experience.cli.arguments import Application, Context, Env, Ids, Session, Task, Threshold, TopK, Worked
from ufo_experience.cli.console import Table
from ufo_experience.errors import DataError, RefusedError, UsageError
from ufo_experience.executor import Executed
from ufo_experience.procedure.offer import why_none
from ufo_experience.store.lessons import is_lesson

_NONE = "no run of this very task is known (values aside); what is similar: ufo-experience retrieve TASK"


@command("Ask")
def retrieve(
    ctx: Context,
    task: Task,
    application: Application = None,
    env: Env = None,
    top_k: TopK = None,
    threshold: Threshold = None,
    near: Annotated[int, Option(min=0, max=50, help="Show so many below the threshold, too.")] = 0,
    explain: Annotated[bool, Option("--explain", help="Show each signal's part of the score.")] = False,
) -> None:
    """Find the experiences that help with a task."""
    with open_memory(ctx, top_k=top_k, threshold=threshold) as (console, memory):
        found = memory.retrieve(text_of(task), application=application, env=env, near=near)
        answer_retrieval(console, memory, found, explain)


@command("Ask")
def prompt(
    ctx: Context,
    task: Task,
    application: Application = None,
    env: Env = None,
    top_k: TopK = None,
    threshold: Threshold = None,
    max_tokens: Annotated[int | None, Option(help="Budget of the examples in tokens. Default: 1200.")] = None,
    format: Annotated[Literal["text", "messages", "ufo"], Option(help="Shape of the prompt.")] = "text",
) -> None:
    """Build the prompt for a task with few-shot examples from memory.

    On stderr it says how to report on what was shown: by ids of records, not by the code in the prompt's markers.
    """
    with open_memory(ctx, top_k=top_k, threshold=threshold, max_tokens=max_tokens) as (console, memory):
        found = memory.retrieve(text_of(task), application=application, env=env)
        say_what_is_missing(console, memory, found)
        if not found.hits:
            console.note(f"no useful experience: {found.reason}")
        block = memory.build_prompt(text_of(task), found, format=format)
        for identifier, why in block.unshown.items():
            console.note(f"{identifier[:8]} is not shown: {why}")
        told = ("prompt", "ids", "tokens", "dropped", "needed", "lessons")
        console.answer({name: getattr(block, name) for name in told} | {"reason": found.reason}, str(block))
        failed = {hit.id for hit in found.negatives}  # a run that works has not followed these
        if shown := " ".join([*(id[:8] for id in block.ids if id not in failed), *block.lessons]):
            console.note(f"after the run say how it ended; if it worked: ufo-experience report {shown} --success")


@command("Ask")
def recommend(
    ctx: Context,
    task: Annotated[
        list[str] | None, Argument(help="The task, where the state says no more.", metavar="[TASK]...")
    ] = None,
    application: Application = None,
    state: Annotated[
        str | None, Option(help="The state as JSON (task, env, …): a file, - for stdin, or itself.")
    ] = None,
    k_actions: Annotated[int, Option(min=1, help="How many actions at most.")] = 5,
    k_records: Annotated[int, Option(min=1, help="How many records they are drawn from at most.")] = 25,
) -> None:
    """Say which actions tend to work in a state, by runs of the same task. Advice, never a decision."""
    if bool(task) is (state is not None):
        raise UsageError("""say the task, or --state '{"task": "Send the report", "application": "Outlook"}'""")
    with open_memory(ctx) as (console, memory):
        given = read_json(state) if state is not None else {"task": text_of(task or []), "application": application}
        if not isinstance(given, dict):
            raise DataError("not an object", file=f"{state:.80}")
        advice = memory.recommend(given, k_actions=k_actions, k_records=k_records)
        rows = [(f"{one.action_score:.3f}", one.trials, f"{one.success_rate:.0%}", one.signature) for one in advice]
        shown = Table(("score", "trials", "success", "action"), rows) if rows else console.with_store(_NONE)
        console.answer({"actions": advice}, shown)


@command("Ask")
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


@command("Ask")
def run(
    ctx: Context,
    task: Task,
    browser: Annotated[str | None, Option(help="Address of the page to begin with, in Chromium.")] = None,
    application: Application = None,
    check: Annotated[str | None, Option(help="Text on the screen, or in the address, at the end.")] = None,
    yes: Annotated[bool, Option("--yes", help="Allow every step that is to be asked for first.")] = False,
    show: Annotated[bool, Option("--show", help="Show the window of the browser.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the steps, and carry out none.")] = False,
) -> None:
    """Carry out the known way of a task without a model, checking each step; exit code 77: it stopped or is unknown."""
    with open_memory(ctx) as (console, memory):
        found = memory.retrieve(text_of(task), application=application)
        guide = memory.guide(text_of(task), hits=found)
        plan = str(guide.procedure) if guide else why_none(found) or f"no way of this task is known: {found.reason}"
        if dry_run or guide is None:
            console.answer({"procedure": plan, "known": guide is not None}, plan)
            if guide is None:
                raise SystemExit(RefusedError.exit_code)
            return
        if browser is None:
            raise UsageError("say where to begin: --browser URL, or --dry-run to see the steps")
        console.note(plan)
        from ufo_experience.executor.drivers import chromium

        def ask(act: Any) -> bool:
            """The person at the terminal decides; where there is none, nothing is allowed but by `--yes`."""
            try:
                if not yes:
                    console.confirm(f'{act.action} "{act.target.name if act.target else act.action}"?')
            except RefusedError as refusal:
                console.note(str(refusal))
                return False
            return True

        def tell(one: Executed) -> None:
            seen = one.effect or ("no effect seen" if one.ok else "failed")
            console.note(f"{one.text} … {seen}{f' (healed: {one.healed})' if one.healed else ''}")

        with chromium(browser, show=show) as driver:
            done = memory.run(text_of(task), driver, ask=ask, check=check, application=application, progress=tell)
        data = {name: getattr(done, name) for name in ("reached", "stopped", "calls_saved", "learned")}
        told = ("text", "by", "effect", "ok", "healed")
        data["steps"] = [{name: getattr(one, name) for name in told} for one in done.steps]
        console.answer(data, f"{done.stopped}; {done.calls_saved} steps without a model")
        if not done.reached:
            raise SystemExit(RefusedError.exit_code)
