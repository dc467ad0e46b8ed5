"""Measuring as commands: `bench retrieval` and its siblings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ufo_experience.cli.app import Db, Json, app, console_for, shared

if TYPE_CHECKING:
    from ufo_experience.benchmark.retrieval.beir import TaskSet

bench = typer.Typer(no_args_is_help=True, help="Measure this package: retrieval quality, saved steps, speed.")
app.add_typer(bench, name="bench")


@bench.command()
def retrieval(
    data: Annotated[Path | None, typer.Option("--data", help="Folder in BEIR layout: corpus, queries, qrels.")] = None,
    db: Db = None,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Queries are corpus entries; none may answer itself.")
    ] = False,
    embedder: Annotated[
        list[str] | None,
        typer.Option(help="hashing (default), local:FOLDER, openai:MODEL, simulated:KIND|all:SPEC, …; more than once."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(help="Put a judge behind it: openai:MODEL, or 0.9 for one that tells the truth in 90 %."),
    ] = None,
    views: Annotated[bool, typer.Option("--views", help="Compare what of a text could be embedded.")] = False,
    top_k: Annotated[int, typer.Option("-k", "--top-k", min=1, max=50, help="How many are served at most.")] = 3,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for a page and a plot.")] = None,
    json: Json = False,
) -> None:
    """Measure retrieval on a set of tasks, or (with --db and --leave-one-out) on a store of yours."""
    console = console_for(json)
    with console.errors():
        from ufo_experience.benchmark.retrieval.page import report_text, write_page
        from ufo_experience.benchmark.retrieval.run import as_data, run
        from ufo_experience.settings import load_settings

        task_set = _task_set(data, db, leave_one_out)
        http = load_settings(allow_http_service=shared().http_service).allow_http_service
        with console.progress("asking") as progress:
            report = run(
                task_set,
                embedder or ["hashing"],
                k=top_k,
                judge=judge,
                views=views,
                allow_http=http,
                progress=progress,
            )
        if output is not None:
            for path in write_page(report, output):
                console.note(f"wrote {path}")
        console.answer(as_data(report), report_text(report))


@bench.command()
def speed(
    sizes: Annotated[str, typer.Option(help="Numbers of records: 100,1k,10k,100k.")] = "100,1k,10k",
    embedder: Annotated[str, typer.Option(help="hashing (default), hashing:384, local:FOLDER, …")] = "hashing",
    repeats: Annotated[int, typer.Option(min=4, help="How often what is quick is measured.")] = 20,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for a page and a picture.")] = None,
    json: Json = False,
) -> None:
    """Measure the loop of an agent on disk: cold command, first question, learn one run, ask after it, rebuild."""
    console = console_for(json)
    with console.errors():
        from ufo_experience.benchmark.speed.loop import as_data, run_loop
        from ufo_experience.benchmark.speed.page import loop_text, write_loop_page
        from ufo_experience.benchmark.speed.run import parse_sizes

        with console.progress("measuring") as progress:
            report = run_loop(parse_sizes(sizes), embedder=embedder, repeats=repeats, progress=progress)
        if output is not None:
            for path in write_loop_page(report, output):
                console.note(f"wrote {path}")
        console.answer(as_data(report), loop_text(report))


@bench.command()
def learn(
    sessions: Annotated[int, typer.Option(min=1, help="Sessions of different tasks.")] = 500,
    jobs: Annotated[str, typer.Option(help="Numbers of processes that read them.")] = "1,2",
    same: Annotated[str, typer.Option(help="Numbers of runs of one and the same task.")] = "250,500,1k",
    repeats: Annotated[int, typer.Option(min=1, help="How often everything is measured, in turn.")] = 3,
    json: Json = False,
) -> None:
    """Measure learning many runs: sessions a second by number of processes, and runs of one and the same task."""
    console = console_for(json)
    with console.errors():
        from ufo_experience.benchmark.speed.many import many_data, many_text, run_many
        from ufo_experience.benchmark.speed.run import parse_sizes

        with console.progress("learning") as progress:
            report = run_many(sessions, parse_sizes(jobs), parse_sizes(same), progress, repeats)
        console.answer(many_data(report), many_text(report))


@bench.command()
def engines(
    sizes: Annotated[str, typer.Option(help="Numbers of rows: 1k,10k,100k,1m.")] = "1k,10k,100k",
    dims: Annotated[str, typer.Option(help="Numbers of dimensions.")] = "384,1536",
    vectors: Annotated[
        Path | None, typer.Option("--vectors", help="A .npy file of unit vectors to use instead of made ones.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for a page and a plot.")] = None,
    json: Json = False,
) -> None:
    """Measure the index alone, vectors to ids, against numpy and FAISS's flat index, with and without a filter."""
    console = console_for(json)
    with console.errors():
        from ufo_experience.benchmark.speed.engines import engines as make_engines
        from ufo_experience.benchmark.speed.page import report_text, write_page
        from ufo_experience.benchmark.speed.run import as_data, parse_sizes, read_vectors, run

        real = None if vectors is None else read_vectors(vectors)
        lengths = parse_sizes(dims) if real is None else [real.shape[1]]
        with console.progress("measuring") as progress:
            report = run(parse_sizes(sizes), lengths, make_engines, vectors=real, progress=progress)
        if output is not None:
            for path in write_page(report, output):
                console.note(f"wrote {path}")
        console.answer(as_data(report), report_text(report))


