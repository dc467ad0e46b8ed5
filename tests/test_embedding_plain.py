"""Any object that gives vectors is an embedder; a small static model without torch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import TEXTS, a_record_of
from ufo_experience.embedding import open_embedder
from ufo_experience.embedding.hashing import HashingEmbedder
from ufo_experience.embedding.plain import as_embedder
from ufo_experience.errors import ServiceError, UsageError
from ufo_experience.memory import ExperienceMemory


class Lists:
    """The least an embedder has to be."""

    name = "lists"

    def __init__(self, values: object = None) -> None:
        self.values = values

    def embed(self, texts: list[str]) -> object:
        return [[float(len(text)), 1.0, 2.0] for text in texts] if self.values is None else self.values


def test_a_whole_embedder_is_taken_as_it_is():
    embedder = HashingEmbedder()
    assert as_embedder(embedder) is embedder


def test_an_object_with_a_name_and_vectors_becomes_an_embedder():
    embedder = as_embedder(Lists())
    vectors = embedder.embed(["a", "bcd"])
    assert (embedder.name, embedder.dim, vectors.dtype) == ("lists", 3, np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 1.0])


def test_an_object_without_a_name_is_refused():
    with pytest.raises(UsageError, match="name"):
        as_embedder(object())


@pytest.mark.parametrize("values", [[[1.0]], [[0.0], [1.0]], [[float("nan")], [1.0]], "words"])
def test_what_are_no_unit_vectors_is_refused(values):
    with pytest.raises(ServiceError, match="lists gave"):
        as_embedder(Lists(values)).embed(["a", "b"])


def test_a_memory_opens_with_any_object_that_gives_vectors(tmp_path):
    memory = ExperienceMemory.open(tmp_path / "db", embedder=Lists())
    memory.store.add([a_record_of(text) for text in TEXTS])
    memory.index()
    found = memory.retrieve(TEXTS[0])
    assert (found.embedder, found[0].experience.state.request) == ("lists", TEXTS[0])


def test_a_static_model_of_a_folder_embeds_without_torch(tmp_path):
    """Made here, of three words; what it does not know has one vector."""
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.models.WordLevel({"mail": 0, "chart": 1, "[UNK]": 2}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], np.float32)
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(str(tmp_path / "tiny"))
    embedder = open_embedder(f"model2vec:{tmp_path / 'tiny'}")
    mail, chart, unknown = embedder.embed(["mail mail", "chart", "zebra"])
    assert (embedder.dim, mail @ chart) == (2, pytest.approx(0.0))
    assert mail @ embedder.embed(["mail"])[0] == pytest.approx(1.0)
    assert np.linalg.norm(unknown) == pytest.approx(1.0)
