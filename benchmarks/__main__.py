"""`python -m benchmarks NAME …`: run one benchmark; `python -m benchmarks NAME --help` tells its options."""

from __future__ import annotations

import sys
from importlib import import_module

from ufo_experience.errors import ExperienceError

BENCHMARKS = {
    "retrieval": "benchmarks.retrieval.command",
    "steps": "benchmarks.steps.command",
    "run": "benchmarks.run",
    "speed": "benchmarks.speed",
    "fleet": "benchmarks.fleet",
    "play": "benchmarks.play",
    "procedures": "benchmarks.procedures",
    "recorded": "benchmarks.recorded",
}


def main(arguments: list[str]) -> int:
    """Run the benchmark that the first argument names; returns the exit code."""
    if not arguments or arguments[0] not in BENCHMARKS:
        print(f"usage: python -m benchmarks {{{','.join(BENCHMARKS)}}} …", file=sys.stderr)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    try:
        import_module(BENCHMARKS[arguments[0]]).main(arguments[1:])
    except ExperienceError as error:
        print(f"{error.code}: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
