"""`fill_mask`, `score` and `perplexity`, against `transformers`."""

import numpy as np
import pytest
import torch
import transformers
from keras import ops

import kerasbert
from kerasbert.families import FAMILIES
from tests.models import tiny_families
from tests.parity import tiny_models
from tests.text.kinds import KINDS

# A vocabulary of each kind, and a configuration whose padding id is that of the vocabulary.
FOLDERS = {
    "word piece": ("word piece uncased", tiny_models.bert),
    "cased word piece": ("word piece cased", tiny_models.distilbert),
    "byte BPE": ("roberta", lambda **sizes: tiny_models.roberta(type_vocab_size=1, **sizes)),
    "unigram": ("xlm-roberta", lambda **sizes: tiny_models.roberta(type_vocab_size=1, **sizes)),
}
TEXTS = [
    "A {} café owner's résumé",
    "mở {} lạc trôi {}",
    "的{}有, the 人",
    "{}",
    "A, {} AllenNLP sentence.",
    "{} {} isn't {}!",
]


@pytest.fixture(scope="module", params=FOLDERS)
def pair(request, tmp_path_factory):
    """A masked language model of `transformers`, its tokenizer, and ours read from their folder."""
    kind, config = FOLDERS[request.param]
    folder = tmp_path_factory.mktemp("model")
    KINDS[kind].make(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    model = tiny_models.with_head(config(**sizes), "masked_lm")
    tiny_models.randomize(model).save_pretrained(folder)
    return model, tokenizer, kerasbert.MaskedLM.from_preset(folder)


@pytest.fixture(scope="module")
def texts(pair):
    return [text.replace("{}", pair[1].mask_token) for text in TEXTS]


@pytest.fixture(scope="module")
def pipeline(pair):
    model, tokenizer, _ = pair
    return transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer, device="cpu")


def assert_same(found, expected):
    """Compare lists of answers, or lists of such lists."""
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        if isinstance(ours, list):
            assert_same(ours, theirs)
            continue
        assert set(ours) == {"token", "token_id", "score", "sequence"}
        assert ours["token_id"] == theirs["token"]
        assert ours["token"] == theirs["token_str"]
        assert ours["sequence"] == theirs["sequence"]
        assert ours["score"] == pytest.approx(theirs["score"], abs=1e-5)


def test_masks_are_filled_as_by_the_pipeline_of_transformers(pair, texts, pipeline):
    _, _, ours = pair
    expected = pipeline(texts)
    assert_same(ours.fill_mask(texts), expected)
    assert_same(ours.fill_mask(texts, batch_size=2), expected)
    for text, answer in zip(texts, expected, strict=True):
        assert_same(ours.fill_mask(text), answer)
    assert_same(ours.fill_mask(texts, top_k=3), pipeline(texts, top_k=3))
    assert_same(ours.fill_mask([texts[3]]), [expected[3]])


def test_targets_are_scored_as_by_the_pipeline_of_transformers(pair, texts, pipeline):
    _, tokenizer, ours = pair
    vocabulary = sorted(set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens))
    targets = [*vocabulary[10:2000:150], vocabulary[10]]
    expected = pipeline(texts, targets=targets, top_k=20)
    found = ours.fill_mask(texts, targets=targets, top_k=20)
    assert len(found[0]) == len(set(targets))
    assert_same(found, expected)
    assert_same(
        ours.fill_mask(texts[0], targets=targets[:2]), expected_of(pipeline, texts, targets)
    )


def expected_of(pipeline, texts, targets):
    return pipeline(texts[0], targets=targets[:2])


def test_a_target_is_a_word_as_people_write_it(pair):
    """With the space before it, where vocabularies tell words from parts of words by it."""
    _, tokenizer, ours = pair
    words = [word for word in (" the", " isn") if len(tokenizer.tokenize(word)) == 1]
    for word in words:
        mask = tokenizer.mask_token
        (answer,) = ours.fill_mask(f"a {mask}", targets=word)
        assert [answer["token_id"]] == tokenizer(word, add_special_tokens=False)["input_ids"]


