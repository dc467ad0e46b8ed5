"""Campaigns from the command line; without options a small one of each."""

from __future__ import annotations

import argparse
import json
import logging
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from tools.crash import cache_power, calls, flips, kills, power, writers
from tools.crash.operations import OPERATIONS, Bench

Figures = dict[str, object]
CACHE_STATES = 5  # of the embedding cache for each state of an operation


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; exit code 1 if a promise was broken."""
    options = _parse(arguments)
    logging.disable(logging.WARNING)
    campaigns: list[tuple[str, object, Callable[[argparse.Namespace, Path], Figures]]] = [
        ("kills", options.kills, _kills),
        ("calls", options.calls, _calls),
        ("power", options.power, _power),
        ("flips", options.flips, _flips),
        ("writers", options.writers, _writers),
    ]
    report: Figures = {"machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"}
    for name, size, run in campaigns:
        if size:
            with tempfile.TemporaryDirectory(dir=options.folder) as place:
                began = time.monotonic()
                figures = run(options, Path(place))
                report[name] = {**figures, "seconds": round(time.monotonic() - began, 1)}
            if not options.json:
                _note(f"{name}: {json.dumps(report[name])}")
    if options.json:
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
    return 1 if any(isinstance(part, dict) and part.get("faults") for part in report.values()) else 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="kill a working process N times")
    parser.add_argument("--records", type=int, default=0, metavar="N", help="records each killed store begins with")
    parser.add_argument("--calls", action="store_true", help="end and fail at every call of every operation")
    parser.add_argument(
        "--power", type=int, default=0, metavar="N", help="N states after a power failure, per operation"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=OPERATIONS,
        default=list(OPERATIONS),
        metavar="OPERATION",
        help="operations of --calls and --power, all of them if none is named",
    )
    parser.add_argument("--flips", type=int, default=0, metavar="N", help="N changed bytes or cuts; -1: every one")
    parser.add_argument("--writers", type=int, default=0, metavar="N", help="N processes writing at once")
    parser.add_argument("--adds", type=int, default=200, metavar="N", help="records each of them adds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-baseline", action="store_true", help="leave out UFO's way of saving")
    parser.add_argument("--folder", default=None, help="folder to work in")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if not any((options.kills, options.calls, options.power, options.flips, options.writers)):
        options.kills, options.power, options.flips, options.writers, options.adds = 20, 50, 200, 8, 25
    return options


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")


def _kills(options: argparse.Namespace, place: Path) -> Figures:
    ours = kills.campaign(options.kills, options.seed, records=options.records, place=place, note=_note)
    figures: Figures = {"ours": ours.as_dict(), "faults": [ours.first_fault] if ours.first_fault else []}
    if not options.no_baseline:
        figures["baseline"] = kills.baseline(options.kills, options.seed, place=place).as_dict()
    return figures


def _calls(options: argparse.Namespace, place: Path) -> Figures:
    figures: Figures = {}
    faults: list[str] = []
    for name in options.only:
        bench = Bench(name, place / name)
        deaths, wrong = calls.die_everywhere(bench)
        failures, more = calls.fail_everywhere(bench)
        figures[name] = {"calls": calls.count(bench).calls, "deaths": deaths, "failures": failures}
        faults += wrong + more
        _note(f"{name}: {figures[name]}, faults: {(wrong + more)[:3]}")
    return {**figures, "faults": faults}


def _power(options: argparse.Namespace, place: Path) -> Figures:
    faults: list[str] = []
    for name in options.only:
        faults += power.lose_power(Bench(name, place / name), options.power, options.seed, place)
        _note(f"{name}: {options.power} states, {len(faults)} faults so far")
    cache = cache_power.campaign(options.power * CACHE_STATES, options.seed, place=place / "cache")
    faults += cache.faults
    figures: Figures = {"states": options.power * len(options.only), "cache": cache.as_dict(), "faults": faults}
    if not options.no_baseline:
        lost, unreadable, mismatched = power.lose_power_baseline(options.power, options.seed, place)
        baseline = {"states": options.power, "lost": lost, "unreadable": unreadable, "mismatched": mismatched}
        figures["baseline"] = baseline
    return figures


def _flips(options: argparse.Namespace, place: Path) -> Figures:
    sample = None if options.flips < 0 else options.flips
    return asdict(flips.damage_all(place, sample=sample, seed=options.seed))


def _writers(options: argparse.Namespace, place: Path) -> Figures:
    ours = writers.crowd(options.writers, options.adds, place, seed=options.seed)
    broken = {
        name: value for name, value in ours.as_dict().items() if name in ("lost", "corrupt", "torn_reads") and value
    }
    figures: Figures = {"ours": ours.as_dict(), "faults": [broken] if broken else []}
    if not options.no_baseline:
        (place / "model").mkdir()
        added, lost, errors = writers.crowd_as_ufo(options.writers, min(options.adds, 25), place / "model")
        figures["baseline"] = {"acknowledged": added, "lost": lost, "errors": errors}
    return figures
