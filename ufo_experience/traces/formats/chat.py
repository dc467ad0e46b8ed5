"""Conversations with tool calls: what a model said, which tools it called, what came back.

OpenAI chat messages and Responses items, Anthropic messages, LangChain messages, computer use of both vendors, and
the session files of Claude Code and Codex. The task is the first text of the user (in the session files each text of
the user begins a new one). Nobody in such a file judges the run, unless it states a `reward` or `success` beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ufo_experience.ids import content_hash
from ufo_experience.schema import Problem, Trajectory
from ufo_experience.traces.actions import Call, calls_in, take_target
from ufo_experience.traces.builder import NO_TASK, Draft, content_key
from ufo_experience.traces.coerce import as_dict, as_host, as_list, as_name, as_text
from ufo_experience.traces.common_keys import TASK, first_of, nothing_in, records_of, stated_outcome, states_outcome
from ufo_experience.traces.formats.snapshot import names_by_ref
from ufo_experience.traces.json_lines import peek
from ufo_experience.traces.naming import Named
from ufo_experience.traces.reader import ReadReport
from ufo_experience.traces.screen_tree import names_of_calls

MAX_RESULT = 2_000  # characters of a tool's answer
_LISTS = ("messages", "conversation", "chat", "traj", "items", "input", "output", "conversations")
_CALLS = ("function_call", "computer_call", "custom_tool_call", "local_shell_call", "mcp_call", "tool_use", "tool_call")
_RESULTS = ("function_call_output", "computer_call_output", "custom_tool_call_output", "local_shell_call_output")
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "gpt": "assistant", "function": "tool"}
_KINDS = (*_CALLS, *_RESULTS, "reasoning", "message", "human", "ai")
# What a host puts beside the user's words.
_OF_THE_HOST = ("<", "Caveat:", "# AGENTS.md", "[Request interrupted", "This session is being continued")
_KEPT_BESIDE = ("file-history-snapshot", "queue-operation", "summary", "progress")  # with these a session may begin
_NO_ACTION = ("screenshot", "cursor_position", "wait", "attempt_completion", "done", "todowrite", "update_plan")


@dataclass
class _Made:
    """A tool call that was made: what it does, what was said before it, and what came back."""

    call: Call
    thought: str
    mentioned: Named | None
    id: str
    result: str = ""
    error: str | None = None
    time: Any = None


@dataclass
class _Talk:
    """A conversation being followed; `tasks` are the user's texts with the calls that came after each."""

    split: bool = False
    tasks: list[tuple[str, list[_Made]]] = field(default_factory=list)
    thought: str = ""
    names: dict[str, Named] = field(default_factory=dict)

    def follow(self, message: Any, time: Any = None) -> None:
        """Take one message or item, of any of the vendors."""
        item = as_dict(message)
        item = as_dict(item.get("data")) | {"type": item.get("type")} if "data" in item and "type" in item else item
        kind = as_name(item.get("type"))
        role = as_name(item.get("role") or item.get("from")) or ("assistant" if kind in ("ai", "AIMessage") else "")
        role = _ROLES.get(role or kind, role)
        if kind in _CALLS:
            self._call([item], time)
        elif kind in _RESULTS or role == "tool":
            self._result(item.get("call_id") or item.get("tool_call_id"), item.get("output", item.get("content")), item)
        elif kind == "reasoning":
            self.thought = _text_of(item.get("summary") or item.get("content")) or self.thought
        elif role == "user":
            self._user(item)
        elif role == "assistant":
            self._assistant(item, time)

    def _user(self, item: dict[str, Any]) -> None:
        content = item.get("content", item.get("value"))
        for block in as_list(content):
            if as_dict(block).get("type") == "tool_result":
                self._result(block.get("tool_use_id"), block.get("content"), block)
        text = _text_of(content).strip()
        if not text or text.startswith(_OF_THE_HOST):
            return
        if not self.tasks or (self.split and self.tasks[-1][1]):
            self.tasks.append((text, []))

    def _assistant(self, item: dict[str, Any], time: Any) -> None:
        content = item.get("content", item.get("value"))
        self.thought = _text_of(content) or as_text(item.get("reasoning_content")) or self.thought
        blocks = [block for block in as_list(content) if as_dict(block).get("type") in _CALLS]
        more = as_list(item.get("tool_calls")) + ([item["function_call"]] if as_dict(item.get("function_call")) else [])
        self._call([*blocks, *more], time)

    def _call(self, items: Iterable[Any], time: Any) -> None:
        found = [(one, as_dict(item)) for item in items for one in _calls_of(as_dict(item))]
        if not self.tasks:
            self.tasks.append(("", []))
        names = names_of_calls([call for call, _ in found], self.thought, None)
        for (call, item), mentioned in zip(found, names, strict=True):
            call.name = call.name.rpartition("__")[2] or call.name
            ref = as_name(call.arguments.get("ref") or call.arguments.get("target"))
            identifier = as_name(item.get("call_id") or item.get("id"))
            self.tasks[-1][1].append(_Made(call, self.thought, self.names.get(ref) or mentioned, identifier, time=time))
        if found:
            self.thought = ""

    def _result(self, identifier: Any, content: Any, item: dict[str, Any]) -> None:
        text = _text_of(content)
        self.names = names_by_ref(text) or self.names
        name = as_name(identifier)
        made = [one for _, calls in self.tasks for one in calls]
        one = next((one for one in reversed(made) if one.id == name), None) if name else (made[-1] if made else None)
        if one is None:
            return
        failed = item.get("is_error") is True or item.get("status") == "error"
        first = text.strip().split("\n", 1)[0].casefold()
        if failed or first.startswith(("error", "### error", "traceback", "exception")):
            one.error = text[:500] or "failed"
        one.result = text[:MAX_RESULT]


