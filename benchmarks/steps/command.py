"""`python -m benchmarks steps`: count an agent's model calls, actions and tokens with and without memory."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.steps.agent_registry import open_agent
from benchmarks.steps.page import report_text, write_page
from benchmarks.steps.plan import make_plan
from benchmarks.steps.run import run_steps


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark in a real browser and print its report (or JSON)."""
    given = _parser().parse_args(arguments)
    plan = make_plan(given.env, given.seeds, quick=given.quick).only(given.group, given.task)
    name, make_agent = open_agent(given.agent, timeout=given.timeout)
    report = run_steps(
        plan,
        make_agent=make_agent,
        agent=name,
        conditions=given.condition,
        demonstrated=given.demonstrated,
        agent_timeout=max(300.0, 2 * given.timeout),
        folder=given.logs,
        jobs=given.jobs,
        embedder=given.embedder,
        progress=lambda done, total: print(f"{done} of {total} runs", file=sys.stderr),
    )
    for path in write_page(report, given.output) if given.output else ():
        print(f"wrote {path}", file=sys.stderr)
    print(json.dumps(report.as_data()) if given.json else report_text(report))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks steps", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the tasks: about two minutes")
    parser.add_argument("--seeds", type=int, default=1, help="held-back variants of each task")
    parser.add_argument("--env", default="all", help="miniwob, desktop, erp, web (extra `bench-web`) or all")
    for name in ("group", "condition", "task"):
        parser.add_argument(f"--{name}", action="append", default=[], help=f"only this {name}; repeatable")
    agent = "exec:'COMMAND' (a process an episode), gpt (needs a key), or MODULE:FUNCTION of yours"
    parser.add_argument("--agent", help=agent)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds an exec: agent may take for one answer")
    parser.add_argument("--demonstrated", action="store_true", help="learn from demonstrations, not from own runs")
    parser.add_argument("--logs", type=Path, help="folder to keep session logs and stores in; removed without")
    parser.add_argument("--embedder", default="hashing", help="what finds the experiences: hashing, local:FOLDER, …")
    parser.add_argument("--jobs", type=int, default=2, help="browsers that run at a time")
    parser.add_argument("--output", "-o", type=Path, help="folder for the report, a plot and JSON")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser
