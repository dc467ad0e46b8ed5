"""`python -m benchmarks play`: anybody who can send HTTP plays tasks of real web applications, with and without memory.

A player, a person, a program or a language model, is told a task and what is on the screen, and answers with actions:

    python -m benchmarks play --plan plan.jsonl --db STORE --results ada.jsonl --port 8901
    curl -s localhost:8901/                                    the task at hand, what is known of it, the screen
    curl -s localhost:8901/act -d '[{"do": "click", "name": "Settings"}, {"do": "type", "id": 12, "text": "Ada"}]'
    curl -s localhost:8901/done -d ''                          "I am done": the next task comes
    python -m benchmarks play --plan plan.jsonl --db STORE --results taken.jsonl --obedient
    python -m benchmarks play --plan plan.jsonl --db STORE --judge-questions FILE   what a judge would be asked
    python -m benchmarks play --plan plan.jsonl --db STORE --results ada.jsonl --judge-answers FILE
    python -m benchmarks play --report ada.jsonl bob.jsonl     the table

A line of the plan is `{"task": "web/trac/wish", "arm": "similar", "seed": 1}`; `goal` takes the place of the task's own
words. In the arm `first` nothing is known and what is done is learned; in `off` nothing is known and nothing learned.
In every other arm the prompt holds what memory shows. Each request to `/act` is a call of the player; the database
judges. Characters of what a player is sent, by four, are its tokens. The obedient player is a program that does what
the block says, word for word and without a look, and stops where the block leaves something open or not covered.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page import table
from benchmarks.reading import parse_block
from benchmarks.retrieval.by_file import Questions, answers
from benchmarks.steps.browser import Browser
from benchmarks.steps.environment import Command
from benchmarks.steps.web import WebTask, web_families
from benchmarks.steps.web.web_task import APPLICATIONS
from tests.openai_stub import OpenAIStub
from ufo_experience import ExperienceMemory
from ufo_experience.controls import bare
from ufo_experience.errors import ExperienceError, UsageError
from ufo_experience.executor import SeleniumDriver
from ufo_experience.integrations.recorder import Recorder
from ufo_experience.procedure.acts import Act, is_item_of, target_of
from ufo_experience.procedure.screen import Control, read_screen
from ufo_experience.request import holds
from ufo_experience.settings import Settings

FIRST, OFF = "first", "off"
MOST_CALLS = 40  # of a trial; then it ends
_DO = {
    "click": "click",
    "double_click": "double_click",
    "type": "type",
    "select": "select_option",
    "press": "press_key",
}
_VERBS = {"tick": "click", "untick": "click", "double-click": "double_click", "choose": "select"}  # of a block
_TOLD = ("name", "type", "within", "dialog", "checked", "selected", "expanded", "value")  # of a control in view
_SHOWN = ("Text", "Header", "DataItem")  # acted on where nothing else has the name
_APPEARS = 2.0  # seconds that a named control may take to be there
_RESAMPLED = 2_000
_HOW = """You operate a web application. Answer with a JSON list of actions, carried out one after another, also over
several pages, until one fails. An action: {"do": "click", "double_click", "type", "select" or "press", "id": number on
the screen, or "name": its name (on any page to come, with "type" and "within" where several have it), "text": what is
typed, chosen or pressed}. When the task is done, say so."""


@dataclass(frozen=True)
class Played:
    """One trial. `changed` names the tables that changed, `wrong` those of them that the task does not touch; `acts`
    counts actions."""

    arm: str
    task: str
    goal: str
    known: int
    calls: int
    acts: int
    failed: int
    tokens: int
    reached: bool
    wrong: str
    changed: str
    seconds: float


class Trial:
    """One task as a player meets it."""

    def __init__(self, line: Mapping[str, Any], browser: Browser, memory: ExperienceMemory) -> None:
        self.arm, self.task = line["arm"], WebTask(line["task"].removeprefix("web/"), browser)
        self.goal = line.get("goal") or self.task.reset(line["seed"]).goal
        if "goal" in line:
            self.task.reset(line["seed"])
            self.goal = self.task.family.filled(line["goal"], line["seed"])
        self._driver, self._begun = SeleniumDriver(browser.driver), time.monotonic()
        self._recorder = Recorder(memory, save="always" if self.arm == FIRST else "always_not")
        self.calls = self.acts = self.failed = self.sent = 0
        start = self._recorder.start(self.goal, self.task.application)
        is_told = self.arm not in (FIRST, OFF)
        self.block, self.known = (start.block, len(start.ids)) if is_told else ("", 0)
        if self._recorder.fault is not None:
            raise self._recorder.fault
        self._prompt = "\n".join(filter(None, (_HOW, self.block, f"Task: {self.goal}")))
        self._view: list[dict[str, Any]] = []

    def told(self) -> str:
        """What a player is sent first."""
        return self._count(f"{self._prompt}\n\n{self._look()}")

    def act(self, actions: Sequence[Mapping[str, Any]]) -> str:
        """Carry out actions until one fails; what came of them, and the screen."""
        self.calls += 1
        said = []
        for action in actions:
            self.acts += 1
            error = self._do(action)
            said.append(f"{json.dumps(action, ensure_ascii=False)}: {error or 'done'}")
            if error:
                self.failed += 1
                break
        return self._count("\n".join([*said, "", self._look()]))

    def end(self) -> Played:
        """What came of it, judged by the database; a first play is learned."""
        self.task.step(Command("wait"))
        reached, wrong = bool(self.task.score), ", ".join(sorted(self.task.unasked))
        changed = ", ".join(sorted(self.task.changed))
        if self.arm == FIRST:
            self._recorder.finish(success=reached, judge="program")
        seconds = round(time.monotonic() - self._begun, 1)
        counts = (self.known, self.calls, self.acts, self.failed, self.sent // 4)
        return Played(self.arm, self.task.name, self.goal, *counts, reached, wrong, changed, seconds)

    def _do(self, action: Mapping[str, Any]) -> str:
        """Carry out one action; "" or what went wrong."""
        text, until = str(action.get("text", "")), time.monotonic() + _APPEARS
        try:
            if action.get("do") not in _DO:
                raise UsageError(f"do is one of {', '.join(_DO)}")
            while not (found := _meant(action, self._controls())):
                if "id" in action or time.monotonic() > until:
                    raise UsageError("no control on this screen is that")
            if len(found) > 1:
                raise UsageError(f"{len(found)} controls on this screen are that; say which by its id, type or within")
            (control,) = found
            if control and action.get("option_of"):
                text = next((one for one in control.options if holds(one, str(action["option_of"]))), text)
            act = Act(_DO[action["do"]], target_of(control) if control else None, {"text": text} if text else {})
            self._driver.do(act)
        except ExperienceError as error:
            return str(error)
        name, kind, within = (control.name, control.type, control.within) if control else ("", "", "")
        controls = [{key: one[key] for key in _TOLD if key in one} for one in self._view]
        self._recorder.step(act.action, name, dict(act.parameters), control_type=kind, within=within, controls=controls)
        return ""

    def _controls(self) -> Sequence[Control]:
        self._view = self._driver.controls()
        return read_screen(self._view).controls

    def _look(self) -> str:
        self._controls()
        return "Screen:\n" + "\n".join(map(_line, self._view))

    def _count(self, text: str) -> str:
        self.sent += len(text)
        return text


def _meant(action: Mapping[str, Any], controls: Sequence[Control]) -> Sequence[Control | None]:
    """The controls that an action may mean; None stands for the window, where keys go that name no control."""
    if "id" in action:
        return [one for one in controls if str(one.id) == str(action["id"])]
    kind, within = str(action.get("type", "")), str(action.get("within", ""))
    able = [one for one in controls if one.usable and kind in ("", one.type)]
    if action.get("item"):
        own = [one for one in able if is_item_of(str(action["item"]), one.name)]
        items = own or [one for one in able if is_item_of(str(action["item"]), "", one.within)]
        return [one for one in items if all(holds(one.within, str(said)) for said in action.get("beside", ()))][:1]
    if not (action.get("name") or kind):
        return [None] if action["do"] == "press" else []
    name = str(action.get("name", ""))
    named = [one for one in able if one.name == name] or [one for one in able if one.bare == bare(name)]
    if name.endswith("…") and not named:  # so it begins
        named = [one for one in able if one.name.casefold().startswith(name[:-1].strip().casefold())]
    named = [one for one in named if one.type not in _SHOWN] or named
    placed = [one for one in named if within in one.within]
    after = bare(str(action.get("after", "")) or ("" if placed else within))
    field = next((one.place for one in controls if after and one.bare == after), None)
    return [*placed] if field is None else [one for one in placed or named if one.place > field][:1]


def _line(control: Mapping[str, Any]) -> str:
    parts = [f"[{control['id']}] {control['type']} {json.dumps(control['name'], ensure_ascii=False)}"]
    if control.get("within"):
        parts.append(f"in {json.dumps(control['within'][:60], ensure_ascii=False)}")
    if control.get("value"):
        parts.append(f"= {json.dumps(control['value'], ensure_ascii=False)}")
    parts += [key for key in ("checked", "selected", "expanded") if control.get(key)]
    if control.get("enabled") is False:
        parts.append("disabled")
    if control.get("options"):
        parts.append(f"offers {json.dumps(control['options'][:30], ensure_ascii=False)}")
    return " ".join(parts)


def obey(block: str) -> list[dict[str, Any]]:
    """The actions of a block, taken at its word up to the first step that it leaves open, or asks a person about while
    words of the request are not covered."""
    known: dict[str, Any] = next((one for one in parse_block(block) if one.get("steps")), {})
    actions = []
    for step in known.get("steps", ()):
        if step.get("open") or (step.get("confirm") and known.get("not_covered")):
            break
        verb, text = step["action"], str(step.get("parameters", {}).get("text", ""))
        place = {name: step.get(name, "") for name in ("within", "after")}
        place |= {"name": step["control"], "type": step.get("control_type", "")}
        place["within"] = place["within"] or step.get("row_of", "")
        if step.get("item_of"):
            place = {"item": step["item_of"], "type": step.get("control_type", ""), "beside": step.get("beside", ())}
        place["option_of"] = step.get("option_of", "")
        actions.append({"do": _VERBS.get(verb, verb), "text": text, **{key: one for key, one in place.items() if one}})
    return actions


class Game:
    """The trials of a plan, one after another; each result is written as it ends."""

    def __init__(self, plan: Path, results: Path, browser: Browser, memory: ExperienceMemory) -> None:
        lines = [json.loads(line) for line in plan.read_text(encoding="utf-8").splitlines() if line.strip()]
        self._left, self._results, self._browser, self._memory = lines, results, browser, memory
        self.trial: Trial | None = None

    def answer(self, path: str, body: str) -> str:
        """What a request is answered with."""
        if self.trial is None:
            return self._next()
        if path == "/act":
            actions = json.loads(body)
            if self.trial.calls >= MOST_CALLS:
                return self._end("That was the last call of this task.")
            return self.trial.act(actions if isinstance(actions, list) else [actions])
        if path == "/done":
            return self._end("Noted.")
        return self.trial.told()

    def obey(self) -> None:
        """Have the obedient player play what is left."""
        self.answer("/", "")
        while self.trial is not None:
            self.trial.act(obey(self.trial.block))
            self._end("")

    def _end(self, said: str) -> str:
        assert self.trial is not None
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self.trial.end()), ensure_ascii=False) + "\n")
        self.trial = None
        return f"{said}\n\n{self._next()}"

    def _next(self) -> str:
        if not self._left:
            return "All tasks are over. Thank you."
        self.trial = Trial(self._left.pop(0), self._browser, self._memory)
        return f"A new task ({len(self._left)} after it).\n{self.trial.told()}"


def serve(game: Game, port: int) -> None:
    """Answer on the loopback until the plan is played."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(200, game.answer(self.path, ""))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8")
            try:
                self._say(200, game.answer(self.path, body))
            except (ValueError, AttributeError) as error:
                self._say(400, f"not a JSON list of actions: {error}")

        def _say(self, status: int, text: str) -> None:
            data = text.encode("utf-8")
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    HTTPServer(("127.0.0.1", port), Handler).serve_forever()


