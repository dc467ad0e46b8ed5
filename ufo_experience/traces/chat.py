"""Conversations with tool calls: what a model said, which tools it called, what came back.

OpenAI chat messages and Responses items, Anthropic, Bedrock, Gemini and LangChain messages, computer use of both
vendors, and the session files of Claude Code and Codex. The task is the first text of the user (in the session files
each text of the user begins a new one). Nobody in such a file judges the run, unless it states a `reward` or `success`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ufo_experience.traces.calls import calls_in
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import records_of
from ufo_experience.traces.rows import TASK, RowsReader, stated_outcome, steps_of_calls
from ufo_experience.traces.tree import Marks, marks_of_text
from ufo_experience.traces.values import NAMES, Row, as_dict, as_dicts, as_list, as_text

MAX_RESULT = 2_000  # characters of a tool's answer
_WRAPPED = {  # a part of a message whose only key says what it is: Bedrock, Gemini
    **dict.fromkeys(("toolUse", "functionCall", "function_call"), "tool_use"),
    **dict.fromkeys(("toolResult", "functionResponse", "function_response"), "tool_result"),
}
_CALLS, _RESULTS = NAMES["call"], NAMES["result"]
_KINDS = (*_CALLS, *_RESULTS, "reasoning", "message", "human", "ai")
_ROLES = {"human": "user", "function": "tool", **dict.fromkeys(("ai", "model", "gpt", "AIMessage"), "assistant")}
# What a host puts beside the user's words.
_OF_THE_HOST = ("<", "Caveat:", "# AGENTS.md", "[Request interrupted", "This session is being continued")
_ERRORS = ("error", "### error", "traceback", "exception")

_Made = tuple[str, dict[str, Any]]  # a tool call as a step, with the identifier by which its result comes


class _Talk:
    """A conversation being followed; `tasks` are the user's texts with the calls that came after each."""

    def __init__(self) -> None:
        self.split = False
        self.tasks: list[tuple[str, list[_Made]]] = []
        self.thought = ""
        self.names: Marks = {}

    def follow(self, message: Any, time: Any = None) -> None:
        """Take one message or item, of any of the vendors."""
        item = as_dict(message)
        item = Row(item.row("data") | {"type": item.get("type")}) if "data" in item and "type" in item else item
        kind = item.name("type")
        said = item.name("role", "from") or kind
        role = "user" if "parts" in item and said == "function" else _ROLES.get(said, said)
        if kind in _CALLS:
            self._call([item], time)
        elif kind in _RESULTS or (role == "tool" and "parts" not in item):
            self._result(item.name("call_id", "tool_call_id"), item)
        elif kind == "reasoning":
            self.thought = _words_of(_blocks(item)) or self.thought
        elif role in ("user", "assistant"):
            self._message(item, role, time)

    def follow_line(self, record: Row) -> None:
        """Take one line of a file that is one conversation; in the session files of hosts each text begins a task."""
        payload, message = record.row("payload"), record.row("message")
        codex = record.get("type") == "response_item" and bool(payload)
        claude_code = record.get("type") in ("user", "assistant") and bool(message)
        if claude_code and (record.get("isSidechain") or record.get("isMeta")):
            return
        self.split = self.split or codex or claude_code
        if codex or claude_code or _is_item(record):
            self.follow(payload if codex else message if claude_code else record, record.get("timestamp"))

    def runs(self, head: Row) -> list[Row]:
        """The tasks for which something was done, each with its calls, and the object that holds the conversation."""
        return [Row(head=head, task=task, made=made) for task, made in self.tasks if made]

    def _message(self, item: Row, role: str, time: Any) -> None:
        blocks = _blocks(item)
        for block in blocks:
            if block.get("type") == "tool_result":
                self._result(block.name("tool_use_id", "toolUseId"), block)
        text = _words_of(blocks)
        if role == "assistant":
            self.thought = text or item.text("reasoning_content") or self.thought
            more = item.listed("tool_calls") + [call for call in [item.row("function_call")] if call]
            self._call([*(block for block in blocks if block.get("type") in _CALLS), *more], time)
        elif (not self.tasks or (self.split and self.tasks[-1][1])) and (text := text.strip()):
            self.tasks += [] if text.startswith(_OF_THE_HOST) else [(text, [])]

    def _call(self, items: Iterable[Any], time: Any) -> None:
        found = [
            (call, item.name("call_id", "id", "toolUseId"))
            for item in as_dicts([*items])
            for call in calls_in(item.listed("action", "actions") if item.get("type") == "computer_call" else item)
            if call.name
        ]
        if not self.tasks:
            self.tasks.append(("", []))
        steps = steps_of_calls([call for call, _ in found], self.thought, marks=self.names)
        for (call, identifier), step in zip(found, steps, strict=True):
            name = call.name.rpartition("__")[2] or call.name
            self.tasks[-1][1].append((identifier, step | {"action_type": name, "timestamp": time}))
        self.thought = "" if found else self.thought

    def _result(self, name: str, item: Row) -> None:
        text = _words_of(_blocks(item))
        self.names = marks_of_text(text) if "[ref=" in text else self.names
        made = [one for _, calls in self.tasks for one in calls]
        step = next((step for identifier, step in reversed(made) if identifier == name or not name), None)
        if step is not None:
            failed = item.get("is_error") is True or item.get("status") == "error"
            if failed or text.strip().split("\n", 1)[0].casefold().startswith(_ERRORS):
                step["error"] = text[:500] or "failed"
            step["result"] = text[:MAX_RESULT]


