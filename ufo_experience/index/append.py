"""Records that were learned just now go behind the tail of the index, which is not opened for that.

Who learns one run and ends needs neither the columns nor the vectors of the others. Only what is known of its own last
commit is written: the rows of those records, and nothing of folders. Whoever comes next finds these folders changed,
lists them, as after any commit, and knows the records by their rows. So that there are not too many of them, somebody
looks at all that changed (`build.sync`) when there are more than `MOST_UNSEEN` for which that would settle it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ufo_experience.embed.base import Embedder
from ufo_experience.errors import CorruptError
from ufo_experience.index.build import check_embedder, check_origin, is_outdated
from ufo_experience.index.catalog import Catalog, Entry
from ufo_experience.index.engines.faiss import FaissIndex
from ufo_experience.index.generations import Generations
from ufo_experience.index.snapshot import insert, settled_since
from ufo_experience.index.tail import MOST_UNSEEN, Frame, end_of
from ufo_experience.store.base import ExperienceStore, TellsChanges


def append(store: ExperienceStore, generations: Generations, embedder: Embedder, entries: Sequence[Entry]) -> bool:
    """Put what the last commit through this store object added behind the tail of the current generation.

    False, and nothing is written, where that takes more: there is no such tail, the vectors are on a server, another
    generation is due, or somebody committed since.

    Raises:
        IndexMismatchError, FormatVersionError, ServiceError: as `build.sync`.
        LockedError, StorageError: as `Generations.append_tail`.
    """
    if not 0 < len(entries) <= MOST_UNSEEN or not isinstance(store, TellsChanges):
        return False
    try:
        generation = generations.published()
    except CorruptError:
        return False
    if generation is None or not generations.keeps_tails:
        return False
    manifest = generation.manifest
    if not manifest.engine == generations.engine == Generations.DEFAULT_ENGINE:  # a server has to be told
        return False
    check_origin(manifest, store)
    if is_outdated(manifest):
        return False
    check_embedder(manifest, embedder)
    position = end_of(generations.read_tail(manifest.generation), manifest.generation, manifest.mtimes)
    due = generations.should_publish(position.rows + len(entries), manifest.records + position.rows)
    if due or position.unseen + len(entries) + len(settled_since(position.mtimes)) > MOST_UNSEEN:
        return False
    index = FaissIndex(manifest.dim)
    insert(index, entries, embedder)
    catalog = Catalog.of(entries)
    frame = Frame(catalog, *index.vectors_of(catalog.ids()))
    written = store.last_revision
    return generations.append_tail(frame, position, lambda: store.revision() == written) is not None
