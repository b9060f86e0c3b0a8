"""New words: one token each, an embedding of the mean of their old pieces."""

import keras
import numpy as np
import pytest
import torch
import transformers

import kerasbert
from kerasbert import Encoder, EncoderConfig, MaskedLM, TextClassifier, Tokenizer, tuning
from kerasbert.text import TextClassifierPreprocessor
from tests.tuning.tuned_models import STILL, logits_of, numpy, values_of

TEXTS = ["wake me at seven", "play some jazz", "an alarm for noon", "put on a song that I like"]
NEW = "a marathon at noon"


@pytest.fixture
def preprocessor():
    tokenizer = Tokenizer.train(TEXTS, vocabulary_size=60)
    return TextClassifierPreprocessor(tokenizer, sequence_length=32, buckets=(16,))


def build(preprocessor, cls=TextClassifier, spare=0, **changes):
    size = preprocessor.tokenizer.vocabulary_size()
    config = EncoderConfig(
        vocabulary_size=size + spare,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=12,
        max_sequence_length=32,
        initializer_range=0.3,
        **{**STILL, **changes},
    )
    arguments = {"labels": ["alarm", "music"]} if cls is TextClassifier else {}
    model = cls(Encoder(config), preprocessor=preprocessor, **arguments)
    draw = np.random.default_rng(0)
    for variable in model.weights:
        variable.assign(draw.normal(0, 0.3, variable.shape))
    return model


def means(values, rows):
    return np.mean(values[rows], axis=0)


def test_a_new_row_is_the_mean_of_the_pieces_rows(preprocessor):
    model = build(preprocessor)
    tokenizer = preprocessor.tokenizer
    pieces = {word: tokenizer.tokenize(word) for word in ("marathon", "jazzy")}
    assert all(len(ids) > 1 for ids in pieces.values())
    size, before = tokenizer.vocabulary_size(), values_of(model)
    logits = logits_of(model, preprocessor(TEXTS))
    assert tuning.extend_vocabulary(model, ["marathon", "a", "jazzy", "marathon"]) is model

    assert tokenizer.encode(NEW).tokens[2] == "marathon"
    assert tokenizer.token_to_id("jazzy") == size + 1  # "a" was known
    assert model.backbone.config.vocabulary_size == tokenizer.vocabulary_size() == size + 2
    after = values_of(model)
    assert after.keys() == before.keys()
    table = "embeddings/token/embeddings"
    np.testing.assert_array_equal(after[table][:size], before[table])
    for place, word in enumerate(("marathon", "jazzy")):
        expected = means(before[table], pieces[word])
        np.testing.assert_allclose(after[table][size + place], expected, atol=1e-6)
    assert all(np.array_equal(after[path], before[path]) for path in before if path != table)
    np.testing.assert_array_equal(logits_of(model, preprocessor(TEXTS)), logits)
    assert np.isfinite(model.predict([NEW], verbose=0)).all()


def test_the_new_rows_are_trained(preprocessor):
    model = build(preprocessor)
    model.compile(optimizer=keras.optimizers.SGD(0.5))
    model.fit(TEXTS, ["alarm", "music"] * 2, verbose=0)  # the optimizer knows the old table
    tuning.extend_vocabulary(model, ["marathon"])
    assert isinstance(model.optimizer, keras.optimizers.SGD)
    before = numpy(model.backbone.token_embedding.embeddings)
    model.fit([NEW, "play"], ["alarm", "music"], verbose=0)
    after = numpy(model.backbone.token_embedding.embeddings)
    assert np.abs(after[-1] - before[-1]).max() > 0


def test_a_masked_language_model_can_predict_the_words(preprocessor):
    model = build(preprocessor, MaskedLM)
    pieces = preprocessor.tokenizer.tokenize("marathon")
    batch = preprocessor(TEXTS)
    before, logits = values_of(model), logits_of(model, batch)
    tuning.extend_vocabulary(model, ["marathon"])
    bias = numpy(model.head.bias)
    np.testing.assert_array_equal(bias[:-1], before["head/bias"])
    np.testing.assert_allclose(bias[-1], means(before["head/bias"], pieces), atol=1e-6)
    after = logits_of(model, batch)
    np.testing.assert_allclose(after[..., :-1], logits, atol=1e-5)
    # All that makes a logit is linear in the row and the bias: so the new one is the mean too.
    np.testing.assert_allclose(after[..., -1], logits[..., pieces].mean(-1), atol=1e-5)


