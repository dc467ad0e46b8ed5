"""What models said, which tools they called and what came back: conversations, and exports of tracing.

OpenAI chat messages and Responses items, Anthropic, Bedrock, Gemini and LangChain messages, computer use of both
vendors, and the session files of Claude Code and Codex. The task is the first text of the user (in the session files
each text of the user begins a new one). Nobody in such a file judges the run, unless it states a `reward` or `success`.

OpenTelemetry spans (GenAI conventions), LangSmith runs, Langfuse traces: all are spans under other keys (`span_…` in
names.txt). Only tool calls become steps, in the order of their start. The task is the input of the root. Scores of a
person or a program are a judgement when they are a clear yes or no.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ufo_experience.traces.calls import arguments_of, calls_in
from ufo_experience.traces.draft import Draft
from ufo_experience.traces.files import Found, ReadReport
from ufo_experience.traces.lines import records_of
from ufo_experience.traces.rows import OUTCOMES, TASK, RowsReader, stated_outcome, steps_of_calls
from ufo_experience.traces.tree import Marks, marks_of_text
from ufo_experience.traces.values import NAMES, Row, as_dict, as_dicts, as_list, as_name, as_text, parse_literal

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

_SPAN = {part: NAMES[f"span_{part}"] for part in "trace start parent kind name given back".split()}
_SPAN_FAILED = (2, "STATUS_CODE_ERROR", "ERROR")

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

    def runs(self, head: Row) -> Iterator[Row]:
        """The tasks for which something was done, each with its steps, and the object that holds the conversation."""
        for task, made in self.tasks:
            steps = [step for _, step in made]
            if steps:
                yield Row(head=head, task=task, steps=steps, key=[task, [step["action_type"] for step in steps]])

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
        made = zip((identifier for _, identifier in found), steps, strict=True)
        self.tasks[-1][1].extend((identifier, step | {"timestamp": time}) for identifier, step in made)
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
        items = [item for value in found.values for item in as_list(value)]
        return any(map(self.is_row, as_dicts(items[:60])))

    def is_row(self, row: Row) -> bool:
        """True for what calls a tool or holds messages that do, and for a line of a host's session file."""
        kind, inner = row.get("type"), row.row("payload") or row.row("message") or row
        return (
            (kind in ("session_meta", "response_item") and "payload" in row)
            or (kind in ("user", "assistant") and row.has("sessionId") and row.has("message"))
            or (kind in NAMES["kept_beside"] and bool(row.keys() & {"messageId", "leafUuid", "sessionId"}))
            or any(map(_calls_tool, [inner, *_listed(row)]))
        )

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
        draft.request, draft.starts_with = stated if isinstance(stated, str) else row["task"], row["key"]
        for step in row["steps"]:
            site = draft.on_site(step["parameters"].get("url"))
            draft.step(**step, application=head.first("application", "app") or site)
        return {**stated_outcome(head), "agent": head.get("model") or self.name, "env": "web" if draft.site else None}


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


class SpansReader(ChatReader):
    """Tracing exports; every trace in which a tool is called is a run."""

    name = "spans"
    untold = "the root of the trace"
    wanted = "tool call"

    def is_row(self, row: Row) -> bool:
        return (
            row.has("resourceSpans", "resource_spans")
            or ("run_type" in row and ("trace_id" in row or "inputs" in row))
            or (isinstance(row.get("observations"), list) and ("scores" in row or "input" in row))
            or any(key.startswith("gen_ai.") for key in row.row("attributes"))
            or ("traceId" in row and "startTime" in row)
        )

    def runs(self, path: Path, report: ReadReport) -> Iterator[Row]:
        traces: dict[str, list[Row]] = {}
        for _, record in records_of(path, report.problems):
            for span in map(_span, _spans_of(record)):
                traces.setdefault(span["trace"], []).append(span)
        for trace, spans in traces.items():
            spans.sort(key=lambda span: span["start"])
            models = [span for span in spans if not (span["parent"] and span["step"])]
            asked = sorted(models, key=lambda span: span.has("parent"))  # a root without input: the first model call
            task = next((text for span in asked if (text := _asked(span["given"]))), None)
            verdict = next((span["verdict"] for span in spans if span["verdict"] is not None), None)
            head = {} if verdict is None else {"success": verdict, "evaluated_by": "evaluator"}
            if steps := [span["step"] for span in spans if span["step"]]:
                yield Row(head=Row(head), task=task, steps=steps, key=trace)


def _spans_of(record: Row) -> Iterator[Row]:
    """The spans of an export as the vendors write them, children with the trace of their root."""
    if resources := record.rows("resourceSpans", "resource_spans"):
        scopes = (scope for one in resources for scope in one.rows("scopeSpans", "scope_spans"))
        yield from (span for scope in scopes for span in scope.rows("spans"))
        return
    yield record
    trace = record.first(*_SPAN["trace"])
    for child in record.rows("child_runs"):
        yield from _spans_of(Row(child | {"trace_id": trace}))
    for one in record.rows("observations"):
        yield Row(one | {"traceId": trace, "parentObservationId": one.get("parentObservationId") or trace})


def _span(record: Row) -> Row:
    """What a span says, with its `step` where it is a call of a tool, and the `verdict` of an evaluator."""
    attributes = record.get("attributes")
    if isinstance(attributes, list):
        values = {one.name("key"): one.row("value") for one in as_dicts(attributes)}
        attributes = {key: next(iter(value.values()), None) for key, value in values.items()}
    found = Row({**record, **record.row("context"), **as_dict(attributes)})
    span = Row({part: found.first(*keys) for part, keys in _SPAN.items()})
    span |= {"trace": span.name("trace"), "start": span.name("start"), "step": None}
    if span.name("kind").casefold() in ("execute_tool", "tool") or found.has(*_SPAN["name"][:2]):
        ended = Row({**record, **record.row("status")})
        failed = any(ended.get(key) in _SPAN_FAILED for key in ("code", "status_code", "level"))
        message = ended.name(*(("message", "description", "statusMessage", "error") if failed else ("error",)))
        told = {"result": as_text(span["back"]), "error": message or ("failed" if failed else None)}
        called = {"name": span.name("name"), "arguments": arguments_of(span["given"])}
        for step in steps_of_calls(calls_in(called), ""):
            span["step"] = step | told | {"timestamp": span["start"]}
    # A clear yes or no of an evaluator; anything else is no judgement of success.
    means = [as_dict(one).name("avg") for one in record.row("feedback_stats").values()]
    said = [score.name("stringValue", "value").casefold() for score in record.rows("scores")]
    return Row(span | {"verdict": next((OUTCOMES[word] for word in [*means, *said] if word in OUTCOMES), None)})


def _asked(given: Any) -> str:
    """The words of an input: a text, a field that usually holds it, or the first message of the user."""
    if isinstance(given, str):
        parsed = parse_literal(given) if given.lstrip().startswith(("[", "{")) else None
        return _asked(parsed) if parsed else as_name(given)
    if found := as_dict(given):
        return _asked(found.first(*NAMES["task"], *NAMES["span_task"]))
    rows = as_dicts(given)
    user = next((row for row in rows if {"user", "human"} & {row.name("role"), row.name("type")}), None)
    return _asked((user or rows[0]).first("content", "parts", "text")) if rows else ""
