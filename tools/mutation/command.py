"""Mutation testing from the command line: a random sample of mutants, and the share that the tests notice."""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tools.mutation.equivalent import reason_of
from tools.mutation.mutants import Mutant, diff, mutants_of, one_of_each
from tools.mutation.rooms import ROOMS, modules_of, tests_of
from tools.mutation.runner import PACKAGE, SURVIVED, Runner

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run a sample; exit code 1 when less than `--at-least` of it is noticed."""
    options = _parse(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        runner = Runner(ROOT, Path(place))
        try:
            report = _campaign(runner, options)
        finally:
            runner.close()
    sys.stdout.write(json.dumps(report, indent=1) + "\n" if options.json else _text(report))
    return 0 if report["killed_share"] >= options.at_least else 1


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("--room", action="append", choices=sorted(ROOMS), help="only this room; may be repeated")
    parser.add_argument("--module", action="append", help="only this module, as store/files.py; may be repeated")
    parser.add_argument("--sample", type=int, default=350, metavar="N", help="mutants drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--thorough", action="store_true", help="try all tests before a mutant is said to survive")
    parser.add_argument("--at-least", type=float, default=0.85, metavar="SHARE")
    parser.add_argument("--folder", default=None, help="folder to work in")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)


def _campaign(runner: Runner, options: argparse.Namespace) -> dict[str, object]:
    package = runner.package
    names = [path.relative_to(package).as_posix() for path in package.rglob("*.py")]
    chosen = [one for one in modules_of(options.room or sorted(ROOMS), names) if one in (options.module or [one])]
    rng = random.Random(options.seed)
    population = one_of_each([mutant for module in chosen for mutant in mutants_of(package, module)], rng)
    drawn = rng.sample(population, min(options.sample or len(population), len(population)))
    for tests in sorted({tests_of(mutant.module) for mutant in drawn}):
        _note(f"{runner.baseline(tests):6.1f} s unchanged: {' '.join(tests)}")
    began, verdicts = time.monotonic(), {}
    for number, mutant in enumerate(sorted(drawn), 1):
        verdicts[mutant] = runner.verdict(mutant, tests_of(mutant.module), thorough=options.thorough)
        _note(f"{number}/{len(drawn)} {time.monotonic() - began:6.0f} s {verdicts[mutant]:8} {mutant}")
        if verdicts[mutant] == SURVIVED:
            _note(diff(package, mutant))
    return _report(package, population, verdicts, options.seed)


def _report(package: Path, population: list[Mutant], verdicts: dict[Mutant, str], seed: int) -> dict[str, object]:
    alive = [mutant for mutant, verdict in verdicts.items() if verdict == SURVIVED]
    equivalent = {mutant: reason for mutant in alive if (reason := reason_of(package, mutant))}
    counted = len(verdicts) - len(equivalent)
    killed = len(verdicts) - len(alive)
    by_room = {
        room: f"{sum(verdicts[one] != SURVIVED for one in mine)}/{len(mine)}"
        for room in ROOMS
        if (
            mine := [
                one for one in verdicts if one not in equivalent and one.module in modules_of([room], [one.module])
            ]
        )
    }
    return {
        "code": PACKAGE,
        "seed": seed,
        "mutants": len(population),
        "tried": len(verdicts),
        "verdicts": dict(Counter(verdicts.values())),
        "killed_share": round(killed / counted, 4) if counted else 1.0,
        "killed_share_95": _wilson(killed, counted),
        "killed_share_equivalents_counted_as_alive": round(killed / len(verdicts), 4) if verdicts else 1.0,
        "by_room": by_room,
        "equivalent": {str(mutant): reason for mutant, reason in equivalent.items()},
        "survived": {str(mutant): diff(package, mutant) for mutant in alive if mutant not in equivalent},
    }


def _wilson(good: int, of: int) -> list[float]:
    """The 95 % interval of a share."""
    if not of:
        return [0.0, 1.0]
    z, share = 1.96, good / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return [round(middle - half, 4), round(middle + half, 4)]


def _text(report: dict[str, object]) -> str:
    survived = report.pop("survived")
    lines = [f"{name}: {value}" for name, value in report.items()]
    lines += [f"\n{name}\n{change}" for name, change in survived.items()] if isinstance(survived, dict) else []
    return "\n".join(lines) + "\n"


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
