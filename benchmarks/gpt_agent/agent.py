"""A small agent on the OpenAI API that fills in a form, remembers, and is helped by what it remembered.

    python -m benchmarks.gpt_agent "Fill in the form: name Ada Lovelace, department Research. Save it."

Run it twice: the second time the prompt holds what worked the first time and what comes next, so that one answer may
hold several actions; each is checked against the screen before it is carried out. The key comes from
`OPENAI_API_KEY`; with `--base-url` any service works that speaks the OpenAI API and structured outputs, also one on
this machine without a key. The session does the rest: it asks the memory, executes, writes the log, has it judged,
credits and saves.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.gpt_agent.form import APPLICATION, TOOLS, FormApp, FormJudge
from benchmarks.gpt_agent.reply import INSTRUCTIONS, Foreseen, Reply
from ufo_experience.errors import ExperienceError, ServiceError
from ufo_experience.memory import ExperienceMemory
from ufo_experience.service import Access, Service
from ufo_experience.session import (
    DATA_COLLECTION,
    AgentError,
    AgentStatus,
    Command,
    ContextNames,
    Decision,
    LinuxSession,
    Memory,
    MemoryItem,
    SavePolicy,
    SessionConfig,
    SessionParts,
    Target,
    Turn,
)

DEFAULT_MODEL = "gpt-4.1-mini"
OUTPUT_TOKENS = 1_000
STEPS_SHOWN = 5


class GPTAgent:
    """Looks at the controls in view, asks the model, and turns its answer into a decision.

    `memory` holds its own steps; what it shares with others is on the blackboard of the turn.
    """

    name = "GPTAgent"

    def __init__(self, service: Service, tools: Mapping[str, str], model: str = DEFAULT_MODEL) -> None:
        self.memory = Memory()
        self._service, self._tools, self._model = service, dict(tools), model

    async def act(self, turn: Turn) -> Decision:
        """Decide on one action, and on those that can be foreseen after it.

        Raises:
            AgentError: the view cannot be had, the model refused, or it named a tool or control that is not there.
            ServiceError, BudgetError: the service could not be asked.
        """
        controls = await self._look(turn)
        self._note_results(turn)
        messages = self._messages(turn, controls)
        reply, cost, tokens = await asyncio.to_thread(self._ask, messages)
        commands = self._commands(reply, controls)
        self.memory.add_memory_item(MemoryItem(step=turn.step, thought=reply.thought, action=_said(commands)))
        return Decision(
            AgentStatus(reply.status),
            commands,
            observation=reply.observation,
            thought=reply.thought,
            plan=tuple(reply.plan),
            result=reply.result,
            controls=tuple(_target(one) for one in controls),
            cost=cost,
            tokens=tokens,
            prompt=messages,
        )

    async def _look(self, turn: Turn) -> list[dict[str, Any]]:
        command = Command("get_controls", tool_type=DATA_COLLECTION)
        seen = (await turn.context.command_dispatcher.execute_commands([command]))[0]
        if not seen.ok or not isinstance(seen.result, list):
            raise AgentError(f"the controls cannot be seen: {seen.error}")
        return seen.result

    def _note_results(self, turn: Turn) -> None:
        """Write what the last actions came to beside them."""
        latest = self.memory.get_latest_item()
        if latest is not None and turn.last:
            results = [str(result.result) if result.ok else f"failed: {result.error}" for _, result in turn.last]
            latest.set_value("results", results)

    def _messages(self, turn: Turn, controls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The prompt: instructions; past experiences as a user's message of their own; the state of things."""
        tools = "\n".join(f"- {name}: {what}" for name, what in self._tools.items())
        past = [{"role": "user", "content": text} for text in (turn.experiences, turn.ahead) if text]
        state: dict[str, Any] = {
            "request": turn.request,
            "application": turn.application,
            "controls": list(controls),
            "your_last_steps": [step.to_dict() for step in self.memory.get_latest(STEPS_SHOWN)],
        }
        if turn.handed_back:
            state["stopped_because"] = turn.handed_back
        parts = [*turn.blackboard.blackboard_to_prompt(), {"type": "text", "text": json.dumps(state, default=str)}]
        return [{"role": "system", "content": INSTRUCTIONS + tools}, *past, {"role": "user", "content": parts}]

    def _ask(self, messages: list[dict[str, Any]]) -> tuple[Reply, float, int]:
        """The model's answer, its cost in US dollars and its tokens; faults that pass are tried again."""
        before = self._service.ledger.spending
        reply = self._service.ask(messages, Reply, model=self._model, max_tokens=OUTPUT_TOKENS)
        after = self._service.ledger.spending
        return reply, after.cost - before.cost, after.tokens - before.tokens

    def _commands(self, reply: Reply, controls: Sequence[Mapping[str, Any]]) -> tuple[Command, ...]:
        if reply.function is None:
            return ()
        found = [one for one in controls if one["id"] == reply.control_id]
        if reply.function not in self._tools or not found:
            raise AgentError(f"no tool {reply.function!r} or no control with the id {reply.control_id!r}")
        unknown = [one.function for one in reply.then if one.function not in self._tools]
        if unknown:
            raise AgentError(f"no tool {unknown[0]!r}")
        first = Command(reply.function, _arguments(reply), target=_target(found[0]))
        return (
            first,
            *(Command(one.function, _arguments(one), target=Target(one.name, one.type)) for one in reply.then),
        )


