"""Entities found in texts and in words are those of transformers' token classification pipeline.

Theirs takes for words what WordPiece marks, or what stands between spaces; ours are those of the
pre-tokenizer. The texts are such that both are the same.
"""

import keras
import pytest
import transformers

from kerasbert import TokenClassifier, Tokenizer
from kerasbert.models.tag_reading import AGGREGATIONS
from tests.models.tiny_taggers import assert_close, make_tagger
from tests.text.kinds import KINDS

SENTENCES = [
    "Wake me at seven thirty tomorrow morning please",
    "the weather in Zürich or São Paulo",
    "A naïve café owner living near mở bài lạc trôi",
    "playing unaffable jazz in the living room",
]
PUNCTUATED = ["What's on, Schrödinger's cat (not too loud)?", "的人有 and 東京.", "", " "]
PIPELINES = {
    "word piece uncased": ("bert", 0, [*SENTENCES, *PUNCTUATED[:2]]),
    "word piece cased": ("bert", 0, [*SENTENCES, *PUNCTUATED[:2]]),
    # Where tokens do not show which words they are of, theirs are what stands between spaces.
    "roberta": ("roberta", 1, SENTENCES),
}


@pytest.fixture(scope="module", params=PIPELINES)
def exported(request, tmp_path_factory):
    """A folder that transformers reads, and texts on which both have the same words."""
    keras.utils.set_random_seed(0)
    family, padding, texts = PIPELINES[request.param]
    folder = tmp_path_factory.mktemp("exported")
    tokenizer = Tokenizer.from_preset(_tokenizer_folder(request.param, folder))
    changes = {"pad_token_id": padding, "num_layers": 1}
    model = make_tagger(tokenizer, family=family, changes=changes)
    kernel, bias = model.head.weights[-2:]
    kernel.assign(8 * kernel)  # so that tokens differ in their tags, and no tag is that of all
    bias.assign(bias - model.predict(texts, verbose=0)[:, 1:4].mean((0, 1)))
    model.export_to_transformers(folder)
    return folder, texts


def _tokenizer_folder(kind, folder):
    if kind != "roberta":
        return KINDS[kind].make(folder)
    # With a token for each letter behind a space: their pipeline takes a lone space for a word.
    trained = transformers.RobertaTokenizerFast.from_pretrained(KINDS[kind].make(folder))
    letters = "".join(f" {letter}" for letter in sorted(set("".join(SENTENCES))))
    trained.train_new_from_iterator([letters] * 3, vocab_size=500).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def ours(exported):
    return TokenClassifier.from_preset(exported[0])


def their_entities(folder, inputs, aggregation, **options):
    # RoBERTa's own class reads words in lists as if a space stood before each, when asked to.
    config = transformers.AutoConfig.from_pretrained(folder)
    is_roberta = config.model_type == "roberta" and options.get("is_split_into_words")
    cls = transformers.RobertaTokenizer if is_roberta else transformers.AutoTokenizer
    pipeline = transformers.TokenClassificationPipeline(
        model=transformers.AutoModelForTokenClassification.from_pretrained(folder),
        tokenizer=cls.from_pretrained(folder, **({"add_prefix_space": True} if is_roberta else {})),
        aggregation_strategy=aggregation,
    )
    return [[as_ours(entity) for entity in row] for row in pipeline(inputs, **options)]


def as_ours(entity):
    label = entity.get("entity_group") or entity["entity"]
    return {"label": label, "score": float(entity["score"])} | {
        name: entity[name] for name in ("start", "end")
    }


def without_text(rows, texts):
    """The entities without their text, which is what stands at their place."""
    for row, text in zip(rows, texts, strict=True):
        for entity in row:
            assert entity.pop("text") == text[entity["start"] : entity["end"]]
    return rows


@pytest.mark.filterwarnings("ignore:Tokenizer does not support real words")
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_entities_are_those_of_transformers_pipeline(exported, ours, aggregation):
    folder, texts = exported
    assert max(ours.preprocessor.tokenize(texts).texts.num_tokens) > 2
    expected = their_entities(folder, texts, aggregation)
    assert sum(map(len, expected)) > len(texts)
    assert_close(without_text(ours.tag(texts, aggregation), texts), expected)


@pytest.mark.filterwarnings("ignore:Tokenizer does not support real words")
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_entities_of_words_are_those_of_transformers_pipeline(exported, ours, aggregation):
    folder, _ = exported  # without punctuation, which theirs does not join to what it stands at
    words = [text.split() for text in SENTENCES]
    expected = their_entities(folder, words, aggregation, is_split_into_words=True)
    assert sum(map(len, expected)) > len(words)
    assert_close(without_text(ours.tag(words, aggregation), SENTENCES), expected)


@pytest.mark.parametrize("kind", ["xlm-roberta", "modernbert", "deberta", "deberta-v2", "albert"])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_entities_are_exact_parts_of_texts_for_every_kind_of_tokenizer(kind, aggregation, tmp_path):
    tokenizer = Tokenizer.from_preset(KINDS[kind].make(tmp_path))
    tagger = make_tagger(tokenizer, labels=["NOUN", "VERB", "X"])
    texts = [*SENTENCES, *PUNCTUATED, "two  spaces\n\nand lines ", "A, <mask> AllenNLP sentence."]
    for text, entities in zip(texts, tagger.tag(texts, aggregation), strict=True):
        parts = [text[entity["start"] : entity["end"]] for entity in entities]
        assert parts == [entity["text"] for entity in entities]
        assert parts == [part.strip() for part in parts if part]
        if aggregation not in ("none", "simple"):  # where no label is "O", no word is left out
            assert "".join("".join(parts).split()) == "".join(text.split())
            assert all(0 < entity["score"] <= 1 for entity in entities)
