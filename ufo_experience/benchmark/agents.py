"""Which agent a benchmark runs: the rule-based one, or one of the user's by name."""

from __future__ import annotations

from importlib import import_module

from ufo_experience.benchmark.episode_session import MakeAgent, explorer_agent
from ufo_experience.errors import UsageError

RULE_BASED = "rule-based explorer"


def open_agent(spec: str | None) -> tuple[str, MakeAgent]:
    """The name of an agent in reports, and what makes one for a workplace.

    Args:
        spec: None for the rule-based explorer, else "module:function"; the function takes a `Workplace` and returns
            an `Agent`.

    Raises:
        UsageError: there is no such module or function.
    """
    if spec is None:
        return RULE_BASED, explorer_agent
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
