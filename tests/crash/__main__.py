"""Run the campaigns at any size: `python -m tests.crash --kills 10000 --seed 1 --json`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

if __name__ == "__main__":
    from crash.command import main

    sys.exit(main())