def test_a_wider_output_embedding_grows_too(preprocessor):
    tokenizer = preprocessor.tokenizer
    config = EncoderConfig(
        vocabulary_size=tokenizer.vocabulary_size(),
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        embedding_dim=6,
        intermediate_dim=12,
        max_sequence_length=32,
        num_segments=2,
        **STILL,
    )
    model = MaskedLM(Encoder(config, family="mobilebert"), preprocessor=preprocessor)
    decoder = numpy(model.head.decoder)
    pieces = tokenizer.tokenize("marathon")
    tuning.extend_vocabulary(model, ["marathon"])
    grown = numpy(model.head.decoder)
    np.testing.assert_array_equal(grown[:, :-1], decoder)
    np.testing.assert_allclose(grown[:, -1], decoder[:, pieces].mean(-1), atol=1e-6)
    assert logits_of(model, preprocessor([NEW])).shape[-1] == tokenizer.vocabulary_size()


def test_spare_rows_are_used_first(preprocessor):
    model = build(preprocessor, spare=3)
    tokenizer = preprocessor.tokenizer
    size, before = tokenizer.vocabulary_size(), numpy(model.backbone.token_embedding.embeddings)
    pieces = tokenizer.tokenize("marathon")
    tuning.extend_vocabulary(model, ["marathon"])
    assert model.backbone.config.vocabulary_size == size + 3
    after = numpy(model.backbone.token_embedding.embeddings)
    np.testing.assert_allclose(after[size], means(before, pieces), atol=1e-6)
    np.testing.assert_array_equal(np.delete(after, size, axis=0), np.delete(before, size, axis=0))


@pytest.mark.parametrize("cls", [TextClassifier, MaskedLM])
@pytest.mark.parametrize("where", ["preset", "archive"])
def test_it_is_saved_and_loaded(preprocessor, cls, where, tmp_path):
    model = tuning.extend_vocabulary(build(preprocessor, cls), ["marathon", "marimba"])
    if where == "preset":
        model.save_to_preset(tmp_path / "preset")
        again = cls.from_preset(tmp_path / "preset")
    else:
        model.save(tmp_path / "model.keras")
        again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.preprocessor.tokenizer.encode(NEW).ids == preprocessor.tokenizer.encode(NEW).ids
    batch = preprocessor([NEW, *TEXTS])
    np.testing.assert_array_equal(logits_of(again, batch), logits_of(model, batch))


def test_transformers_reads_it(preprocessor, tmp_path):
    model = tuning.extend_vocabulary(build(preprocessor, MaskedLM), ["marathon"])
    model.export_to_transformers(tmp_path)
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert len(tokenizer) == theirs.config.vocab_size == model.backbone.config.vocabulary_size
    inputs = tokenizer([NEW], return_tensors="pt")
    assert inputs["input_ids"][0].tolist() == preprocessor.tokenizer.encode(NEW).ids
    with torch.no_grad():
        logits = theirs(**inputs).logits.numpy()
    found = logits_of(model, preprocessor([NEW]))[:, : logits.shape[1]]
    np.testing.assert_allclose(found, logits, atol=1e-5)


def test_one_word_may_stand_alone(preprocessor):
    model = build(preprocessor)
    size = model.backbone.config.vocabulary_size
    tuning.extend_vocabulary(model, "marathon")
    assert model.backbone.config.vocabulary_size == size + 1


def test_it_goes_with_lora(preprocessor):
    model = tuning.lora(build(preprocessor), rank=2)
    tuning.extend_vocabulary(model, ["marathon"])
    assert not model.backbone.token_embedding.embeddings.trainable
    assert np.isfinite(model.predict([NEW], verbose=0)).all()


class TestRefusals:
    def refuse(self, model, words, error, message):
        tokenizer = getattr(getattr(model, "preprocessor", None), "tokenizer", None)
        sizes = model.backbone.config.vocabulary_size, tokenizer and tokenizer.vocabulary_size()
        with pytest.raises(error, match=message):
            tuning.extend_vocabulary(model, words)
        assert sizes == (
            model.backbone.config.vocabulary_size,
            tokenizer and tokenizer.vocabulary_size(),
        )

    def test_no_preprocessor(self, preprocessor):
        model = build(preprocessor)
        model = TextClassifier(model.backbone, num_classes=2)
        self.refuse(model, ["marathon"], ValueError, "a task with a preprocessor")
        with pytest.raises(ValueError, match=r"a task with a preprocessor\. Received: Encoder"):
            tuning.extend_vocabulary(model.backbone, ["marathon"])

    def test_words_that_are_none(self, preprocessor):
        self.refuse(build(preprocessor), ["marathon", " "], ValueError, "cannot be empty")
        self.refuse(build(preprocessor), ["marathon", 3], TypeError, "3")

    def test_a_quantized_embedding(self, preprocessor):
        model = build(preprocessor)
        model.quantize("int8")
        self.refuse(model, ["marathon"], ValueError, "before `quantize`.*'int8'")


def test_the_public_names():
    names = "adapters extend_vocabulary load_delta lora merge prefixes prompts save_delta"
    assert {*names.split()} <= {*kerasbert.tuning.__all__}