@bench.command()
def steps(
    quick: Annotated[bool, typer.Option("--quick", help="A quarter of the tasks: about two minutes.")] = False,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Held-back variants of each task.")] = 1,
    env: Annotated[str, typer.Option("--env", help="miniwob, desktop, erp, web (extra `bench-web`) or all.")] = "all",
    group: Annotated[list[str] | None, typer.Option("--group", help="Only this group of tests; repeatable.")] = None,
    condition: Annotated[
        list[str] | None, typer.Option("--condition", help="Only this condition, and off; repeatable.")
    ] = None,
    task: Annotated[list[str] | None, typer.Option("--task", help="Only this task; repeatable.")] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            help="exec:'COMMAND' (a process for each episode), gpt (needs a key), or MODULE:FUNCTION that makes an "
            "agent of yours from a Workplace.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds an exec: agent may take for one answer.")
    ] = 120.0,
    demonstrated: Annotated[
        bool, typer.Option("--demonstrated", help="Learn from demonstrations instead of the agent's own runs.")
    ] = False,
    logs: Annotated[
        Path | None, typer.Option("--logs", help="Folder to keep session logs and stores in; removed without.")
    ] = None,
    embedder: Annotated[
        str, typer.Option("--embedder", help="What finds the experiences: hashing, local:FOLDER, openai, …")
    ] = "hashing",
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Browsers that run at a time.")] = 2,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the report, a plot, JSON.")] = None,
    json: Json = False,
) -> None:
    """Count an agent's model calls, actions and tokens with and without memory, in a real browser (extra `bench`)."""
    console = console_for(json)
    with console.errors():
        from ufo_experience.benchmark.steps.agent_registry import open_agent
        from ufo_experience.benchmark.steps.page import report_text, write_page
        from ufo_experience.benchmark.steps.plan import make_plan
        from ufo_experience.benchmark.steps.run import run_steps

        plan = make_plan(env, seeds, quick=quick).only(group or (), task or ())
        name, make_agent = open_agent(agent, timeout=timeout)
        with console.progress("running") as progress:
            report = run_steps(
                plan,
                make_agent=make_agent,
                agent=name,
                conditions=condition or (),
                demonstrated=demonstrated,
                agent_timeout=max(300.0, 2 * timeout),
                folder=logs,
                jobs=jobs,
                embedder=embedder,
                progress=progress,
            )
        if output is not None:
            for path in write_page(report, output):
                console.note(f"wrote {path}")
        console.answer(report.as_data(), report_text(report))


def _task_set(data: Path | None, db: str | None, leave_one_out: bool) -> TaskSet:
    from ufo_experience.benchmark.retrieval.beir import from_experiences, read_beir
    from ufo_experience.errors import UsageError
    from ufo_experience.store import open_store

    if (data is None) == (db is None):
        raise UsageError("give --data FOLDER or --db STORE, one of them")
    if data is not None:
        return read_beir(data, leave_one_out=leave_one_out)
    if not leave_one_out:
        raise UsageError("a store is measured with --leave-one-out")
    store = open_store(str(db), create=False)
    return from_experiences(Path(store.location).name, store.scan())
