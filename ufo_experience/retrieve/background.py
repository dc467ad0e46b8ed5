"""The quality of an embedder, and the background of a query: cosines with tasks it has nothing to do with.

One model puts unrelated tasks at 0.1, another at 0.8, and some tell nothing apart at all. So an embedder is asked
once for the vectors of reference tasks, each in two wordings. How far the two wordings of a task stand out from the
rest, in standard deviations, decides the weight of its vectors; how near they are to each other is where its scale
has another wording of a task, so that "as near as a rewording" is one number for all embedders. The background of a
query are its cosines with a sample of the store's own tasks and with the references; the nearest tenth is left out:
some may be related.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SAMPLE = 64  # tasks of the store in a background
_KEPT = 0.9
_LEAST_SPREAD = 1e-3  # below, a model tells nothing apart
_USELESS, _FULL = 2.5, 6.0  # deviations between two wordings: up to the first vectors weigh 0, from the second on 1
# Near and deviations of another wording, in the median of the references, on the scale of every embedder.
_REWORDED = 0.581, 10.14
_DEAF, _KNOWS = 0.1, 0.25  # correlation of cosines with shared words in a store: up to the first vectors weigh 0
_LEAST_TASKS, _LEAST_PAIRS = 24, 10  # in all, and that share a word, before this says anything
_LEAST_REWORDED = 0.05, 1.0  # where an embedder puts another wording at less, no scale mends it
PAIRS = (
    ("send an email to a colleague", "write a mail to a coworker"),
    ("insert a table into the document", "add a grid of cells to the text"),
    ("turn on bluetooth", "activate the bluetooth radio"),
    ("sort the rows of the sheet by date", "arrange the spreadsheet lines chronologically"),
    ("delete the last slide", "remove the final page of the presentation"),
    ("rename a folder on the desktop", "give a directory another name"),
    ("schedule a meeting for next week", "set up an appointment in the coming week"),
    ("change the desktop background", "choose another wallpaper"),
    ("export the report as a pdf", "save the report in pdf format"),
    ("search the web for a restaurant", "look for a place to eat online"),
    ("set an alarm for the morning", "wake me up early with an alarm"),
    ("play the next song", "skip to the following track"),
    ("connect to a wireless network", "join a wifi hotspot"),
    ("crop the picture to a square", "cut the image so that all sides are equal"),
    ("book a flight for two people", "reserve plane tickets for two travellers"),
    ("add a product to the shopping cart", "put an article into the basket"),
    ("create a chart of the monthly sales", "draw a graph of revenue by month"),
    ("mute the microphone in the call", "silence my mic during the conversation"),
    ("back up the photos of the phone", "make a safety copy of my pictures"),
    ("run the unit tests of the project", "execute the test suite of the code"),
    ("change the password of the account", "set a new login secret for my profile"),
    ("zoom in on the map", "magnify the map view"),
    ("compress a folder into an archive", "pack a directory into a zip file"),
    ("check the weather for tomorrow", "see the forecast of the next day"),
)
REFERENCES = tuple(text for pair in PAIRS for text in pair)


@dataclass(frozen=True)
class EmbedderQuality:
    """An embedder's vectors of `REFERENCES`, and the weight its vectors get by them, from 0 (none) to 1 (full).

    `reworded` is how near another wording of a task is to it, and how many deviations above the background (medians).
    """

    references: NDArray[np.float32]
    weight: float
    reworded: tuple[float, float]


def measure_embedder(references: NDArray[np.float32]) -> EmbedderQuality:
    """The quality of the embedder that gave these vectors of `REFERENCES`, one row a text."""
    cosine = (references @ references.T).astype(np.float64)
    task = np.repeat(np.arange(len(PAIRS)), 2)
    other = task[:, None] != task[None, :]
    return EmbedderQuality(references, _weight(cosine, cosine[other]), _reworded(cosine, other))


def _weight(cosine: Floats, others: Floats) -> float:
    if others.std() < _LEAST_SPREAD:
        return 0.0
    deviations = float(np.median(cosine[0::2, 1::2].diagonal()) - others.mean()) / float(others.std())
    return float(np.clip((deviations - _USELESS) / (_FULL - _USELESS), 0.0, 1.0))


def _reworded(cosine: Floats, other: NDArray[np.bool_]) -> tuple[float, float]:
    place = np.arange(len(cosine))
    same, others = cosine[place, place ^ 1], np.sort(cosine[other].reshape(len(cosine), -1), axis=1)
    kept = others[:, : int(others.shape[1] * _KEPT)]
    mean, spread = kept.mean(axis=1), kept.std(axis=1)
    near = np.clip((same - mean) / np.maximum(1 - mean, _LEAST_SPREAD), 0.0, 1.0)
    return float(np.median(near)), float(np.median((same - mean) / np.maximum(spread, _LEAST_SPREAD)))


def heard_in_store(vectors: NDArray[np.float32], texts: Sequence[str]) -> float:
    """How far an embedder is to be heard by its vectors of a store's tasks, from 0 to 1: where tasks that share more
    words are no nearer to each other, it does not know the language or the matter of this store.

    With few tasks, or few that share words, there is nothing to go by: 1.
    """
    if len(texts) < _LEAST_TASKS:
        return 1.0
    words = [frozenset(word for word in text.lower().split() if word.isalpha()) for text in texts]
    rarity = {word: 1 / count for word, count in Counter(word for some in words for word in some).items()}
    known = np.array([[rarity.get(word, 0.0) * (word in some) for word in rarity] for some in words], np.float64)
    shared = np.sqrt(known) @ np.sqrt(known).T
    pairs = np.triu_indices(len(words), 1)
    total = known.sum(axis=1)
    overlap = (shared / np.maximum(total[:, None] + total - shared, _LEAST_SPREAD))[pairs]
    cosine = (vectors @ vectors.T).astype(np.float64)[pairs]
    different = cosine < 1 - _LEAST_SPREAD
    if np.count_nonzero(overlap[different]) < _LEAST_PAIRS or cosine[different].std() < _LEAST_SPREAD:
        return 1.0
    agreement = np.corrcoef(overlap[different], cosine[different])[0, 1] + 2 / np.sqrt(np.count_nonzero(different))
    return float(np.clip((agreement - _DEAF) / (_KNOWS - _DEAF), 0.0, 1.0))


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of a query's background, and where on it another wording of the query is expected."""

    mean: float
    spread: float
    reworded: tuple[float, float] = _REWORDED

    def near(self, cosine: Floats) -> Floats:
        """0 for what is no nearer than the background, 0.58 for another wording, 1 for the query itself; NaN stays."""
        if self.mean >= 1 - _LEAST_SPREAD:
            return np.where(np.isnan(cosine), np.nan, 0.0)
        near = np.clip((cosine - self.mean) / (1 - self.mean), 0.0, 1.0)
        expected = float(np.clip(self.reworded[0], _LEAST_REWORDED[0], 1 - _LEAST_REWORDED[0]))
        return np.asarray(np.interp(near, [0.0, expected, 1.0], [0.0, _REWORDED[0], 1.0]), np.float64)

    def deviations(self, cosine: Floats) -> Floats:
        """How many standard deviations above the background, in units in which another wording is 10.1 above it."""
        deviations = (cosine - self.mean) / max(self.spread, _LEAST_SPREAD)
        return np.asarray(deviations * _REWORDED[1] / max(self.reworded[1], _LEAST_REWORDED[1]), np.float64)


def measure_scale(cosines: Floats, reworded: tuple[float, float] = _REWORDED) -> Scale:
    """The scale of a query from its cosines with tasks of the background; without any, one on which nothing is near."""
    known = np.sort(cosines[~np.isnan(cosines)])
    kept = known[: max(int(len(known) * _KEPT), 2)]
    if not len(kept):
        return Scale(1.0, 1.0)
    return Scale(float(kept.mean()), float(kept.std()), reworded)
