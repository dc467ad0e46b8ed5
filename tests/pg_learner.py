"""A learner for the tests of the PostgreSQL store: learns runs one by one and prints the id of each that is stored.

Arguments: URL, first number, how many.
"""

from __future__ import annotations

import sys

from ufo_experience import ExperienceMemory
from ufo_experience.errors import ExperienceError

url, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
steps = [{"action": "click", "control": name, "control_type": "Button"} for name in ("Files", "Open")]
try:
    with ExperienceMemory.open(url, embedder="hashing") as memory:
        for number in range(first, first + count):
            print(memory.remember(f"Open file number {number}", steps, True, session=str(number)).id, flush=True)
except ExperienceError as error:
    sys.exit(error.exit_code)