def _arguments(action: Reply | Foreseen) -> dict[str, str]:
    return {argument.name: argument.value for argument in action.arguments}


def _target(control: Mapping[str, Any]) -> Target:
    return Target(control["name"], control["type"], control["id"])


def _said(commands: Sequence[Command]) -> list[str]:
    """Commands in words, for the model to read."""
    return [f"{one.tool_name} on {one.target.name if one.target else ''} {dict(one.parameters)}" for one in commands]


def make_session(
    request: str, service: Service, memory: ExperienceMemory | None, *, model: str, log_root: str, app: FormApp
) -> LinuxSession:
    """A session of the agent in the form, judged by what the form holds, and remembered when it went well."""
    parts = SessionParts(
        app_agent=GPTAgent(service, TOOLS, model),
        dispatcher=app.dispatcher(),
        evaluator=FormJudge(app),
        memory=memory,
        config=SessionConfig(log_root=log_root, max_step=15, recall="ahead", save=SavePolicy("auto", 0.5)),
    )
    return LinuxSession("form", True, 0, request, application_name=APPLICATION, parts=parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one request; 0 if the form was saved, 1 if not, else the exit code of the error that ended the session."""
    parser = argparse.ArgumentParser(prog="gpt_agent", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("request", help="what to do, in your words")
    parser.add_argument("--db", default="experience_db", help="the store of experiences (default: %(default)s)")
    parser.add_argument("--no-memory", action="store_true", help="neither recall nor remember")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="default: %(default)s")
    parser.add_argument("--base-url", help="an OpenAI-compatible endpoint; default: OPENAI_BASE_URL, else OpenAI")
    parser.add_argument("--logs", default="logs", help="where sessions are logged (default: %(default)s)")
    given = parser.parse_args(arguments)
    app = FormApp()
    try:
        address = {"base_url": given.base_url} if given.base_url else {}
        access = Access.from_env(**address)
        if not access.is_usable:
            raise ServiceError(
                "no key: set OPENAI_API_KEY, or --base-url to a service on this machine", code="E_NO_KEY"
            )
        service = Service(access)
        memory = None if given.no_memory else ExperienceMemory.open(given.db)
        session = make_session(given.request, service, memory, model=given.model, log_root=given.logs, app=app)
        asyncio.run(session.run())
        if session.is_error():
            raise AgentError(str(session.context.get(ContextNames.ERROR_MESSAGE)))
    except ExperienceError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return error.exit_code
    answer = {"saved": app.saved, "steps": session.step, "cost": session.cost, "learned": session.saved}
    sys.stdout.write(json.dumps({**answer, "log": session.log_path}) + "\n")
    return 0 if app.saved else 1


if __name__ == "__main__":
    sys.exit(main())
