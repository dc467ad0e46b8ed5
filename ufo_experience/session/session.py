"""A session: one conversation with the user, of one or more rounds, that share a context. Its types, on Windows (host
and app agent) or Linux (one agent); those that work on a plan file are in `plan.py`.

rounds until finished → last snapshot → evaluation → credit to memory → report → experience, by policy
"""

import asyncio
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ufo_experience.errors import ExperienceError, UsageError
from ufo_experience.session import commands
from ufo_experience.session.blackboard import Blackboard, decode_image
from ufo_experience.session.commands import DATA_COLLECTION, Command, execute, outcome_of, told
from ufo_experience.session.files import StrPath, dump, write_atomic
from ufo_experience.session.log import LogFile, SessionLog
from ufo_experience.session.parts import Agent, Context, ContextNames, Interactor, SessionParts, verdict_of
from ufo_experience.session.recall import Recall
from ufo_experience.session.round import BaseRound


def _in_context(name: ContextNames) -> Any:
    return property(lambda self: self.context.get(name), lambda self, value: self.context.set(name, value))


class BaseSession:
    """What all sessions share. A subclass says which agents work, and in which modes.

    After `run`, `results` has what each round and the evaluation came to, and `saved` the ids of what was learned.
    """

    app_agent: Agent
    host_agent: Agent | None = None
    agent_name = "AppAgent"  # of the agent that works in an application, in logs
    agents: ClassVar[tuple[str, ...]]  # of the parts, those that it cannot do without
    asks_memory = True  # where there is one
    modes: ClassVar[tuple[str, ...]] = ("normal", "normal_operator")  # the first unless told otherwise

    step = _in_context(ContextNames.SESSION_STEP)
    cost = _in_context(ContextNames.TOTAL_COST)  # in US dollars
    application_window = _in_context(ContextNames.APPLICATION_WINDOW)
    application_window_info = _in_context(ContextNames.APPLICATION_WINDOW_INFO)

    def __init__(
        self,
        task: str,
        should_evaluate: bool,
        id: str | int,
        request: str = "",
        mode: str = "",
        application_name: str | None = None,
        *,
        parts: SessionParts,
    ) -> None:
        """Make a session named `task`, with a log folder of its own; without a `request` the user is asked for one."""
        self.mode = mode or self.modes[0]
        if self.mode not in self.modes:
            raise UsageError(f"unknown mode {mode!r}: use one of {', '.join(self.modes)}")
        if self.mode in ("normal_operator", "operator") and parts.operator_agent is not None:
            parts = replace(parts, app_agent=parts.operator_agent)
        self.task, self.id, self.parts, self.session_type = task, id, parts, type(self).__name__
        self.logger = logging.getLogger(__name__)
        self._should_evaluate, self._request, self._application_name = should_evaluate, request, application_name
        self.reset()

    def _init_agents(self) -> None:
        for name in self.agents:
            agent = getattr(self.parts, name)
            if agent is None:
                raise UsageError(f"{self.session_type} needs {name} in its parts")
            setattr(self, name, agent)

    def reset(self) -> None:
        parts = self.parts
        self._init_agents()
        self.log = SessionLog(parts.config.log_root, self.task)
        self.log_path, self.evaluation_logger = f"{self.log.folder}{os.sep}", self.log.evaluations
        self.rounds: dict[int, BaseRound] = {}
        self.results: list[dict[str, Any]] = []
        self.saved: tuple[str, ...] = ()
        self.blackboard = Blackboard()
        self._evaluation: dict[str, Any] | None = None
        self._finish = False
        self.context = Context()
        self.context.attach_command_dispatcher(parts.dispatcher)
        self.context.set(ContextNames.ID, self.id)
        self.context.set(ContextNames.MODE, self.mode)
        self.context.set(ContextNames.LOG_PATH, self.log_path)
        if self._application_name:
            self.context.set(ContextNames.APPLICATION_ROOT_NAME, self._application_name)
            self.application_window_info = {"name": self._application_name}
        is_judged = self._should_evaluate and parts.evaluator is not None
        memory = parts.memory if self.asks_memory and parts.config.recall is not None else None
        self.recall = Recall(memory, f"{self.task}#{self.id}", parts.config, self.context, is_judged)

    @property
    def total_rounds(self) -> int:
        return len(self.rounds)

    @property
    def current_round(self) -> BaseRound | None:
        return self.rounds[max(self.rounds)] if self.rounds else None

    @property
    def current_agent_class(self) -> str:
        return type(self.current_round.agent).__name__ if self.current_round else ""

    @property
    def injected(self) -> tuple[str, ...]:
        """Ids of the experiences that its agents were shown."""
        return self.recall.injected

    @property
    def followed(self) -> tuple[str, ...]:
        """Ids of the experiences that were offered as a way, step by step, in `ahead` and `replay`."""
        return self.recall.followed

    async def run(self) -> list[dict[str, Any]]:
        """Run all rounds and what follows them; returns `results`. Raises StorageError: the log cannot be written."""
        while not self.is_finished():
            round = await asyncio.to_thread(self.create_new_round)
            if round is None:
                break
            round_result = await round.run()
            self.results.append({"request": round.request, "result": round_result})
        self.context.set(ContextNames.SESSION_FINISH, True)
        await self.capture_last_snapshot()
        await asyncio.to_thread(self._conclude)
        return self.results

    def _conclude(self) -> None:
        if self._should_evaluate and not self.is_error():
            self.evaluation()
        success = verdict_of(self._evaluation)
        if success is not None:
            self.recall.credit(success)
        if self.parts.config.log_to_markdown:
            self.save_log_to_markdown()
        if self.parts.config.save.wants(self._evaluation, self.parts.user.experience_asker):
            self.experience_saver()
        self.print_cost()

    def next_request(self) -> str:
        """The request given at first, then the user's next one; an empty one, or none, finishes the session."""
        if self.total_rounds == 0:
            request, done = self._request or self.parts.user.first_request(), False
        else:
            request, done = self.parts.user.new_request()
        if done or not request.strip():
            self.finish()
        return request

    def create_new_round(self) -> BaseRound | None:
        request = self.next_request()
        if self.is_finished():
            return None
        round = BaseRound(request, self.host_agent or self.app_agent, self.context, self.total_rounds, self)
        self.add_round(round.id, round)
        return round

    def create_following_round(self) -> BaseRound | None:
        return self.create_new_round()

    def add_round(self, id: int, round: BaseRound) -> None:
        self.rounds[id] = round

    def is_finished(self) -> bool:
        """True when it was ended, is in error, or has no steps or rounds left."""
        config = self.parts.config
        return self._finish or self.step >= config.max_step or self.total_rounds >= config.max_round or self.is_error()

    def finish(self) -> None:
        self._finish = True

    def is_error(self) -> bool:
        return bool(self.context.get(ContextNames.ERROR))

    def set_error(self, error_message: str) -> None:
        self.context.set(ContextNames.ERROR, True)
        self.context.set(ContextNames.ERROR_MESSAGE, error_message)

    def request_to_evaluate(self) -> str:
        return self.blackboard.requests_to_json()

    def evaluation(self) -> None:
        """Have the session judged; if that fails, without all the screenshots; then the outcome stays unknown."""
        evaluator = self.parts.evaluator
        if evaluator is None:
            self.logger.warning("%s: no evaluator, so the outcome stays unknown", self.task)
            return
        requests = self.request_to_evaluate()
        for all_screenshots in dict.fromkeys((self.parts.config.eva_all_screenshots, False)):
            try:
                judgement, cost = evaluator.evaluate(requests, self.log_path, all_screenshots, self.context)
            except Exception as fault:  # noqa: BLE001 - an evaluator is not ours, and may raise anything
                self.logger.warning("%s: evaluation failed: %s", self.task, told(fault))
                continue
            result = {**judgement, "level": "session", "request": requests, "type": "evaluation_result"}
            self._evaluation = result
            self.results.append(result)
            self.cost += cost
            evaluator.print_response(result)
            self.log.evaluation(result)
            return

    def experience_saver(self) -> None:
        """Learn from the log of this session; `saved` are the ids. A memory that refuses is logged, the log stays."""
        memory, responses = self.parts.memory, self.log.responses.path
        if memory is None:
            self.logger.warning("%s: no memory to save the experience in", self.task)
        elif responses.exists():
            try:
                report = memory.ingest(responses, include_failures=True)
            except ExperienceError as error:
                self.logger.error("%s: the experience was not saved: %s", self.task, error)
                return
            self.saved = tuple(report.added)
            self.cost += report.cost
            for source, reason in report.failed:
                self.logger.warning("%s: %s", source, reason)

    def print_cost(self) -> None:
        total = f"Total request cost of the session: ${self.cost:.2f}"
        self.parts.user.show(total if self.cost else "Cost is not available.")

    def save_log_to_markdown(self) -> None:
        """Write the log as `output.md`, for people; when that cannot be done, it is logged."""
        try:
            self.log.report()
        except ExperienceError as error:
            self.logger.warning("%s: no report: %s", self.task, error)

    async def capture_last_snapshot(self) -> None:
        """Keep the end state of the application: a screenshot and, if configured, its UI tree and the full screen."""
        if self.application_window is None and self.application_window_info is None:
            return
        await self.capture_last_screenshot(f"{self.log_path}action_step_final.png")
        if self.parts.config.save_ui_tree:
            await self.capture_last_ui_tree(os.path.join(self.log_path, "ui_trees", "ui_tree_final.json"))
        if self.parts.config.save_full_screen:
            await self.capture_last_screenshot(f"{self.log_path}desktop_final.png", full_screen=True)

    async def capture_last_screenshot(self, save_path: StrPath, full_screen: bool = False) -> None:
        """Save a screenshot of the window or of all screens; when there is none, that is logged."""
        whole = Command("capture_desktop_screenshot", {"all_screens": True}, DATA_COLLECTION)
        found = await self._look(whole if full_screen else Command("capture_window_screenshot", {}, DATA_COLLECTION))
        image = decode_image(found)
        if image is not None:
            write_atomic(save_path, image)
        elif found is not None:
            self.logger.warning("the last screenshot gave no image")

    async def capture_last_ui_tree(self, save_path: StrPath) -> None:
        if tree := await self._look(Command("get_ui_tree", {}, DATA_COLLECTION)):
            write_atomic(save_path, dump(tree))

    async def _look(self, command: Command) -> Any:
        dispatcher, timeout = self.context.command_dispatcher, self.parts.config.recovery.command_timeout
        done = await outcome_of(execute(dispatcher, [command], timeout))
        if not isinstance(done, Exception) and done[0][1].ok:
            return done[0][1].result
        self.logger.warning("%s: %s", command.tool_name, done if isinstance(done, Exception) else done[0][1].error)
        return None

    @staticmethod
    def initialize_logger(log_path: StrPath, log_filename: str, mode: str = "a") -> LogFile:
        path = Path(log_path) / log_filename
        if mode == "w":
            path.unlink(missing_ok=True)
        return LogFile(path)