class ChatReader(RowsReader):
    """Conversations with tool calls; a file may hold one or many, and each text of a user may begin a run."""

    name = "chat"
    tasks = ("task",)
    untold = "the conversation"
    wanted = "conversation with a tool call"

    def recognises(self, found: Found) -> bool:
        return any(_is_talk(item) for item in [item for value in found.values for item in as_list(value)][:60])

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        single = _Talk()
        for _, record in records_of(path, report.problems):
            listed = _listed(record)
            if any(map(_is_item, listed)):
                talk = _Talk()
                for item in listed:
                    talk.follow(item)
                yield from talk.runs(record)
            else:
                single.follow_line(record)
        yield from single.runs(Row())

    def fill(self, draft: Draft, row: Row) -> dict[str, Any]:
        head = row["head"]
        stated = head.first(*TASK)  # the task is what the file states beside the messages, else the text of the user
        draft.request = stated if isinstance(stated, str) else row["task"]
        draft.starts_with = [row["task"], [step["action_type"] for _, step in row["made"]]]
        for _, step in row["made"]:
            site = draft.on_site(step["parameters"].get("url"))
            draft.step(**step, application=head.first("application", "app") or site)
        return {**stated_outcome(head), "agent": head.get("model") or self.name, "env": "web" if draft.site else None}


def _is_talk(value: Any) -> bool:
    """True for what calls a tool or holds messages that do, and for a line of a host's session file."""
    found = as_dict(value)
    kind, inner = found.get("type"), found.row("payload") or found.row("message") or found
    return (
        (kind in ("session_meta", "response_item") and "payload" in found)
        or (kind in ("user", "assistant") and found.has("sessionId") and found.has("message"))
        or (kind in NAMES["kept_beside"] and bool(found.keys() & {"messageId", "leafUuid", "sessionId"}))
        or any(map(_calls_tool, [inner, *_listed(found)]))
    )  # fmt: skip


def _listed(record: Row) -> list[Row]:
    return [Row(item) for key in NAMES["messages"] for item in as_list(record.get(key)) if isinstance(item, dict)]


def _calls_tool(item: Row) -> bool:
    item = item.row("data") or item
    if item.get("tool_calls") or (item.get("type") in (*_CALLS, *_RESULTS) and item.get("type") != "tool_call"):
        return True
    inside = any(block.get("type") in ("tool_use", "function_call") for block in _blocks(item))
    return "role" in item and (inside or bool(item.row("function_call")))


def _is_item(item: Row) -> bool:
    return "role" in item or "from" in item or item.get("type") in _KINDS


def _blocks(item: Row) -> list[Row]:
    """The parts of a message, of a result or of a reasoning in one shape, whoever wrote it."""
    found = []
    for one in item.listed(*NAMES["content"]):
        block = Row(text=one) if isinstance(one, str) else as_dict(one)
        key = next((key for key in _WRAPPED if as_dict(block.get(key))), None)
        found.append(Row(block.row(key) | {"type": _WRAPPED[key]}) if key else block)
    return found


def _words_of(blocks: list[Row]) -> str:
    words = [block.text(*NAMES["said"]) for block in blocks]
    return as_text("\n".join(word for word in words if word))
