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
        archive.extractall(folder, filter="data")
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
    """What three sessions of UFO did: a mail, the same with another recipient, one that fails."""
    made = subprocess.run(
        [sys.executable, str(HERE / "drive.py"), str(ufo)], capture_output=True, text=True, timeout=600, check=False
    )
    lines = [line for line in made.stdout.splitlines() if line.startswith("DRIVEN ")]
    assert lines, made.stdout[-2000:] + made.stderr[-4000:]
    driven: list[dict[str, Any]] = json.loads(lines[0].removeprefix("DRIVEN "))
    return driven


@pytest.fixture(scope="module")
def example(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The response the second session's AppAgent was shown, as UFO wrote it into its prompt."""
    prompt = runs[1]["system_prompt"]
    shown = [line for part in prompt.split("[Response]:")[1:] for line in part.splitlines() if line.strip()[:1] == "{"]
    mine = [json.loads(line) for line in shown if "New Email" in line]
    assert mine, "the second session was shown no example of the first"
    found: dict[str, Any] = mine[-1]
    return found
