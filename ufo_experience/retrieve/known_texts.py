"""What is worked out of the texts of a catalog's rows, kept for the next question: it depends on the record alone.

Rows that read alike share it. It is bounded by the characters of the texts, and goes with the generation the rows came
with: a purge publishes another one.
"""

from __future__ import annotations

from ufo_experience.index.catalog import Catalog
from ufo_experience.index.document import WORDING
from ufo_experience.retrieve.contradictions import Marks, marks_of
from ufo_experience.retrieve.features import RECORD_VALUE_WEIGHT, Weighed, WordWeights
from ufo_experience.text.frames import Frame, read_frame

MAX_CHARS = 930_000  # of texts and frames of which something is kept; about 45 bytes are kept for each
Parts = tuple[str, str, str, str, str]  # text, what was clicked, frame, text without values, other wordings


class KnownText:
    """The text of some rows: what it is found by, and what the catalog knows of it."""

    __slots__ = ("_frame", "_marks", "_weighed", "parts")

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._frame: Frame | None = None
        self._marks: Marks | None = None
        self._weighed: tuple[Weighed, ...] = ()

    @property
    def text(self) -> str:
        """What it is found by."""
        return self.parts[0]

    @property
    def masked(self) -> str:
        """The same without its values."""
        return self.parts[3]

    @property
    def frame(self) -> Frame:
        """The frame of the record."""
        if self._frame is None:
            _, clicked, frame, *_ = self.parts
            self._frame = read_frame(frame, clicked)
        return self._frame

    @property
    def marks(self) -> Marks:
        """What tells whether a request contradicts the record's."""
        if self._marks is None:
            self._marks = marks_of(self.parts[0])
        return self._marks

    def is_weighed(self, weights: WordWeights) -> bool:
        """True when nothing is left to be worked out for these weights."""
        return bool(self._weighed) and self._weighed[0].weights is weights

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frame of the record, and those of its other wordings."""
        _, clicked, _, _, wordings = self.parts
        return (self.frame, *(read_frame(one, clicked) for one in wordings.split(WORDING) if one))

    def weighed(self, weights: WordWeights) -> tuple[Weighed, ...]:
        """The frames with what their words weigh; kept for as long as the weights are the same object."""
        if not self.is_weighed(weights):
            self._weighed = tuple(Weighed(frame, weights, RECORD_VALUE_WEIGHT) for frame in self.frames)
        return self._weighed


class KnownTexts:
    """The texts of the rows of one catalog. Safe to use from many threads: at worst a text is read twice."""

    def __init__(self, catalog: Catalog, before: KnownTexts | None = None) -> None:
        """What was read of an earlier catalog of the same generation is taken from `before`: its rows keep their
        numbers, those that came later need not.
        """
        self._catalog, self._published = catalog, catalog.published
        same = before is not None and before._catalog.terms[0] is catalog.terms[0]
        self._kept: _Kept = before._kept if before and same else _Kept()
        self._added: dict[int, KnownText] = {}

    def __getitem__(self, row: int) -> KnownText:
        """What is known of the text of a row."""
        rows = self._kept.of_row if row < self._published else self._added
        found = rows.get(row)
        if found is None:
            found = rows[row] = self._kept.read(self._catalog.parts(row))
        return found


class _Kept:
    """The texts that are kept, by the number of a published row and by themselves."""

    def __init__(self) -> None:
        self.of_row: dict[int, KnownText] = {}
        self._of_parts: dict[Parts, KnownText] = {}
        self._chars = 0

    def read(self, parts: Parts) -> KnownText:
        """What is known of these texts; everything is forgotten first where too much is kept."""
        if self._chars > MAX_CHARS:
            self.of_row.clear()
            self._of_parts, self._chars = {}, 0
        found = self._of_parts.get(parts)
        if found is None:
            found = self._of_parts[parts] = KnownText(parts)
            self._chars += len(parts[0]) + len(parts[2]) + len(parts[4])
        return found