class WindowsBaseSession(BaseSession):
    """Two tiers: host agent and app agent."""

    agents: ClassVar[tuple[str, ...]] = ("host_agent", "app_agent")


class LinuxBaseSession(BaseSession):
    """One tier: `parts.app_agent` does everything."""

    agent_name, agents = "LinuxAgent", ("app_agent",)


class Session(WindowsBaseSession):
    """Interactive, with host and app agent."""


class LinuxSession(LinuxBaseSession):
    """Interactive, with one agent."""


class OpenAIOperatorSession(WindowsBaseSession):
    """Interactive, with one agent that works alone: `parts.operator_agent`, or `parts.app_agent` if there is none."""

    agent_name, agents, modes = "OpenAIOperatorAgent", ("app_agent",), ("operator",)


class _RemoteSession(BaseSession):
    """One request, whose commands the client at the other end of `task_protocol` executes; nobody is asked."""

    modes = ("service",)

    def __init__(
        self,
        task: str,
        should_evaluate: bool,
        id: int | str,
        request: str,
        task_protocol: commands.TaskExecutionProtocol,
        *,
        parts: SessionParts,
    ) -> None:
        remote = replace(parts, dispatcher=commands.WebSocketCommandDispatcher(task_protocol), user=Interactor())
        super().__init__(task, should_evaluate, id, request, parts=remote)

    def is_finished(self) -> bool:
        return self.total_rounds > 0 or super().is_finished()


class ServiceSession(_RemoteSession, WindowsBaseSession):
    """Controlled over a WebSocket, with host and app agent."""


class LinuxServiceSession(_RemoteSession, LinuxBaseSession):
    """Controlled over a WebSocket, with one agent."""
