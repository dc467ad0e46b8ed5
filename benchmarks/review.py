"""The review page in pictures, from the bundled samples: `python -m benchmarks.review --screens docs/review`."""

from __future__ import annotations

import argparse
import socket
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlencode

import uvicorn

from benchmarks.steps.browser import Browser
from ufo_experience import ExperienceMemory
from ufo_experience.cli.serve import SAMPLES
from ufo_experience.review.app import build_app
from ufo_experience.settings import Settings

TOKEN = "t" * 43
ASKED = "Write a new email to Priya and ask whether Friday still suits"


def open_memory(folder: str) -> ExperienceMemory:
    """A quiet store: looking at pages is no question of an agent."""
    return ExperienceMemory.open(settings=Settings(db=folder, embedder="hashing", summarizer="extractive", audit=False))


def screens(folder: Path) -> None:
    """Write the pictures of docs/review.md."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, socket.create_server(("127.0.0.1", 0)) as listener:
        memory = open_memory(f"{place}/db")
        memory.ingest(SAMPLES, include_failures=True)
        teach(memory)
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        app = build_app(memory, token=TOKEN, session=TOKEN, hosts=[host])
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        shown = next(one.id for one in memory.list() if "3 columns" in one.state.request)
        wanted = {
            "overview": "/",
            "queue": "/queue",
            "experience": f"/experience/{shown}",
            "try": f"/try?{urlencode({'task': ASKED})}",
            "experiences": "/experiences",
        }
        with Browser(size=(1100, 820)) as browser:
            browser.open(f"http://{host}/?token={TOKEN}")
            for name, path in wanted.items():
                browser.open(f"http://{host}{path}")
                (folder / f"{name}.png").write_bytes(browser.screenshot())
        server.should_exit = True
        thread.join(10)


def teach(memory: ExperienceMemory) -> None:
    """A few runs that wait for somebody, some use, and questions with and without an answer."""
    for task, names in (
        ("Export the budget as a PDF", ("File", "Export", "Create PDF")),
        ("Mute the notifications of Teams", ("System", "Notifications", "Teams", "Off")),
        ("Add a comment to the selected cell", ("Review", "New Comment")),
    ):
        memory.remember(task, [{"action": "click", "control": name, "control_type": "Button"} for name in names])
    with ExperienceMemory.open(memory.store.location, embedder="hashing") as agent:
        for run in range(4):
            block = agent.build_prompt(ASKED)
            agent.report(block, success=run != 2, session=f"run {run}")
        for task in ("Rotate the scanned page", "Rotate the scanned page", "Merge the two address books"):
            agent.build_prompt(task)


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--screens", type=Path, required=True, help="folder for the pictures")
    screens(parser.parse_args().screens)


if __name__ == "__main__":
    main()
