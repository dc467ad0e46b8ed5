"""Processor time of learning many runs: `python benchmarks/learning.py [--sessions 500] [--jobs 1]`.

The sessions are copies of the samples (logs of UFO v3), each with a request of its own; they are read, redacted,
summarized, stored and indexed in an empty store, with nothing but this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from ufo_experience import ExperienceMemory, Settings
from ufo_experience.cli.demo import SAMPLES

ABOUT = (
    "budget roadmap survey harvest ledger voyage garden orbit bridge winter copper signal market forest engine".split()
)


def make_sessions(folder: Path, count: int) -> None:
    """Write `count` session folders below `folder`."""
    samples = sorted(path for path in SAMPLES.iterdir() if path.is_dir())
    for number in range(count):
        sample, target = samples[number % len(samples)], folder / f"run_{number:05d}"
        first = json.loads((sample / "response.log").read_text(encoding="utf-8").splitlines()[0])
        request = first["request"].rstrip(".")
        topic = f"{ABOUT[number % len(ABOUT)]} {ABOUT[number // len(ABOUT) % len(ABOUT)]}"
        target.mkdir(parents=True)
        for log in sample.iterdir():
            text = log.read_text(encoding="utf-8")
            (target / log.name).write_text(text.replace(request, f"{request} for the {topic}"), encoding="utf-8")


def seconds_of_processor() -> float:
    """Those of this process and of the ones it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    """Make the sessions, learn from them, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_sessions(Path(folder) / "logs", arguments.sessions)
        settings = Settings(db=str(Path(folder) / "db"), embedder="hashing", summarizer="extractive")
        more = {"jobs": arguments.jobs} if arguments.jobs > 1 else {}
        with ExperienceMemory.open(settings=settings) as memory:
            begun = seconds_of_processor()
            report = memory.ingest(Path(folder) / "logs", include_failures=True, **more)
            taken = seconds_of_processor() - begun
        rate = arguments.sessions / taken
        print(
            f"{arguments.sessions} sessions, {len(report.added)} records: {taken:.1f} s of processor time, {rate:.0f}/s"
        )


if __name__ == "__main__":
    main()