def test_a_target_that_is_not_one_token_is_refused_with_its_pieces(pair):
    _, tokenizer, ours = pair
    mask = tokenizer.mask_token
    with pytest.raises(ValueError, match=r"one token of the vocabulary.*'zyzzyvaqqq'"):
        ours.fill_mask(f"a {mask}", targets=["zyzzyvaqqq"])
    with pytest.raises(ValueError, match=r"one token of the vocabulary.*''"):
        ours.fill_mask(f"a {mask}", targets=[""])
    with pytest.raises(ValueError, match="at least one word"):
        ours.fill_mask(f"a {mask}", targets=[])


def their_scores(model, tokenizer, text):
    """The logarithm of each token's probability where it alone is masked."""
    encoded = tokenizer(text, return_tensors="pt")
    ids = encoded["input_ids"][0]
    found = []
    for column, token in enumerate(ids.tolist()):
        if token in tokenizer.all_special_ids:
            continue
        masked = ids.clone()
        masked[column] = tokenizer.mask_token_id
        with torch.no_grad():
            logits = model(**{**encoded, "input_ids": masked[None]}).logits[0, column]
        found.append(logits.log_softmax(-1)[token].item())
    return found


def test_the_score_is_the_sum_over_tokens_that_are_masked_one_by_one(pair):
    model, tokenizer, ours = pair
    texts = ["A naïve café owner's résumé", "mở bài lạc trôi", "Play [SEP] some, </s> jazz."]
    expected = [their_scores(model, tokenizer, text) for text in texts]
    sums = [sum(values) for values in expected]
    np.testing.assert_allclose(ours.score(texts, batch_size=7), sums, rtol=1e-4)
    assert ours.score(texts[0]) == pytest.approx(sums[0], rel=1e-4)
    count = sum(map(len, expected))
    assert ours.perplexity(texts) == pytest.approx(np.exp(-sum(sums) / count), rel=1e-3)
    alone = np.exp(-sums[1] / len(expected[1]))
    assert ours.perplexity(texts[1]) == pytest.approx(alone, rel=1e-3)


@pytest.fixture(scope="module")
def tokenizer():
    return kerasbert.Tokenizer.train(["a b c d e f g h", "wake me"] * 3, vocabulary_size=40)


@pytest.fixture
def make(tokenizer):
    def build(family="bert", sequence_length=24, **changes):
        return kerasbert.MaskedLM(
            tiny_families.encoder_of(family, **changes),
            preprocessor=kerasbert.MaskedLMPreprocessor(tokenizer, sequence_length),
        )

    return build


def test_a_mask_at_the_end_of_a_long_text_is_filled_from_what_stands_around_it(make):
    model = make(sequence_length=8)  # six tokens of a text
    start = "a b c d e f g h " * 5
    with pytest.warns(UserWarning, match="1 texts were longer than 8 tokens") as caught:
        found = model.fill_mask(start + "[MASK] a", targets=list("abcdefgh"))
    assert caught[0].filename == __file__
    expected = model.fill_mask("e f g h [MASK] a", targets=list("abcdefgh"))
    for ours, other in zip(found, expected, strict=True):
        assert ours["token"] == other["token"]
        assert ours["score"] == pytest.approx(other["score"], abs=1e-6)
        assert ours["sequence"] == start + ours["token"] + " a"  # the whole text
    with pytest.warns(UserWarning, match="1 texts were longer"):
        first, last = model.fill_mask("[MASK] " + start + "[MASK]", top_k=1)
    assert first[0]["score"] == pytest.approx(
        model.fill_mask("[MASK] a b c d e", top_k=1)[0]["score"], abs=1e-6
    )
    assert last[0]["score"] == pytest.approx(
        model.fill_mask("d e f g h [MASK]", top_k=1)[0]["score"], abs=1e-6
    )


