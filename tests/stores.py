"""The two kinds of stores and their indexes, for tests that hold both to the same promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.postgres_server import Server, running
from ufo_experience.embed.base import Embedder
from ufo_experience.embed.hashing import HashingEmbedder
from ufo_experience.ids import content_id
from ufo_experience.index import open_index
from ufo_experience.index.base import ExperienceIndex
from ufo_experience.schema import Experience, validate
from ufo_experience.store import open_store
from ufo_experience.store.base import ExperienceStore

KINDS = ["folder", pytest.param("postgres", marks=pytest.mark.server)]
Opener = Callable[..., ExperienceStore]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server for the tests of one file."""
    yield from running()


@pytest.fixture(params=KINDS)
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens one and the same store, empty at first, as often as it is called."""
    if request.param == "folder":
        return lambda **options: open_store(tmp_path / "db", **options)
    url = request.getfixturevalue("server").database()
    return lambda **options: open_store(url, **options)


@pytest.fixture
def store(reopen: Opener) -> ExperienceStore:
    """An empty store."""
    return reopen()


def index_of(store: ExperienceStore, embedder: Embedder | None = None) -> ExperienceIndex:
    """The index of a store, as a memory opens it."""
    used = embedder or HashingEmbedder()
    return open_index(store, lambda: used)


def a_run_of(request: str, number: int = 0, **changes: Any) -> Experience:
    """A successful run at a request; its id follows from request and number. `changes` replace whole fields."""
    step = {"step_number": 1, "action_type": "click_input", "target_control": {"name": "Send", "type": "Button"}}
    application = changes.pop("application", "Outlook")
    record = {
        "id": content_id([request, application, number]),
        "state": {"task": request, "request": request, "application": application},
        "action": {"steps": [step]},
        "outcome": {"success": True},
        "created_at": "2025-11-12T10:04:28Z",
        "trust": "observed",
        "provenance": {"source": f"logs/{number}.json", "session": f"s{number}", "origin": "log"},
    }
    return validate(Experience, record | changes)
