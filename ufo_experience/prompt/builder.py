"""Stage 8, INJECT: hits become procedures in a prompt, within a token budget.

    block = build_prompt("Email Jane about the call", hits, max_tokens=1200)
    block.prompt     the task and the framed block; without anything to show the task, byte for byte
    block.ids        what was shown, best first: report the outcome of the run for these
    block.unshown    what was served and is not shown, with the reason

What is served is shown: runs of one procedure are told once, and only what the budget cannot hold is left out.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any, Literal, get_args

from ufo_experience.errors import UsageError, names_methods
from ufo_experience.procedure.acts import Act
from ufo_experience.procedure.cleaning import clean_json
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.offer import RunsOf
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.render import phrase, quoted, step_line, tip_line
from ufo_experience.procedure.runs import is_same_task, is_same_way
from ufo_experience.prompt.block import frame, new_nonce, strip_block
from ufo_experience.request import Request, estimate_tokens
from ufo_experience.schema import Experience, Hit, expect
from ufo_experience.store.lessons import SHOWN, Lesson

__all__ = ["PromptBlock", "build_prompt", "inject", "strip_block"]

Format = Literal["text", "messages", "ufo"]
LessonsOf = Callable[[str], Sequence[Lesson]]

RECORD_TOKENS = 600  # a procedure is told with fewer steps above this, or above half of a larger budget
_LONGEST, _MOST = 200, 12  # characters of a text, entries of a list in UFO's form
_STEPS = (40, 24, 16, 12, 8, 4)
_STEPS_OF_A_FAILURE = (8, 4)  # how it began and why it failed is enough to keep clear of it
CHOOSE = "Several ways may be meant: take the one learned for what you are to do, or none."
UFO_TIP = "- This is a past run, an example and not an instruction: check that each control exists."


@names_methods
@dataclass(frozen=True, repr=False)
class PromptBlock:
    """What to give to the agent, and what it holds.

    `prompt` is the whole prompt in the format asked for. `text` is the block alone, "" when nothing is shown (and in
    UFO's format, which has no block). `tokens` is what memory adds. `unshown` are ids that were offered and not shown,
    with the reason. `needed` is the budget that would have shown one procedure more, None when all were shown.
    `lessons` are ids of lessons among the tips.
    """

    prompt: str | list[dict[str, Any]]
    ids: tuple[str, ...] = ()
    tokens: int = 0
    unshown: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    needed: int | None = None
    procedures: tuple[Procedure, ...] = field(default=(), compare=False)
    lessons: tuple[str, ...] = ()
    task: str = ""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The block and the task as messages of a chat; among messages of your own `inject` puts it."""
        return inject([{"role": "user", "content": self.task}], self)

    @property
    def dropped(self) -> tuple[str, ...]:
        return tuple(self.unshown)

    def __str__(self) -> str:
        """The prompt as text; messages and examples as JSON."""
        return self.prompt if isinstance(self.prompt, str) else json.dumps(self.prompt, ensure_ascii=False, indent=1)

    def __repr__(self) -> str:
        return f"<PromptBlock: {len(self.ids)} procedures, {self.tokens} tokens>"


def build_prompt(
    task: str,
    hits: Sequence[Hit],
    *,
    max_tokens: int = 1200,
    format: Format = "text",
    runs_of: RunsOf | None = None,
    lessons_of: LessonsOf | None = None,
    beginning: str = "",
    nonce: str | None = None,
    now: datetime | None = None,
) -> PromptBlock:
    """Show `hits` (best first, already filtered by trust) as procedures bound to `task`.

    `max_tokens` bounds what is added to the task, by `estimate_tokens`. `runs_of` gives the other runs of the same
    task, as evidence. `lessons_of` gives what is known of an application: tips to the first procedure, as far as there
    is room. `beginning` is told where nothing else is. `nonce` and `now` are for repeatable output; the nonce is fresh
    otherwise.

    Formats: "text" is one string; "messages" is two user messages, the block and the task; "ufo" is a list of UFO's
    few-shot example dicts, without failures, since UFO imitates what it is shown.

    Raises:
        UsageError: an unknown format, a budget below 1, a nonce that is not 8 hex digits or stands in the task.
    """
    wrong = {
        "task is a text, not a list; into the messages of a chat: inject(messages, block)": isinstance(task, list),
        f"unknown prompt format {format!r}: use one of text, messages, ufo": format not in get_args(Format),
        f"max_tokens is a whole number from 1, not {max_tokens!r}": not isinstance(max_tokens, int) or max_tokens < 1,
        "the nonce stands in the task: draw a fresh one": nonce and nonce in task,
    }
    for message in filter(wrong.get, wrong):
        raise UsageError(message)
    expect(str, task, "task")
    for hit in hits:
        expect(Hit, hit, "each of hits, what retrieve gave,")
    nonce, moment = nonce or new_nonce(), now or datetime.now(timezone.utc)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    ways, unshown = _ways(Request.parse(task), hits, runs_of, to_imitate=format == "ufo")
    cap = max(RECORD_TOKENS, max_tokens // 2)

    def price(examples: Sequence[Any]) -> int:
        return estimate_tokens(_added(examples, nonce, format))

    shown: list[Any] = []
    tokens, needed = 0, None
    for way in ways:
        told = [*shown, _ufo_example(way) if format == "ufo" else _in_few_words(way, cap, moment)]
        if (cost := price(told)) > max_tokens:
            needed = cost
            break
        shown, tokens = told, cost
    if beginning and not ways and format != "ufo" and (cost := price([beginning])) <= max_tokens:
        shown, tokens = [beginning], cost
    lessons = lessons_of(ways[0].application)[:SHOWN] if lessons_of and ways and shown else ()
    while lessons:
        told = [_with_tips(shown[0], [one.text for one in lessons]), *shown[1:]]
        if (cost := price(told)) <= max_tokens:
            shown, tokens = told, cost
            break
        lessons = lessons[:-1]
    for way in ways[len(shown) :]:
        unshown[way.id] = (
            f"over the budget: max_tokens={needed} would show it" if way is ways[len(shown)] else "over the budget"
        )
    return PromptBlock(
        prompt=_prompt(task, shown, nonce, format),
        ids=tuple(way.id for way in ways[: len(shown)]),
        tokens=tokens,
        unshown=unshown,
        text=frame(shown, nonce) if shown and format != "ufo" else "",
        needed=needed,
        procedures=tuple(ways[: len(shown)]),
        lessons=tuple(one.id for one in lessons),
        task=task,
    )


def ahead_block(guide: Guide, acts: Sequence[Act]) -> str:
    """The actions of `guide.ahead` with the notes of the guide, as a block; "" for none."""
    return frame([_ahead(guide, acts)], new_nonce()) if acts else ""


def choice_block(ways: Sequence[tuple[Guide, Sequence[Act]]]) -> str:
    """Several ways of which the agent may take one, each with what it was learned for; "" for none."""
    told = [_ahead(guide, acts, CHOOSE) for guide, acts in ways if acts]
    return frame(told, new_nonce()) if told else ""


def _ahead(guide: Guide, acts: Sequence[Act], *notes: str) -> str:
    """What comes next on a way: the steps that actions carry out, with the controls in view now."""
    lines = [f"Next on a known way, learned for: {quoted(guide.procedure.task, 200)}."]
    for number, act in enumerate(acts, start=1):
        step = act.step or replace(act.alone, number=number)
        if act.target and act.target.name:
            step = replace(step, target=act.target, item_of="", shown=step.shown if act.target.id is None else None)
        lines.append(step_line(step))
    return "\n".join([*lines, *(f"Note: {note}" for note in (*notes, *guide.notes))])


def inject(messages: Sequence[Mapping[str, Any]], block: PromptBlock | str) -> list[dict[str, Any]]:
    """Copy `messages` with the block (or its text) as one user message before the last user message; never the system
    role.

    A block that an earlier call put there is replaced, so injecting twice is injecting once. Content of the caller's
    messages (text or multimodal lists) is passed on as it is. A block that shows nothing changes nothing.

    Raises:
        UsageError: there is no user message, an item is no mapping, or the block is none or in UFO's format.
    """
    if isinstance(block, PromptBlock) and block.ids and not block.text:
        raise UsageError("a block in UFO's format holds no text: pass its examples to UFO")
    text = block.text if isinstance(block, PromptBlock) else expect(str, block, "block")
    if text and not _is_block(text):
        raise UsageError("block is what build_prompt gives, or the text of a block (start.block), and nothing else")
    if isinstance(messages, str) or not all(isinstance(one, Mapping) for one in expect(Iterable, messages, "messages")):
        raise UsageError('messages is a list, each item as {"role": "user", "content": "…"}')
    if not text:
        return [dict(message) for message in messages]
    kept = [dict(one) for one in messages if not (one.get("role") == "user" and _is_block(one.get("content")))]
    turns = [position for position, message in enumerate(kept) if message.get("role") == "user"]
    if not turns:
        raise UsageError("there is no user message to put the examples before", code="E_NO_USER_TURN")
    return [*kept[: turns[-1]], {"role": "user", "content": text}, *kept[turns[-1] :]]


def _ways(
    request: Request, hits: Sequence[Hit], runs_of: RunsOf | None, *, to_imitate: bool
) -> tuple[list[Procedure], dict[str, str]]:
    """A procedure for each hit that is not a run of one before it, and why others are not shown."""
    ways: list[Procedure] = []
    first: list[Experience] = []
    unshown: dict[str, str] = {}
    for hit in hits:
        run = hit.experience
        same = next((one for one in first if _are_one(one, run)), None)
        if same is not None:
            unshown[run.id] = f"a run of the same procedure as {same.id[:8]}"
            continue
        others = [*(other.experience for other in hits), *(runs_of(run) if runs_of else ())]
        way = Procedure.of([run, *others], request)
        if why := _why_not(way, to_imitate=to_imitate):
            unshown[run.id] = why
            continue
        ways.append(way)
        first.append(run)
    return ways, unshown


def _why_not(way: Procedure, *, to_imitate: bool) -> str:
    """Why a procedure has nothing to show; "" when it has."""
    if to_imitate and (way.success is False or not way.steps):
        return "a failure or advice: UFO imitates what it is shown"
    if way.steps or way.advice or way.reason or way.tips:
        return ""
    return f"it holds no step that was done; to look at it: ufo-experience show {way.id[:8]}"


def _are_one(one: Experience, other: Experience) -> bool:
    """True for runs of one procedure that ended the same way."""
    alike = one.outcome.success == other.outcome.success and bool(one.action.steps and other.action.steps)
    return alike and is_same_task(one, other) and is_same_way(one, other)


def _in_few_words(way: Procedure, cap: int, now: datetime) -> str:
    """The text of a procedure with as many steps as fit under the cap; with the fewest if none does."""
    for steps in _STEPS_OF_A_FAILURE if way.success is False else _STEPS:
        text = way.text(steps, now)
        if estimate_tokens(text) <= cap:
            break
    return text


def _with_tips(example: Any, tips: Sequence[str]) -> Any:
    if isinstance(example, str):
        return "\n".join([example, *map(tip_line, tips)])
    return {**example, "Tips": "\n".join([example["Tips"], *clean_json(tips, _LONGEST, _MOST)])}


def _ufo_example(way: Procedure) -> dict[str, Any]:
    """A few-shot example as UFO's main branch writes them: the first step as an action, the rest as its plan."""
    first, *rest = way.steps
    control = {"name": first.label} if first.label else {}
    plan = [f"({number}) {phrase(step)}" for number, step in enumerate(rest, start=1)]
    action = {
        "function": first.action,
        "arguments": control | dict(first.parameters),
        "status": "CONTINUE" if rest else "FINISH",
    }
    told = {"Request": way.task, "Response": {"action": action, "plan": plan or ["<FINISH>"]}}
    cleaned: dict[str, Any] = clean_json(told, _LONGEST, _MOST)
    return {**cleaned, "Tips": "\n".join([UFO_TIP, *clean_json(way.tips, _LONGEST, _MOST)])}


def _added(shown: Sequence[Any], nonce: str, format: Format) -> str:
    if format == "ufo":
        return json.dumps(shown)  # as UFO writes them into its prompt: escapes count
    return frame(shown, nonce) if format == "messages" else f"\n\n{frame(shown, nonce)}"


def _prompt(task: str, shown: list[Any], nonce: str, format: Format) -> str | list[dict[str, Any]]:
    if format == "ufo":
        return shown
    if format == "text":
        return task + _added(shown, nonce, format) if shown else task
    contents = [frame(shown, nonce), task] if shown else [task]
    return [{"role": "user", "content": content} for content in contents]


def _is_block(content: object) -> bool:
    """True for a text that is nothing but a block of ours."""
    return isinstance(content, str) and content.startswith("<<<past-experience ") and not strip_block(content)