def test_all_of_a_long_text_is_scored(make, tokenizer):
    model = make(sequence_length=5)  # three tokens of a text
    with pytest.warns(UserWarning, match="1 texts were longer than 5 tokens"):
        found = model.score("a b c d")
    pieces = [("[MASK] b c", "a"), ("a [MASK] c", "b"), ("b [MASK] d", "c"), ("b c [MASK]", "d")]
    answers = [model.fill_mask(text, targets=token)[0]["score"] for text, token in pieces]
    assert found == pytest.approx(np.log(answers).sum(), rel=1e-5)


def test_rows_of_an_encoder_that_are_no_tokens_are_never_answers(make, tokenizer):
    size = tokenizer.vocabulary_size()
    model = make(vocabulary_size=size + 20)
    bias = np.zeros(size + 20)
    bias[size:] = 50.0
    model.head.bias.assign(bias)
    answers = model.fill_mask("a [MASK]", top_k=1000)
    assert sorted(answer["token_id"] for answer in answers) == list(range(size))
    assert sum(answer["score"] for answer in answers) < 1e-6  # probabilities among all rows


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_of_any_family_fills_masks_and_scores(make, family):
    model = make(family)
    one, two = model.fill_mask(["a [MASK] c", "wake [MASK] [MASK]"], top_k=3)
    for text, column, answers in (("a [MASK] c", 2, one), ("wake [MASK] [MASK]", 3, two[1])):
        inputs = model.preprocessor(text)
        logits = ops.convert_to_numpy(model(inputs))[0, column]
        best = np.argsort(-logits[: model.preprocessor.tokenizer.vocabulary_size()])[:3]
        assert [answer["token_id"] for answer in answers] == best.tolist()
        scores = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        np.testing.assert_allclose([a["score"] for a in answers], scores[best], atol=1e-5)
    assert model.score("a b c") < 0
    assert model.perplexity("a b c") == pytest.approx(np.exp(-model.score("a b c") / 3), rel=1e-5)


def test_no_texts_have_no_answers(make):
    assert make().fill_mask([]) == []
    assert make().score([]) == []


@pytest.mark.parametrize(
    ("mistake", "error", "message"),
    [
        (lambda m: m.fill_mask("a b"), ValueError, r"must have a mask: write '\[MASK\]'.*'a b'"),
        (lambda m: m.fill_mask(["[MASK]", "c"]), ValueError, "'c' at position 1"),
        (lambda m: m.fill_mask(""), ValueError, "must have a mask"),
        (lambda m: m.fill_mask("[MASK]", top_k=0), ValueError, "`top_k` must be"),
        (lambda m: m.fill_mask("[MASK]", top_k=True), ValueError, "`top_k` must be"),
        (lambda m: m.fill_mask(["[MASK]", 3]), TypeError, r"text\[1\]=3"),
        (lambda m: m.fill_mask(None), TypeError, "`text` must hold text"),
        (lambda m: m.score(""), ValueError, "not special.*'' at position 0"),
        (lambda m: m.score(["a", "[SEP]"]), ValueError, r"'\[SEP\]' at position 1"),
        (lambda m: m.perplexity([]), ValueError, "at least one text"),
        (lambda m: kerasbert.MaskedLM(m.backbone).fill_mask("[MASK]"), ValueError, "no preproc"),
        (lambda m: kerasbert.MaskedLM(m.backbone).score("a"), ValueError, "no preprocessor"),
        (lambda m: kerasbert.MaskedLM(m.backbone).perplexity("a"), ValueError, "no preprocessor"),
    ],
)
def test_what_cannot_be_answered_is_one_error(make, mistake, error, message):
    with pytest.raises(error, match=message):
        mistake(make())


def test_a_tokenizer_that_grew_beyond_the_encoder_is_refused(make):
    own = kerasbert.Tokenizer.train(["a b"] * 3, vocabulary_size=40)
    model = kerasbert.MaskedLM(
        tiny_families.encoder_of("bert"), preprocessor=kerasbert.MaskedLMPreprocessor(own, 24)
    )
    own.add_tokens([f"word{index}" for index in range(40)])
    with pytest.raises(ValueError, match="more tokens than the encoder"):
        model.fill_mask("a [MASK]")
