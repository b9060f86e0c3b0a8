"""Entities and their scores, against seqeval."""

import random
import warnings

import pytest
from seqeval.metrics.sequence_labeling import get_entities, precision_recall_fscore_support
from seqeval.metrics.v1 import precision_recall_fscore_support as strict_scores
from seqeval.scheme import IOB2, IOBES, Entities

from kerasbert.metrics import entities_in, entity_scores

SCHEMES = {"iob1": "BI", "iob2": "BI", "iobes": "BIES"}
STRICT = {"iob2": IOB2, "iobes": IOBES}


def random_sentences(scheme, seed, count=60):
    """Tags in any order, most of which no annotator would write."""
    generator = random.Random(seed)
    labels = ["PER", "LOC", "creative-work"]
    tags = [f"{prefix}-{label}" for prefix in SCHEMES[scheme] for label in labels] + ["O", "O"]
    return [generator.choices(tags, k=generator.randint(1, 12)) for _ in range(count)]


def one_edit_away(sentences, seed):
    """The sentences with about a third of their tags from other places."""
    generator = random.Random(seed)
    pool = [tag for sentence in sentences for tag in sentence]
    return [
        [generator.choice(pool) if generator.random() < 0.3 else tag for tag in sentence]
        for sentence in sentences
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_finds_what_conlleval_finds(scheme):
    for tags in random_sentences(scheme, seed=0, count=300):
        inclusive = [(label, start, end - 1) for label, start, end in entities_in(tags, scheme)]
        assert inclusive == get_entities(tags)


@pytest.mark.parametrize("scheme", STRICT)
def test_finds_strictly_what_seqeval_finds_strictly(scheme):
    for tags in random_sentences(scheme, seed=1, count=300):
        (theirs,) = Entities([tags], STRICT[scheme]).entities
        expected = [(entity.tag, entity.start, entity.end) for entity in theirs]
        assert entities_in(tags, scheme, strict=True) == expected


@pytest.mark.parametrize(
    ("tags", "scheme", "expected"),
    [
        (["B-A", "I-A", "I-B", "O", "I-B"], "iob2", [("A", 0, 2), ("B", 2, 3), ("B", 4, 5)]),
        (["I-A", "B-A", "B-A"], "iob2", [("A", 0, 1), ("A", 1, 2), ("A", 2, 3)]),
        (["B-A", "E-A", "I-A", "S-A"], "iobes", [("A", 0, 2), ("A", 2, 3), ("A", 3, 4)]),
        (["A", "A", "O", "A", "B"], "plain", [("A", 0, 2), ("A", 3, 4), ("B", 4, 5)]),
        (["B", "I", "O"], "iob2", [("_", 0, 2)]),  # one kind of entity needs no label
        ([], "iob2", []),
    ],
)
def test_examples_worked_by_hand(tags, scheme, expected):
    assert entities_in(tags, scheme) == expected


def all_figures(scores):
    labels = scores["labels"].values()
    return [
        [scores[name] for name in ("precision", "recall", "f1")],
        [scores[f"macro_{name}"] for name in ("precision", "recall", "f1")],
        *([of_label[name] for of_label in labels] for name in ("precision", "recall", "f1")),
        [of_label["support"] for of_label in labels],
    ]


def their_figures(true, predicted, scheme, strict):
    def score(average):
        if strict:
            return strict_scores(true, predicted, average=average, scheme=STRICT[scheme])
        return precision_recall_fscore_support(true, predicted, average=average)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        micro, macro, by_label = (score(average) for average in ("micro", "macro", None))
    return [list(micro[:3]), list(macro[:3]), *map(list, by_label)]


@pytest.mark.parametrize(
    ("scheme", "strict"),
    [("iob1", False), ("iob2", False), ("iob2", True), ("iobes", False), ("iobes", True)],
)
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_seqeval(scheme, strict, seed):
    true = random_sentences(scheme, seed)
    predicted = one_edit_away(true, seed)
    ours = all_figures(entity_scores(true, predicted, scheme, strict))
    theirs = their_figures(true, predicted, scheme, strict)
    for found, expected in zip(ours, theirs, strict=True):
        assert found == pytest.approx(expected)


def test_plain_tags_score_as_inside_tags_do():
    generator = random.Random(2)
    true = [generator.choices(["O", "PER", "LOC"], k=8) for _ in range(50)]
    predicted = one_edit_away(true, seed=3)

    def inside(sentences):
        return [["O" if tag == "O" else f"I-{tag}" for tag in tags] for tags in sentences]

    ours = all_figures(entity_scores(true, predicted, "plain"))
    theirs = their_figures(inside(true), inside(predicted), "iob1", strict=False)
    for found, expected in zip(ours, theirs, strict=True):
        assert found == pytest.approx(expected)


def test_nothing_found_and_nothing_there_scores_zero():
    scores = entity_scores([["O", "O"]], [["O", "O"]])
    assert (scores["f1"], scores["macro_f1"], scores["labels"]) == (0, 0, {})


@pytest.mark.parametrize(
    ("true", "predicted", "options", "message"),
    [
        ([], [], {}, "at least one.*0 and 0 sentences"),
        ([["O"]], [["O"], ["O"]], {}, "1 and 2 sentences"),
        ([["O"], ["O", "O"]], [["O"], ["O"]], {}, "2 right and 1 predicted tags in sentence 1"),
        (["O", "O"], ["O", "O"], {}, "Put a single sentence into a list"),
        ([["PER"]], [["O"]], {}, "'iob2'.*B-LABEL, I-LABEL.*\"plain\".*'PER'"),
        ([["E-PER"]], [["O"]], {}, "tag='E-PER'"),
        ([["-PER"]], [["O"]], {}, "tag='-PER'"),
        ([[""]], [["O"]], {}, "tag=''"),
        ([["BI-PER"]], [["O"]], {}, "tag='BI-PER'"),
        ([["O"]], [["O"]], {"scheme": "bio"}, "scheme='bio'"),
        ([["O"]], [["O"]], {"scheme": "plain", "strict": True}, "`strict` is for.*'plain'"),
    ],
)
def test_bad_input_is_one_clear_error(true, predicted, options, message):
    with pytest.raises(ValueError, match=message):
        entity_scores(true, predicted, **options)
