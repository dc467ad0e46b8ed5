"""Any object that gives vectors is an embedder; a small static model without torch."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from tests.builders import TEXTS, a_record_of
from ufo_experience.embed import open_embedder
from ufo_experience.embed.hashing import HashingEmbedder
from ufo_experience.embed.local import StaticEmbedder
from ufo_experience.embed.plain import as_embedder
from ufo_experience.errors import MissingExtraError, ServiceError, UsageError
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


def tiny_onnx(folder):
    """A model in the layout of sentence-transformers: three words, the mean of their vectors."""
    onnx = pytest.importorskip("onnx")
    tokenizers = pytest.importorskip("tokenizers")
    from onnx import TensorProto, helper, numpy_helper

    folder.mkdir()
    words = tokenizers.models.WordLevel({"mail": 0, "chart": 1, "[UNK]": 2, "[PAD]": 3}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    vectors = np.array([[1, 0], [0, 1], [0.7, 0.7], [0, 0]], np.float32)
    ids, mask, out = (
        helper.make_tensor_value_info(name, kind, ["texts", "words", *more])
        for name, kind, more in (
            ("input_ids", TensorProto.INT64, []),
            ("attention_mask", TensorProto.INT64, []),
            ("last_hidden_state", TensorProto.FLOAT, [2]),
        )
    )
    node = helper.make_node("Gather", ["vectors", "input_ids"], ["last_hidden_state"])
    graph = helper.make_graph([node], "tiny", [ids, mask], [out], [numpy_helper.from_array(vectors, "vectors")])
    onnx.save(
        helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]), folder / "model.onnx"
    )
    config = {"hidden_size": 2, "pad_token_id": 3}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokens = {"model_max_length": 16, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens), encoding="utf-8")
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]"}), encoding="utf-8")


def test_fastembed_embeds_with_the_model_of_a_folder(tmp_path):
    """Made here; loaded and run by the real package."""
    pytest.importorskip("fastembed")
    tiny_onnx(tmp_path / "tiny")
    embedder = open_embedder(f"fastembed:{tmp_path / 'tiny'}")
    mail, both = embedder.embed(["mail mail", "mail chart"])
    assert (embedder.dim, mail.tolist()) == (2, pytest.approx([1.0, 0.0]))
    assert both.tolist() == pytest.approx([0.5**0.5, 0.5**0.5])
    assert embedder.embed(["chart"], "query")[0] @ mail == pytest.approx(0.0)


class _AnyModel(StaticEmbedder):
    """A model whose package is always there; none is ever loaded."""

    package = "numpy"


def test_the_folder_of_a_model_is_kept_as_it_is_found_from_anywhere(tmp_path, monkeypatch):
    """Else every process in another folder would ask the model hub for that name. Gone, it is asked for by nobody."""
    monkeypatch.chdir(tmp_path)
    Path("tiny").mkdir()
    embedder = _AnyModel("tiny")
    assert (embedder.name, _AnyModel("maker/model").name) == (f"model2vec:{tmp_path / 'tiny'}", "model2vec:maker/model")
    Path("tiny").rmdir()
    with pytest.raises(ServiceError, match="no such folder"):
        embedder.embed(["mail"])


def test_a_model_that_is_gone_lets_words_answer(tmp_path):
    """Records that were learned with it, and those learned since."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    embedder = _AnyModel(str(folder))
    folder.rmdir()
    with ExperienceMemory.open(tmp_path / "db", embedder=embedder) as memory:
        memory.remember("Send the report", [{"action": "click", "control": "Send"}], True)
        found = memory.retrieve("Send the report")
    assert (len(found), "no such folder" in (found.degraded or "")) == (1, True)


def test_a_folder_without_a_model_is_named(tmp_path):
    """And so is the extra, where it is not installed."""
    if importlib.util.find_spec("fastembed") is None:
        with pytest.raises(MissingExtraError, match="fastembed"):
            open_embedder(f"fastembed:{tmp_path}")
        return
    with pytest.raises(ServiceError, match=r"no model\.onnx"):
        open_embedder(f"fastembed:{tmp_path}").embed(["mail"])
