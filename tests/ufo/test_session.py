"""UFO's own Session with the two imports changed. Run in UFO's pinned environment: `pytest -m ufo`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from ufo_experience import ExperienceMemory

HERE = Path(__file__).resolve().parent
THIRD_PARTY = Path(os.environ.get("UFO_THIRD_PARTY", HERE.parents[1].parent / "shared" / "third_party"))
# What docs/ufo.md says to change, and the settings that switch experiences on.
CHANGES = [
    (
        "ufo/module/basic.py",
        "from ufo.experience.summarizer import ExperienceSummarizer",
        "from ufo_experience.integrations.ufo import ExperienceSummarizer",
    ),
    (
        "ufo/rag/retriever.py",
        "class ExperienceRetriever(Retriever):",
        "from ufo_experience.integrations.ufo import ExperienceRetriever\n\n\nclass UfosOwnRetriever(Retriever):",
    ),
    ("config/ufo/system.yaml", "SLEEP_TIME: 1", "SLEEP_TIME: 0"),
    ("config/ufo/system.yaml", 'SAVE_EXPERIENCE: "always_not"', 'SAVE_EXPERIENCE: "always"'),
    ("config/ufo/rag.yaml", "RAG_EXPERIENCE: False", "RAG_EXPERIENCE: True"),
]

pytestmark = pytest.mark.ufo


@pytest.fixture(scope="module")
def ufo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """UFO unpacked, with the two imports changed, experiences switched on, and a model nobody answers for."""
    archives = sorted(THIRD_PARTY.glob("microsoft-UFO-*.tar.gz"))
    if not archives:
        pytest.skip(f"no microsoft-UFO-*.tar.gz in {THIRD_PARTY}")
    folder = tmp_path_factory.mktemp("ufo")
    with tarfile.open(archives[-1]) as archive:
        archive.extractall(folder)
    root = next(folder.iterdir())
    agents = (root / "config/ufo/agents.yaml.template").read_text("utf-8")
    (root / "config/ufo/agents.yaml").write_text(agents, "utf-8")
    for name, old, new in CHANGES:
        text = (root / name).read_text("utf-8")
        assert old in text, f"{name} reads otherwise than docs/ufo.md says"
        (root / name).write_text(text.replace(old, new), "utf-8")
    return root


@pytest.fixture(scope="module")
def runs(ufo: Path) -> list[dict[str, Any]]:
    """What UFO's sessions did: a mail, the same with another recipient, one that fails, one along a plan."""
    command = [sys.executable, str(HERE / "drive.py"), str(ufo)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    lines = [line for line in made.stdout.splitlines() if line.startswith("DRIVEN ")]
    assert lines, made.stdout[-2_000:] + made.stderr[-4_000:]
    driven: list[dict[str, Any]] = json.loads(lines[0].removeprefix("DRIVEN "))
    return driven


@pytest.fixture(scope="module")
def memory(ufo: Path, runs: list[dict[str, Any]]) -> ExperienceMemory:
    """What UFO's saver wrote."""
    return ExperienceMemory.open(ufo / "vectordb/experience/experience_db", create=False, embedder="hashing")


def example_in(run: dict[str, Any]) -> dict[str, Any]:
    """The response of the past run that UFO put into the AppAgent's prompt; {} when there is none."""
    past = run["system_prompt"].partition("This is a past run")[2].partition("[Response]:")[2]
    return json.JSONDecoder().raw_decode(past.strip())[0] if past else {}


def test_the_second_session_is_shown_the_way_of_the_first(runs):
    """With its own recipient; the first was shown nothing."""
    assert example_in(runs[0]) == {}
    assert any("Bob" in line for line in example_in(runs[1])["plan"])
    assert "Jane" not in json.dumps(example_in(runs[1]))


def test_the_example_begins_with_a_step_an_app_agent_can_take(runs):
    """Selecting the window is the HostAgent's tool, and was the first step of the log."""
    assert runs[0]["calls"][0][0] == "select_application_window"
    assert example_in(runs[1])["action"]["function"] == "click_input"
    assert "select_application_window" not in json.dumps(example_in(runs[1]))


def test_every_argument_a_tool_requires_is_named(runs):
    """`click_input` wants `id` and `name`."""
    arguments = example_in(runs[1])["action"]["arguments"]
    assert arguments["name"] == "New Email"
    assert arguments["id"]


def test_no_field_of_the_example_is_empty(runs):
    """What the log does not hold is left out."""
    assert all(example_in(runs[1]).values())


def test_a_failed_session_is_kept_and_not_imitated(runs, memory):
    """By the word of UFO's evaluator."""
    outcomes = {one.state.request: one.outcome.success for one in memory.list()}
    assert outcomes["Email Carol about lunch"] is False
    assert outcomes["Email Jane about lunch"] is True
    assert "Carol" not in (Path(memory.store.location).parent / "experience.yaml").read_text("utf-8")


def test_the_users_request_is_the_task_of_a_follower_session(runs, tmp_path):
    """Not what UFO asks its own agents for on the way."""
    learned = ExperienceMemory.open(tmp_path / "db", embedder="hashing").ingest(runs[3]["log"]).added
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        assert [memory.get(one).state.request for one in learned] == ["Email Dan about lunch"]
