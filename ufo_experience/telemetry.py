"""Spans for OpenTelemetry, where that package is installed; nothing where it is not.

Names follow its conventions for generative AI (`search_memory`, `create_memory`). No text of a task, a step or a prompt
goes into a span.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from ufo_experience.errors import ExperienceError

Operation = Literal["search_memory", "create_memory", "build_prompt", "execute_procedure"]


class Span:
    """What a stage says of itself; without OpenTelemetry it is heard by nobody."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def set(self, **attributes: str | int | float | bool | None) -> None:
        """Add attributes, named `ufo_experience.…`; None is left out."""
        for name, value in attributes.items():
            if self._span is not None and value is not None:
                self._span.set_attribute(f"ufo_experience.{name}", value)


@contextmanager
def span(operation: Operation, **attributes: str | int | float | bool | None) -> Iterator[Span]:
    """A span around one operation of a memory; an error of ours ends it with its code as `error.type`."""
    tracer = _tracer()
    if tracer is None:
        yield Span()
        return
    with tracer.start_as_current_span(operation, attributes={"gen_ai.operation.name": operation}) as current:
        found = Span(current)
        found.set(**attributes)
        try:
            yield found
        except ExperienceError as error:
            current.set_attribute("error.type", error.code)
            raise


@lru_cache(1)
def _tracer() -> Any:
    return import_module("opentelemetry.trace").get_tracer("ufo_experience") if find_spec("opentelemetry") else None
