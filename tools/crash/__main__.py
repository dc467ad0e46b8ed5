"""Run the campaigns at any size: `python -m tools.crash --kills 10000 --seed 1 --json`."""

from __future__ import annotations

import sys

from tools.crash.command import main

if __name__ == "__main__":
    sys.exit(main())
