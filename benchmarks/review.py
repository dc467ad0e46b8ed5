"""The review page measured and pictured.

python benchmarks/review.py --timings                 server time of each page at 100, 1,000 and 10,000 records
python benchmarks/review.py --screens docs/review     five pages as PNG, from the bundled samples
"""

from __future__ import annotations

import argparse
import socket
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import uvicorn
from starlette.testclient import TestClient

from benchmarks.steps.browser import Browser
from ufo_experience import ExperienceMemory
from ufo_experience.cli.serve import SAMPLES
from ufo_experience.review.app import build_app
from ufo_experience.review.guard import COOKIE
from ufo_experience.settings import Settings

TOKEN = "t" * 43
VERBS = ("Insert", "Remove", "Rename", "Export", "Share", "Print", "Move", "Copy", "Open", "Close")
THINGS = ("table", "chart", "picture", "sheet", "header", "comment", "folder", "message", "meeting", "slide")
APPLICATIONS = ("Word", "Excel", "Outlook", "PowerPoint", "Settings")
PAGES = ("/", "/queue", "/experiences", "/experiences?q=insert+a+table", "/try?task=insert+a+table")


def open_memory(folder: str) -> ExperienceMemory:
    """A quiet store: looking at pages is no question of an agent."""
    return ExperienceMemory.open(settings=Settings(db=folder, embedder="hashing", summarizer="extractive", audit=False))


def runs(count: int) -> list[dict[str, object]]:
    """Synthetic runs, every one of another task."""
    return [
        {
            "task": f"{VERBS[n % 10]} the {THINGS[n // 10 % 10]} number {n} of the report",
            "application": APPLICATIONS[n % 5],
            "success": True if n % 3 else None,
            "evaluated_by": "user" if n % 3 else "none",
            "steps": [{"action": "click", "control": f"{VERBS[n % 10]} {step}"} for step in range(4)],
        }
        for n in range(count)
    ]


def timings(counts: tuple[int, ...] = (100, 1_000, 10_000)) -> None:
    """Print the median of five requests of each page, in milliseconds, after the first one."""
    print("| records | " + " | ".join(f"`{page}`" for page in PAGES) + " | first page of all |")
    print("|---|" + "---|" * (len(PAGES) + 1))
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            memory = open_memory(f"{folder}/db")
            memory.ingest(*runs(count))
            client = TestClient(build_app(memory, token=TOKEN, session=TOKEN, hosts=["testserver"]))
            client.cookies.set(COOKIE, TOKEN)
            first = timed(client, "/experiences")
            cells = [f"{median(timed(client, page) for _ in range(5)):.0f}" for page in PAGES]
            print(f"| {count:,} | " + " | ".join(cells) + f" | {first:.0f} |")


def timed(client: TestClient, page: str) -> float:
    """Milliseconds from request to answer."""
    start = time.perf_counter()
    assert client.get(page).status_code == 200
    return (time.perf_counter() - start) * 1000


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
            "try": "/try?task=Send+an+email+to+Priya+about+the+offsite+agenda",
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
            block = agent.build_prompt("Send an email to Priya about the offsite agenda")
            agent.report(block, success=run != 2, session=f"run {run}")
        for task in ("Rotate the scanned page", "Rotate the scanned page", "Merge the two address books"):
            agent.build_prompt(task)


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timings", action="store_true")
    parser.add_argument("--screens", type=Path)
    given = parser.parse_args()
    if given.timings:
        timings()
    if given.screens:
        screens(given.screens)


if __name__ == "__main__":
    main()