def report_of(played: Sequence[Mapping[str, Any]]) -> str:
    """A line an arm: what it took, and what it saved against the `first` or `off` plays of the same tasks."""
    base: dict[str, list[Mapping[str, Any]]] = {}
    for one in played:
        if one["arm"] in (FIRST, OFF):
            base.setdefault(one["task"], []).append(one)
    rows = []
    for arm in dict.fromkeys(one["arm"] for one in played):
        ones = [one for one in played if one["arm"] == arm]
        sums = [str(sum(one[key] for one in ones)) for key in ("calls", "acts", "tokens")]
        reached, wrong = sum(one["reached"] for one in ones), sum(bool(one["wrong"]) for one in ones)
        changes = ["–", "–"] if arm in (FIRST, OFF) else [_change(ones, base, key) for key in ("calls", "tokens")]
        known = sum(one["known"] > 0 for one in ones)
        rows.append([arm, str(len(ones)), str(known), *sums, str(reached), str(wrong), *changes])
    heads = ("arm", "plays", "known", "calls", "actions", "tokens", "reached", "wrong", "calls saved", "tokens saved")
    return "\n".join(table(heads, rows))


def _change(ones: Sequence[Mapping[str, Any]], base: Mapping[str, Sequence[Mapping[str, Any]]], key: str) -> str:
    """The saving over the tasks that both reached, in per cent, with a 95 % interval by resampling tasks."""
    pairs = [
        (float(np.mean([first[key] for first in base[one["task"]] if first["reached"]])), one[key])
        for one in ones
        if one["reached"] and any(first["reached"] for first in base.get(one["task"], ()))
    ]
    if not pairs:
        return "–"
    both = np.array(pairs)
    picks = np.random.default_rng(0).integers(0, len(both), (_RESAMPLED, len(both)))
    sums = both[picks].sum(axis=1)
    low, high = np.percentile(100 * (1 - sums[:, 1] / sums[:, 0]), [2.5, 97.5])
    before, after = both.sum(axis=0)
    return f"{100 * (1 - after / before):.0f} % [{low:.0f}, {high:.0f}]"