class ChatReader:
    """Reads conversations with tool calls; a file may hold one or many."""

    name = "chat"

    def recognises(self, path: Path) -> bool:
        """True for messages with a role, or items of a known kind, among which a tool is called."""
        values = [item for value in peek(path) for item in (value if isinstance(value, list) else [value])]
        return any(_is_talk(value) for value in values[:60])

    def read(self, path: Path, report: ReadReport) -> Iterator[Trajectory]:
        """Yield one trajectory a task. Raises `TraceError` when no tool is called in it."""
        problems: list[Problem] = []
        number = 0
        for head, talk in _talks(path, problems):
            for task, made in talk.tasks:
                if made:
                    number += 1
                    yield _trajectory(path, self.name, head, task, made, number, problems)
        report.problems += problems
        if not number:
            raise nothing_in(path, "conversation with a tool call", problems)


def _talks(path: Path, problems: list[Problem]) -> Iterator[tuple[dict[str, Any], _Talk]]:
    """The conversations of a file, each with the object that holds it."""
    single = _Talk()
    for _, record in records_of(path, problems):
        listed = [item for key in _LISTS for item in as_list(record.get(key)) if isinstance(item, dict)]
        payload, message = as_dict(record.get("payload")), as_dict(record.get("message"))
        if listed and any(_is_item(item) for item in listed):
            talk = _Talk()
            for item in listed:
                talk.follow(item)
            yield record, talk
        elif record.get("type") == "response_item" and payload:  # Codex
            single.split = True
            single.follow(payload, record.get("timestamp"))
        elif message and record.get("type") in ("user", "assistant"):  # Claude Code
            if not record.get("isSidechain") and not record.get("isMeta"):
                single.split = True
                single.follow(message, record.get("timestamp"))
        elif _is_item(record):
            single.follow(record, record.get("timestamp"))
    if single.tasks:
        yield {}, single


def _trajectory(
    path: Path, format: str, head: dict[str, Any], task: str, made: list[_Made], number: int, problems: list[Problem]
) -> Trajectory:
    request = first_of(head, TASK) or task
    if not isinstance(request, str) or not request:
        message = "no text of the user says what the task was; --task gives it"
        problems.append(Problem(file=str(path), code=NO_TASK, message=message))
        request = None
    key = content_key(path.stem, number, content_hash([task, [one.call.name for one in made]]))
    draft = Draft(path, format=format, session=key, request=request)
    host = None
    for one in made:
        host = as_host(one.call.arguments.get("url")) or host
        control, role = take_target(one.call.arguments, one.call.name)
        named = one.mentioned if one.mentioned and (not control or "ref" in one.call.arguments) else None
        draft.step(
            one.call.name,
            control=named[0] if named and control else control,
            control_type=named[1] if named and control else role,
            parameters=one.call.arguments,
            observation=one.thought,
            mentioned=one.mentioned,
            result=one.result,
            error=one.error,
            application=first_of(head, ("application", "app")) or host,
            timestamp=one.time,
        )
    outcome: dict[str, Any] = stated_outcome(head) if states_outcome(head) else {"success": None}
    return draft.finish(**outcome, agent=head.get("model") or format, env="web" if host else None, problems=problems)


def _calls_of(item: dict[str, Any]) -> list[Call]:
    if item.get("type") == "computer_call":
        return [call for action in as_list(item.get("action") or item.get("actions")) for call in calls_in(action)]
    return [call for call in calls_in(item) if call.name]


def _is_talk(value: Any) -> bool:
    """True for an object that calls a tool, or holds messages that do."""
    found = as_dict(value)
    inner = as_dict(found.get("payload")) or as_dict(found.get("message")) or found
    if found.get("type") in ("session_meta", "response_item") and "payload" in found:
        return True
    if found.get("sessionId") and found.get("type") in ("user", "assistant") and found.get("message"):
        return True
    if found.get("type") in _KEPT_BESIDE and found.keys() & {"messageId", "leafUuid", "sessionId"}:
        return True
    listed = [item for key in _LISTS for item in as_list(found.get(key)) if isinstance(item, dict)]
    return any(_calls_tool(item) for item in [inner, *listed])


def _calls_tool(item: dict[str, Any]) -> bool:
    item = as_dict(item.get("data")) or item
    if item.get("tool_calls") or (item.get("type") in (*_CALLS, *_RESULTS) and item.get("type") != "tool_call"):
        return True
    blocks = [as_dict(block).get("type") for block in as_list(item.get("content")) if isinstance(block, dict)]
    return "role" in item and ("tool_use" in blocks or bool(as_dict(item.get("function_call"))))


def _is_item(item: dict[str, Any]) -> bool:
    return "role" in item or "from" in item or item.get("type") in _KINDS


def _text_of(content: Any) -> str:
    """The words of a message: a text, or the text blocks of a list, thinking included; images left out."""
    if isinstance(content, str):
        return as_text(content)
    words = []
    for block in as_list(content):
        if isinstance(block, str):
            words.append(block)
        found = as_dict(block) if isinstance(block, dict) else {}
        words.append(as_text(next((found[key] for key in ("text", "thinking", "output_text") if found.get(key)), "")))
    return as_text("\n".join(word for word in words if word))
