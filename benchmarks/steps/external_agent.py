"""`--agent exec:'COMMAND'`: an agent in any language, a person, or a model behind any API, as one process an episode.

It reads a JSON object a line from its standard input and answers with one a line on its standard output:

    in   {"goal", "application", "window", "applications", "status", "controls": [{"id", "name", "type", …}],
          "memory"?, "ahead"?, "last"?}
    out  {"actions": [{"function", "name" | "control", "type"?, "within"?, "text"?, "keys"?}], "finish"?: true}
     or  {"take": 3, "fill"?: {"name of a field": "value"}, "actions"?, "finish"?}

`take` stands for the first so many actions of `ahead`, before those of the answer; `fill` gives the values that these
leave open, by the name of their field, and one that is not given ends what is taken; what is marked `read` need not
be given. `ahead` is told in full once; as
long as it goes on as it was told, only from which of its actions on: `{"from": 3}`, and `take` counts from there.
Where it holds several ways to choose from, `"way": 2` beside `take` says which; an answer without takes none.

Actions are carried out one by one; a target is looked up by its name on the screen as it is by then. At the first that
is not possible the rest is dropped and the process is asked again, with `last` telling what became of its answer.
It is never told that the goal is reached: it has to say `finish`. What ends before that, or is silent for too long,
ends its episode with an error.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import shlex
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.steps import child_processes
from benchmarks.steps.agents import decision_of, foreseen_in, in_view, named_command, notes_in, ways_in
from benchmarks.steps.environment import Command, ControlView, Observation
from benchmarks.steps.workplace import MakeAgent, Workplace
from ufo_experience.errors import DataError, UsageError
from ufo_experience.session import AgentError, AgentStatus, ContextNames, Decision, ResultStatus, Turn
from ufo_experience.session import Command as SessionCommand
from ufo_experience.store.strict_json import parse

MAX_CALLS = 40
_ANSWER = "answer of the agent"
_TAKE = 'answer {"take": n} for the first n actions of ahead, with "fill": {"name": "value"} for what they leave open'
_TAKE_WAY = 'where one of these ways is yours answer {"way": k, "take": n, "fill": {…}}, for its first n actions'
_FIELDS = ("set_edit_text", "select_item")
_TEXT = {"set_edit_text": "text", "select_item": "text", "keyboard_input": "keys", "switch_application": "text"}


def external_agent(command: str, timeout: float) -> MakeAgent:
    """What makes the agent of an episode: the command is split as a shell would, and run without one.

    Raises:
        UsageError: the command is empty or its quotes do not match.
    """
    try:
        words = shlex.split(command, posix=os.name == "posix")  # on Windows "\\" is no escape, and the quotes stay
    except ValueError as error:
        raise UsageError(f"exec: {error} in {command!r}") from error
    if not words:
        raise UsageError("exec: needs a command, such as exec:'python my_agent.py'")
    bare = words if os.name == "posix" else [re.sub(r"^(['\"])(.*)\1$", r"\2", word) for word in words]
    return partial(ExternalAgent, command=bare, timeout=timeout)


class Line:
    """A process that answers a line with a line.

    Args:
        timeout: seconds it may take for one answer.
    """

    def __init__(self, command: list[str], timeout: float) -> None:
        self._timeout = timeout
        self._lines: queue.Queue[str | None] = queue.Queue()
        try:
            self._process = child_processes.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise AgentError(f"the agent did not start: {error}") from error
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, line: str) -> str:
        """Its answer.

        Raises:
            AgentError: it has ended or is silent.
        """
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            answer = self._lines.get(timeout=self._timeout)
        except OSError as error:
            raise AgentError(f"the agent has ended ({self._process.poll()}): {error}") from error
        except queue.Empty:
            raise AgentError(f"the agent was silent for {self._timeout:g} s") from None
        if answer is None:
            raise AgentError(f"the agent has ended with code {self._process.wait()}")
        return answer

    def close(self) -> None:
        """End the process."""
        child_processes.end(self._process)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was not read any more
                    continue

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._lines.put(line)
        except (OSError, ValueError):  # closed under our hands, or no UTF-8
            pass
        self._lines.put(None)


@dataclass(frozen=True)
class Action:
    """One action of an answer; the target is found by name on the screen of its time."""

    function: str
    name: str = ""
    type: str = ""
    within: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)

    def command(self, observation: Observation) -> Command | str:
        """The command on this screen, or why it is not possible."""
        if self.function == "switch_application":
            return Command(self.function, None, {"text": self.parameters.get("text") or self.name})
        if self.function in ("keyboard_input", "wait") and not self.name:
            return Command(self.function, None, dict(self.parameters))
        found = self._fitting(observation)
        if len(found) == 1:
            return Command(self.function, found[0], dict(self.parameters))
        what = f"control {self.name!r}" + (f" of type {self.type}" if self.type else "")
        return f"no {what} on the screen" if not found else f"{len(found)} controls fit {what}: name type or within"

    def _fitting(self, observation: Observation) -> list[ControlView]:
        found = [one for one in observation.controls if one.name.casefold() == self.name.casefold()]
        found = [
            one for one in found if self.type in ("", one.type) and self.within.casefold() in one.within.casefold()
        ]
        if self.function in _FIELDS:
            found = [one for one in found if one.type in ("Edit", "ComboBox")]
        return [one for one in found if one.enabled] or found

    def named(self) -> SessionCommand:
        """The command with its target by name, for the session to look up."""
        return named_command(self.as_data())

    def as_data(self) -> dict[str, Any]:
        """As it was answered."""
        told = {"function": self.function, "name": self.name, "type": self.type, "within": self.within}
        return {key: value for key, value in {**told, **self.parameters}.items() if value}


class ToldAhead:
    """What the agent was told of the way: in full once, then only where it goes on."""

    def __init__(self) -> None:
        self._actions: tuple[Mapping[str, Any], ...] = ()
        self._notes: tuple[str, ...] = ()

    def place(self, block: str) -> dict[str, Any] | None:
        """From which of the actions told last (1 is the first) the block goes on, and its new notes; None: tell it."""
        foreseen, notes = foreseen_in(block), notes_in(block)
        begun = len(self._actions) - len(foreseen)
        if begun < 0 or not foreseen or self._actions[begun:] != foreseen:
            self._actions, self._notes = foreseen, notes
            return None
        fresh = [one for one in notes if one not in self._notes]
        return {"from": begun + 1, "notes": fresh} if fresh else {"from": begun + 1}

    def chose(self, actions: tuple[Mapping[str, Any], ...]) -> None:
        """The agent has taken one of several ways: what goes on along it was told."""
        self._actions = actions or self._actions


class ExternalAgent:
    """The agent of one episode."""

    name = "LinuxAgent"

    def __init__(self, workplace: Workplace, command: list[str], timeout: float) -> None:
        self._workplace, self._command, self._timeout = workplace, command, timeout
        self._line: Line | None = None
        self._left: list[Action] = []
        self._done: list[dict[str, Any]] = []
        self._finish = self._handed_over = False
        self._shown = ""
        self._told = ToldAhead()

    async def act(self, turn: Turn) -> Decision:
        """The next action of the last answer, else of a new one; ERROR when the process does not answer as it must."""
        if self._workplace.environment.over:
            return Decision(AgentStatus.FINISH, result="the application has ended the task")
        turn.context.set(ContextNames.APPLICATION_ROOT_NAME, self._workplace.observation.application)
        refused = self._note_last(turn)
        try:
            return await asyncio.to_thread(self._next, turn, refused)
        except (AgentError, DataError) as error:
            self._workplace.error = str(error)
            return Decision(AgentStatus.ERROR, result=str(error))

    def close(self) -> None:
        """End the process."""
        if self._line is not None:
            self._line.close()

    def _next(self, turn: Turn, refused: str | None) -> Decision:
        while True:
            observation = self._workplace.observation
            if refused is None and self._left:
                action = self._left.pop(0)
                command = action.command(observation)
                if not isinstance(command, str):
                    self._done.append(action.as_data())
                    return decision_of(command, observation)
                self._done.append({**action.as_data(), "error": command})
                refused = command
            if refused is None and not self._left and self._finish:
                return Decision(AgentStatus.FINISH)
            self._ask(turn, refused)
            refused = None
            if turn.ahead:
                return self._hand_over(observation)

    def _hand_over(self, observation: Observation) -> Decision:
        """The whole answer at once: the session carries it out, each action checked by the guide first."""
        status = AgentStatus.FINISH if self._finish else AgentStatus.CONTINUE
        self._handed_over = True
        actions, self._left, self._finish = self._left, [], False  # asked again, it has yet to say so again
        commands = tuple(one.named() for one in actions)
        return Decision(status, commands, observation.window, controls=in_view(observation))

    def _note_last(self, turn: Turn) -> str | None:
        """Why the last action did not work; None when it did, or there was none."""
        errors = [result.error or "failed" for _, result in turn.last if not result.ok]
        if errors and self._done:
            self._done[-1] = {**self._done[-1], "error": errors[0]}
        return errors[0] if errors and self._done else None

    def _ask(self, turn: Turn, refused: str | None) -> None:
        if self._workplace.meter.calls >= MAX_CALLS:
            raise AgentError(f"the agent was asked {MAX_CALLS} times")
        message = self._message(turn, refused)
        if self._line is None:
            self._line = Line(self._command, self._timeout)
        asked = json.dumps(message, ensure_ascii=False)
        answer = self._line.ask(json.dumps(message))  # ASCII: a process of Windows may read another encoding
        self._workplace.meter.asked(asked, answer)
        observation = self._workplace.observation
        ways = ways_in(turn.ahead)
        self._left, self._finish = read_answer(answer, observation, foreseen_in(turn.ahead), ways)
        self._told.chose(ways.get(_number(parse(answer, file=_ANSWER), "way"), ()))
        self._done, self._handed_over = [], False
        if not self._left and not self._finish:
            raise AgentError("the agent answered with no action and did not finish")

    def _message(self, turn: Turn, refused: str | None) -> dict[str, Any]:
        message = {"goal": turn.request, **screen_as_data(self._workplace.observation)}
        if turn.experiences and turn.experiences != self._shown:
            message["memory"] = turn.experiences
            self._shown = turn.experiences
        if turn.ahead:
            place = self._told.place(turn.ahead)
            take = _TAKE_WAY if ways_in(turn.ahead) else _TAKE
            message |= {"ahead": turn.ahead, "take": take} if place is None else {"ahead": place}
        last = self._last(turn, refused)
        return {**message, "last": last} if last else message

    def _last(self, turn: Turn, refused: str | None) -> dict[str, Any] | None:
        """What became of the last answer; None before the first."""
        if not self._handed_over:
            if not (self._done or refused or turn.handed_back):
                return None
            dropped = [one.as_data() for one in self._left]
            return {"done": self._done, "error": refused or turn.handed_back or None, "dropped": dropped}
        done = [_as_answered(command) for command, result in turn.last if result.ok]
        dropped = [_as_answered(command) for command, result in turn.last if result.status is ResultStatus.SKIPPED]
        return {"done": done, "error": turn.handed_back or refused, "dropped": dropped}


def _as_answered(command: SessionCommand) -> dict[str, Any]:
    """A command of a session in the form of an answer."""
    target = command.target
    named = {"name": target.name, "type": target.type, "within": target.within} if target else {}
    told = {"function": command.tool_name, **named, **command.parameters}
    return {key: value for key, value in told.items() if value}


def screen_as_data(observation: Observation) -> dict[str, Any]:
    """What is on the screen in JSON form; states a control does not have are left out."""
    return {
        "application": observation.application,
        "window": observation.window,
        "applications": list(observation.applications),
        "status": list(observation.status),
        "controls": [_control_as_data(one) for one in observation.controls],
    }


def read_answer(
    line: str,
    observation: Observation,
    foreseen: Sequence[Mapping[str, Any]] = (),
    ways: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
) -> tuple[list[Action], bool]:
    """The actions of an answer, and whether the agent is done after them; it may take some of what was `foreseen`, or
    of one of several `ways`.

    Raises:
        DataError: it is no JSON object of the agreed form, or names a control that was not there.
    """
    answer = parse(line, file=_ANSWER)
    if not isinstance(answer, dict):
        raise DataError("the agent must answer with a JSON object")
    actions = answer.get("actions", [])
    if not isinstance(actions, list) or not all(isinstance(one, dict) for one in actions):
        raise DataError("actions must be a list of objects", field="actions")
    taken = _taken(answer, (ways or {}).get(_number(answer, "way"), foreseen))
    return [_read_action(one, observation) for one in (*taken, *actions)], answer.get("finish") is True


def _taken(answer: Mapping[str, Any], foreseen: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first `take` of the actions foreseen, with the values of `fill`, up to one that is not given."""
    count, values = _number(answer, "take"), answer.get("fill", {})
    if not isinstance(values, dict):
        raise DataError("fill is an object of values", field="fill")
    taken: list[Mapping[str, Any]] = []
    for one in foreseen[: max(count, 0)]:
        if one.get("fill") and one.get("name") not in values:
            break
        taken.append({**one, "text": str(values[one["name"]])} if one.get("fill") else one)
    return taken


