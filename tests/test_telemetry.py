"""What a memory tells OpenTelemetry: one span for each operation, figures of it, and no text of a task."""

from __future__ import annotations

import pytest

from ufo_experience import ExperienceMemory, UsageError

telemetry = pytest.importorskip("opentelemetry.sdk.trace")
TASK = "Send the report to Jane"
STEPS = [{"action": "click", "control": "Send", "control_type": "Button"}]


@pytest.fixture(scope="module")
def exporter():
    """Spans are kept in memory; a process has one provider for good."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept, provider = InMemorySpanExporter(), telemetry.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    return kept


@pytest.fixture
def memory(exporter, tmp_path):
    """A memory that knows one task, and no span yet."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    memory.remember(TASK, STEPS, success=True)
    exporter.clear()
    return memory


def told(exporter):
    """Name and attributes of the spans so far."""
    return {span.name: dict(span.attributes) for span in exporter.get_finished_spans()}


def test_a_question_tells_how_many_it_asked_for_and_got(memory, exporter):
    """The names are those of the conventions for generative AI."""
    memory.retrieve(TASK, top_k=2)
    (found,) = told(exporter).values()
    assert found == {
        "gen_ai.operation.name": "search_memory",
        "ufo_experience.top_k": 2,
        "ufo_experience.hits": 1,
        "ufo_experience.degraded": False,
    }


def test_learning_and_a_prompt_are_told(memory, exporter):
    """Each stage its own span."""
    memory.remember("Mute the speakers", STEPS, success=True)
    memory.ingest({"task": "Print it", "success": True, "evaluated_by": "user", "steps": STEPS})
    block = memory.build_prompt(TASK)
    spans = told(exporter)
    assert spans.keys() == {"create_memory", "search_memory", "build_prompt"}
    assert spans["create_memory"]["ufo_experience.records"] == 1
    assert spans["build_prompt"]["ufo_experience.tokens"] == block.tokens


def test_no_text_of_a_task_goes_into_a_span(memory, exporter):
    """Figures only."""
    memory.build_prompt(TASK, memory.retrieve(TASK))
    assert not any("report" in str(value) for span in told(exporter).values() for value in span.values())


def test_an_error_ends_its_span_with_its_code(memory, exporter):
    """What dashboards count."""
    with pytest.raises(UsageError):
        memory.build_prompt(TASK, max_tokens=-1)
    assert told(exporter)["build_prompt"]["error.type"] == "E_USAGE"
