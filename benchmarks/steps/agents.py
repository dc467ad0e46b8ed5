"""The agents that come along: the rule-based explorer, and one that shows a way it knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from benchmarks.reading import NEXT, parse_block
from benchmarks.steps.demonstration import Hints
from benchmarks.steps.desktop import command_of
from benchmarks.steps.environment import Command as ScreenCommand
from benchmarks.steps.environment import ControlView, Observation
from benchmarks.steps.episode import CommandAgent
from benchmarks.steps.explorer import Explorer
from benchmarks.steps.prompt_reading import function_of, read_hints
from benchmarks.steps.workplace import STATUS_TYPE, Workplace
from ufo_experience.errors import UsageError
from ufo_experience.prompt.builder import CHOOSE
from ufo_experience.session import Agent, AgentStatus, Command, ContextNames, Decision, Target, Turn


class ReadingAgent:
    """The rule-based explorer as an agent of sessions. Of the past it knows what stands in its prompt, nothing else.

    Where a guide says what comes next it answers with just that; handed back, it takes a step of its own, or the one
    it is to look at before it is done. Of several ways it takes none, since to choose is to read. It has no judgement
    of its own of whether it is done: the bench stops the clock when the goal is reached.
    """

    name = "LinuxAgent"

    def __init__(self, workplace: Workplace, explorer: CommandAgent) -> None:
        self._workplace, self._explorer = workplace, explorer
        self._hints: Hints | None = None
        self._begun = False

    async def act(self, turn: Turn) -> Decision:
        """The explorer's next command; FAIL when nothing is left to try."""
        if self._workplace.environment.done:
            return Decision(AgentStatus.FINISH, result="the task has ended")
        observation = self._workplace.observation
        turn.context.set(ContextNames.APPLICATION_ROOT_NAME, observation.application)
        prompt = prompt_for(turn.experiences, turn.request, observation)
        if not self._begun:
            self._hints, self._begun = read_hints(prompt, turn.request), True
        foreseen = tuple(takewhile(lambda one: not one.get("fill"), foreseen_in(turn.ahead)))
        if turn.handed_back:
            foreseen = foreseen[:1] if any(one.get("confirm") for one in foreseen[:1]) else ()
        if foreseen:
            self._workplace.meter.asked(f"{turn.ahead}\n\n{prompt}", str([dict(one) for one in foreseen]))
            return Decision(AgentStatus.CONTINUE, tuple(named_command(one) for one in foreseen), observation.window)
        command = self._explorer.next_command(observation, turn.request, self._hints)
        if command is None:
            self._workplace.meter.asked(prompt)
            return Decision(AgentStatus.FAIL, result="nothing is left to try")
        before = self._workplace.meter.prompt_tokens
        self._workplace.meter.asked(prompt, answer_of(command))
        return replace(decision_of(command, observation), tokens=self._workplace.meter.prompt_tokens - before)


def foreseen_in(ahead: str) -> tuple[Mapping[str, Any], ...]:
    """The actions a block of what comes next holds; none where it holds several ways to choose from."""
    records = parse_block(ahead) if ahead else []
    return tuple(_as_command(one) for record in records if not _is_choice(record) for one in record.get(NEXT, ()))


def ways_in(ahead: str) -> dict[int, tuple[Mapping[str, Any], ...]]:
    """The ways to choose from in a block of what comes next, by their numbers."""
    records = parse_block(ahead) if ahead else []
    ways = (record for record in records if _is_choice(record))
    return {n: tuple(map(_as_command, one.get(NEXT, ()))) for n, one in enumerate(ways, start=1)}


def notes_in(ahead: str) -> tuple[str, ...]:
    """What a block of what comes next says beside its actions."""
    records = parse_block(ahead) if ahead else []
    return tuple(str(one) for record in records for one in record.get("notes", ()))


def _is_choice(record: Mapping[str, Any]) -> bool:
    """True for one of several ways to choose from."""
    return CHOOSE in record.get("notes", ())


