"""Which agent a benchmark runs: the rule-based one, or one of the user's by name."""

from __future__ import annotations

from importlib import import_module

from benchmarks.steps.agents import explorer_agent
from benchmarks.steps.external_agent import external_agent
from benchmarks.steps.workplace import MakeAgent
from ufo_experience.errors import UsageError

RULE_BASED = "rule-based explorer"
GPT = "gpt"
EXEC = "exec:"
TOOLS = {
    "click_input": "click a control, or an application to bring it to the front; no arguments",
    "set_edit_text": "replace the text of an edit field; argument: text",
    "select_item": "choose an option of a list; argument: text",
}


def open_agent(spec: str | None, *, timeout: float = 120.0) -> tuple[str, MakeAgent]:
    """The name of an agent in reports, and what makes one for a workplace.

    Args:
        spec: None for the rule-based explorer, "gpt" for the example agent on the OpenAI API (key and endpoint from
            the environment), "exec:COMMAND" for a process an episode (see `external_agent`), else "module:function";
            the function takes a `Workplace` and returns an `Agent`.
        timeout: seconds an "exec:" agent may take for one answer.

    Raises:
        UsageError: there is no such module or function, or no key for "gpt".
    """
    if spec is None:
        return RULE_BASED, explorer_agent
    if spec == GPT:
        return _gpt()
    if spec.startswith(EXEC):
        return spec, external_agent(spec.removeprefix(EXEC), timeout)
    module, _, function = spec.partition(":")
    if not module or not function:
        raise UsageError(f"an agent is named MODULE:FUNCTION, not {spec!r}")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"there is no agent {spec!r}: {error}") from error
    if not callable(found):
        raise UsageError(f"{spec!r} is no function")
    make_agent: MakeAgent = found
    return spec, make_agent


def _gpt() -> tuple[str, MakeAgent]:
    from benchmarks.gpt_agent.agent import DEFAULT_MODEL, GPTAgent
    from ufo_experience.service import Access, Service

    service = Service(Access.from_env())
    return f"GPT agent on {DEFAULT_MODEL}", lambda workplace: GPTAgent(service, TOOLS)
