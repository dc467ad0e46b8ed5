"""Run mutation tests at any size: `python -m tests.mutation --sample 350 --seed 1`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

if __name__ == "__main__":
    from mutation.command import main

    sys.exit(main())