def main(arguments: Sequence[str]) -> None:
    """Play a plan, or print the table of what was played."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks play", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plan", type=Path, help="what is played, a JSON object a line")
    parser.add_argument("--db", type=Path, help="the store that learns and is asked")
    parser.add_argument("--results", type=Path, help="file that each result is added to")
    parser.add_argument("--port", type=int, default=8901, help="of the loopback")
    parser.add_argument(
        "--obedient", action="store_true", help="the player is a program that takes each word it is told"
    )
    parser.add_argument("--judge-questions", type=Path, metavar="FILE", help="write what a judge would be asked")
    parser.add_argument(
        "--judge-answers", type=Path, metavar="FILE", help="the judge's answers, as `retrieval` has them"
    )
    parser.add_argument("--report", type=Path, nargs="+", help="results to make the table of")
    given = parser.parse_args(arguments)
    if given.report:
        lines = [line for path in given.report for line in path.read_text(encoding="utf-8").splitlines()]
        print(report_of([json.loads(line) for line in lines]))
        return
    if not (given.plan and given.db and (given.results or given.judge_questions)):
        raise UsageError("give --plan, --db and --results (or --judge-questions), or --report")
    if given.judge_questions:
        asked = Questions()
        with _judged_by(asked) as judge:
            ask(given.plan, ExperienceMemory.open(given.db, settings=Settings(judge=judge)))
        asked.write(given.judge_questions)
        return
    chat = answers(given.judge_answers) if given.judge_answers else None
    with Browser() as browser, _judged_by(chat) as judge:
        game = Game(given.plan, given.results, browser, ExperienceMemory.open(given.db, settings=Settings(judge=judge)))
        if given.obedient:
            game.obey()
        else:
            serve(game, given.port)


def ask(plan: Path, memory: ExperienceMemory) -> None:
    """Ask memory of every task of a plan, and play none."""
    families = web_families()
    for line in map(json.loads, plan.read_text(encoding="utf-8").splitlines()):
        family = families[line["task"].removeprefix("web/")]
        goal = family.filled(line.get("goal") or family.goal, line["seed"])
        memory.retrieve(goal, application=APPLICATIONS[family.application].name)


@contextmanager
def _judged_by(chat: Callable[[dict[str, Any]], object] | None) -> Iterator[str]:
    """Have a server on this machine be the chat model that judges; None: nobody judges."""
    if chat is None:
        yield "off"
        return
    with OpenAIStub(chat=chat) as stub:
        os.environ |= {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "none"}
        yield "openai:by-file"