def _as_command(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step as it was told, as an action of this desktop that can be answered with."""
    given = {"function": function_of(step), "name": step.get("control"), "type": step.get("control_type")}
    given |= {"within": step.get("within"), **step.get("parameters", {}), "confirm": step.get("confirm")}
    if given["function"] == "keyboard_input":
        given["keys"] = given.pop("text", None)
    given["fill"] = bool(step.get("open"))
    return {key: value for key, value in given.items() if value}


class Demonstrator:
    """Shows a way that is known: gives its commands one after the other, then says that it is done."""

    name = "Demonstrator"

    def __init__(self, workplace: Workplace, commands: Iterable[ScreenCommand]) -> None:
        self._workplace, self._commands = workplace, iter(commands)

    async def act(self, turn: Turn) -> Decision:
        """The next command of the way."""
        observation = self._workplace.observation
        turn.context.set(ContextNames.APPLICATION_ROOT_NAME, observation.application)
        command = next(self._commands, None)
        return Decision(AgentStatus.FINISH) if command is None else decision_of(command, observation)


class Rescued:
    """Explores for some actions; if that does not do it, somebody who knows the way takes over where it stands.

    Args:
        attempts: how many actions of its own it has.
        way: the application, then the words of the way; see `desktop.command_of`.
    """

    name = "LinuxAgent"

    def __init__(self, workplace: Workplace, attempts: int, way: Sequence[str]) -> None:
        self._workplace, self._attempts = workplace, attempts
        self._explorer = explorer_agent(workplace)
        self._way = [*way]
        self._begun = False

    async def act(self, turn: Turn) -> Decision:
        """The explorer's command, later the next of the way; FINISH at its end."""
        if self._workplace.steps < self._attempts:
            decision = await self._explorer.act(turn)
            if decision.status is not AgentStatus.FAIL:
                return decision
        observation = self._workplace.observation
        if not self._begun:  # even in front: that closes what the explorer has left open
            self._begun = True
            return decision_of(ScreenCommand("switch_application", None, {"text": self._way.pop(0)}), observation)
        while self._way:
            try:
                command = command_of(self._way.pop(0), observation)
            except UsageError as lost:
                return Decision(AgentStatus.FAIL, result=str(lost))
            if command is not None:
                return decision_of(command, observation)
        return Decision(AgentStatus.FINISH)


def explorer_agent(workplace: Workplace) -> Agent:
    """The rule-based agent; its seed is that of the variant."""
    return ReadingAgent(workplace, Explorer(workplace.seed))


def prompt_for(experiences: str, request: str, observation: Observation) -> str:
    """What a model would be asked for one step: past experiences, the goal, the controls on the screen."""
    lines = [
        f"{one.id} {one.type} {one.name!r}{f' = {one.value!r}' if one.value else ''}" for one in observation.controls
    ]
    asked = f"Goal: {request}\nWindow: {observation.window}\nControls:\n" + "\n".join(lines)
    return f"{experiences}\n\n{asked}" if experiences else asked


def answer_of(command: ScreenCommand) -> str:
    """What a model would have answered."""
    name = command.control.name if command.control is not None else ""
    return f"{command.function} {name!r} {dict(command.parameters)}"


def decision_of(command: ScreenCommand, observation: Observation) -> Decision:
    """A command for the screen as a decision of a session; a switch is a click on the application."""
    asked = Command(command.function, dict(command.parameters), target=_target_of(command))
    controls = in_view(observation)
    return Decision(AgentStatus.CONTINUE, (asked,), observation.window, controls=controls)


def in_view(observation: Observation) -> tuple[Target, ...]:
    """What is on the screen as targets: the controls, and what the status lines say."""
    said = (Target(text, STATUS_TYPE, f"status:{number}") for number, text in enumerate(observation.status))
    return (*map(target_of, observation.controls), *said)


def target_of(control: ControlView) -> Target:
    """A control as the target of a command."""
    return Target(
        control.name,
        control.type,
        str(control.id),
        is_password=control.input == "password",
        within=control.within,
        dialog=control.dialog,
        checked=control.checked,
    )


def named_command(given: Mapping[str, Any]) -> Command:
    """An action that names its target (`function`, `name`, `type`, `within`, parameters) for the session to look up."""
    name, kind, within = (str(given.get(key) or "") for key in ("name", "type", "within"))
    parameters = {key: str(given[key]) for key in ("text", "keys") if given.get(key) is not None}
    target = Target(name, kind or None, within=within) if name else None
    return Command(str(given["function"]), parameters, target=target)


def _target_of(command: ScreenCommand) -> Target | None:
    return target_of(command.control) if command.control is not None else None
