"""Where a goal in other words loses its known way: served, offered or among the choices, bound, carried out.

The memory holds two demonstrations of each learned task of the bench's desktop; the goals are those of two authors, two
wordings of each task. "Carried out" is what a reader brings about that takes the right way when it is told, fills in
what that leaves open, and does nothing by itself.

    python benchmarks/reworded_goals.py        # needs Chromium with its driver, about two minutes
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.steps.agents import explorer_agent, foreseen_in, named_command, ways_in
from benchmarks.steps.conditions import Learned, ReadOnly
from benchmarks.steps.desktop.templates import templates
from benchmarks.steps.plan import DEMONSTRATED, DESKTOP, REWORDED_A, REWORDED_B, Case, make_plan
from benchmarks.steps.run import Bench, Browsers
from benchmarks.steps.workplace import Workplace
from ufo_experience.procedure.guide import Guide
from ufo_experience.session import AgentStatus, Decision, Turn

MAX_CALLS = 6


class Reader:
    """Takes the right way of those it is told, with the values of the task; without one it gives up."""

    name = "LinuxAgent"

    def __init__(self, workplace: Workplace, case: Case, right: Guide) -> None:
        self._workplace, self._calls = workplace, 0
        self._names = {step.target.name for step in right.procedure.steps if step.target}
        way = templates()[case.task].variant(case.seed).way
        self._values = dict(word.split("=", 1) for word in way if "=" in word)

    async def act(self, turn: Turn) -> Decision:
        """The actions told, up to the first whose value nobody knows."""
        self._calls += 1
        told = foreseen_in(turn.ahead) or max(ways_in(turn.ahead).values(), key=self._known, default=())
        self._workplace.meter.asked(turn.ahead)
        taken = []
        for one in told:
            if one.get("fill") and one["name"] not in self._values:
                break
            taken.append({**one, "text": self._values[one["name"]]} if one.get("fill") else one)
        if not taken or self._calls > MAX_CALLS or self._workplace.environment.done:
            return Decision(AgentStatus.FINISH if self._workplace.environment.done else AgentStatus.FAIL)
        return Decision(AgentStatus.CONTINUE, tuple(map(named_command, taken)))

    def _known(self, actions: Sequence[Mapping[str, Any]]) -> float:
        """How much of a way is the right one's."""
        return sum(one.get("name") in self._names for one in actions) / len(actions)


def offered(learned: Learned, case: Case, goal: str) -> tuple[str, str, Guide | None]:
    """Whether the task's own experience is served, and whether its way is offered or one of the choices."""
    own = learned.families[case.family]
    hits = learned.memory.retrieve(goal)
    served = "served" if any(hit.id in own for hit in hits) else "not served"
    guide = learned.memory.guide(goal, hits=hits) if hits else None
    ways = [guide] if guide is not None else [*learned.memory.choices(goal)]
    right = next((way for way in ways if way.procedure.id in own), None)
    return served, "a choice" if guide is None else "offered", right


def goal_of(case: Case, bench: Bench) -> str:
    """The goal in the words of the author."""
    return case.environment(bench.browsers.mine()).reset(case.seed).goal


def measure(bench: Bench, learned: Learned, case: Case) -> Counter[str]:
    """One goal, as far as it comes."""
    goal = goal_of(case, bench)
    served, how, way = offered(learned, case, goal)
    found = Counter({"goals": 1, served: 1})
    if way is None:
        return found
    is_open = any(step.missing for step in way.procedure.steps)
    found += Counter({how: 1, "left open" if is_open else "all bound": 1})
    reader = partial(Reader, case=case, right=way)
    outcome = bench.run(case, ReadOnly(learned.memory), case.group, make_agent=reader, mode="ahead")
    carried_out = Counter({"carried out": int(outcome.success), "calls": outcome.calls, "wrong actions": outcome.wrong})
    return found + carried_out


def main() -> None:
    """Print the table."""
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        bench = Bench(explorer_agent, folder, Browsers(2, closing))
        plan = make_plan(DESKTOP, seeds=2)
        learned = bench.learn(DEMONSTRATED, plan.lessons[DEMONSTRATED])
        for group in (REWORDED_A, REWORDED_B):
            found = sum(bench.each(partial(measure, bench, learned), plan.of(group)), Counter[str]())
            sys.stdout.write(f"{group}: " + ", ".join(f"{name} {count}" for name, count in found.items()) + "\n")


if __name__ == "__main__":
    main()
