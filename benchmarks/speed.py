"""Every figure of docs/speed.md from one run: the loop, the same of other packages, and learning many runs.

    python benchmarks/speed.py --output speed/                 about ten minutes on two idle cores
    python benchmarks/speed.py --output speed/ --quick         a look at the form: small sizes, few repeats

Writes `speed.md` with the tables, `speed.png` with what the page says in one picture, and `speed.json`. On a busy
machine all three say that they are not to be published. What is not installed is left out, and said so.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from peers import PEERS, LoopRow, installed, loop_rows, loop_table, yaml_times

from ufo_experience.benchmark.page import new_figure, table, write_files
from ufo_experience.benchmark.speed.loop import LoopReport, run_loop
from ufo_experience.benchmark.speed.machine import why_busy
from ufo_experience.benchmark.speed.many import SESSIONS, ManyReport, many_data, many_text, run_many
from ufo_experience.benchmark.speed.page import loop_text
from ufo_experience.benchmark.speed.run import parse_sizes

DIM = 384
YAML_ENTRIES = 1_000
Times = dict[int, tuple[float, float]]  # documents or records → p50 and p95 in ms


def main() -> None:
    """Measure, and write page, picture and data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-o", type=Path, required=True)
    parser.add_argument("--sizes", default="100,1k,10k,100k", help="records of the loop")
    parser.add_argument("--peer-sizes", default="1k,10k", help="documents of the other packages")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.quick:
        given.sizes, given.peer_sizes, given.repeats = "100,300", "100,300", 4
    loop = run_loop(parse_sizes(given.sizes), repeats=given.repeats, progress=_tell("sizes of the loop"))
    peers = loop_rows(installed(PEERS), parse_sizes(given.peer_sizes), [DIM])
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yaml = yaml_times(100 if given.quick else YAML_ENTRIES, Path(folder))
    count, same = (20, (10, 20)) if given.quick else (SESSIONS, (250, 500, 1_000))
    many = run_many(count, same=same, progress=_tell("runs of learning many"))
    busy = list(dict.fromkeys([*loop.disturbed, *many.disturbed, *why_busy(running=1)]))
    data = {"loop": asdict(loop), "peers": peers, "yaml": yaml, "many": many_data(many), "disturbed": busy}
    texts = {"speed.md": page(loop, peers, yaml, many, busy), "speed.json": json.dumps(data, indent=1) + "\n"}
    for path in write_files(given.output, {"speed.png": picture(loop, peers, busy)}, texts):
        print(path)


def page(loop: LoopReport, peers: list[LoopRow], yaml: dict[str, float], many: ManyReport, busy: list[str]) -> str:
    """The tables as Markdown."""
    lines = [f"# Speed\n\n{loop.machine}; {loop.date}.\n"]
    lines += [f"**Not publishable**: the machine was busy ({'; '.join(busy)}).\n"] if busy else []
    lines += ["## The loop\n", *loop_text(loop).split("\n")[2:]]
    lines += [f"\n## Other packages: one document of 3 kB with its vector ({DIM} dimensions), n = 15\n"]
    lines += loop_table(peers)
    lines += ["\nUFO's YAML list, one experience added once, ms:\n"]
    lines += table(list(yaml), [[f"{value:,.0f}" for value in yaml.values()]])
    lines += ["\n## Learning many runs\n", many_text(many), "\n![Learning one run](speed.png)\n"]
    return "\n".join(lines)


def picture(loop: LoopReport, peers: list[LoopRow], busy: list[str]) -> Any:
    """Learning one run until it is found, ours and others', by size; whiskers reach to the 95th percentile."""
    ours = {size: (times["found"].p50, times["found"].p95) for size, times in loop.times.items()}
    asked = {size: (times["prompt"].p50, times["prompt"].p95) for size, times in loop.times.items()}
    series: dict[str, Times] = {"ours: learn until another process finds it": ours, "ours: task to prompt": asked}
    for row in peers:
        series.setdefault(f"{row['engine']}: learn until found", {})[row["size"]] = row["found"]
    figure = new_figure(9, 5.5)
    plot = figure.subplots()
    for name, times in series.items():
        sizes = sorted(times)
        middle = [times[size][0] for size in sizes]
        above = [max(times[size][1] - times[size][0], 0.0) for size in sizes]
        plot.errorbar(sizes, middle, yerr=[[0.0] * len(sizes), above], marker="o", capsize=3, label=name)
        for size, value in zip(sizes, middle, strict=True):
            plot.annotate(f"{value:,.3g}", (size, value), textcoords="offset points", xytext=(5, 4), fontsize=7)
    plot.set(
        xscale="log", yscale="log", xlabel="records, or documents", ylabel="ms: median, whisker to the 95th percentile"
    )
    plot.set_title(_message(series, busy), fontsize=10)
    plot.legend(fontsize=7)
    return figure


def _message(series: dict[str, Times], busy: list[str]) -> str:
    """What the picture says, in a sentence."""
    ours = series["ours: learn until another process finds it"]
    theirs = next((times for name, times in series.items() if name.startswith("UFO's path")), {})
    both = sorted(ours.keys() & theirs.keys())
    said = "Learning one run, until it is found, by the size of the memory"
    if both:
        size = both[-1]
        mine, ufo = (f"{times[size][0]:,.3g} ms" for times in (ours, theirs))
        said = f"At {size:,} records one run is learned and found in {mine}, in UFO's way in {ufo}"
    return f"NOT PUBLISHABLE, the machine was busy. {said}" if busy else said


def _tell(what: str) -> Any:
    def tell(done: int, total: int) -> None:
        print(f"{done} of {total} {what} done", file=sys.stderr)

    return tell


if __name__ == "__main__":
    main()