def _number(answer: Mapping[str, Any], name: str) -> int:
    said = answer.get(name, 0)
    if isinstance(said, bool) or not isinstance(said, int):
        raise DataError(f"{name} is a number", field=name)
    return said


def _read_action(given: Mapping[str, Any], observation: Observation) -> Action:
    function = given.get("function")
    if not isinstance(function, str) or not function:
        raise DataError("an action needs a function", field="function")
    told = {key: str(given.get(key) or "") for key in ("name", "type", "within")}
    if given.get("control") is not None:
        control = observation.control(int(given["control"])) if str(given["control"]).isdigit() else None
        if control is None:
            raise DataError(f"no control {given['control']!r} was on the screen", field="control")
        told = {"name": control.name, "type": control.type, "within": control.within}
    key = _TEXT.get(function)
    parameters = {key: str(given[key])} if key is not None and given.get(key) is not None else {}
    return Action(function, parameters=parameters, **told)


def _control_as_data(control: ControlView) -> dict[str, Any]:
    told: dict[str, Any] = {"id": control.id, "name": control.name, "type": control.type}
    rest = {
        "value": control.value or None,
        "enabled": None if control.enabled else False,
        "checked": control.checked,
        "selected": control.selected,
        "expanded": control.expanded,
        "options": list(control.options) or None,
        "within": control.within or None,
    }
    return told | {key: value for key, value in rest.items() if value is not None}
