"""A writer process for the tests of the PostgreSQL store: adds records one by one and prints each id it was told is in.

Arguments: URL, first number, how many.
"""

from __future__ import annotations

import sys

from tests.builders import a_record
from ufo_experience.store import open_store

url, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = open_store(url)
for number in range(first, first + count):
    for id in store.add([a_record(number)]).added:
        print(id, flush=True)
