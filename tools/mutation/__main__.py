"""Run mutation tests at any size: `python -m tools.mutation --sample 350 --seed 1`."""

from __future__ import annotations

import sys

from tools.mutation.command import main

if __name__ == "__main__":
    sys.exit(main())
