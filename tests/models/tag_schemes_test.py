"""The scheme of tags is recognised from the names of the classes."""

import numpy as np
import pytest

from kerasbert.metrics import entities_in
from kerasbert.models.tag_schemes import TagScheme

IOB2 = ["O", "B-PER", "I-PER", "B-creative-work", "I-creative-work"]
IOBES = ["B-PER", "I-PER", "E-PER", "S-PER", "O"]


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (IOB2, "iob2"),
        (["O", "B-PER"], "iob2"),
        (["O", "B", "I"], "iob2"),
        (["O", "B-PER", "I-PER", "[CLS]"], "iob2"),
        (IOBES, "iobes"),
        (["O", "B", "I", "E", "S"], "iobes"),
        (["O", "I-PER", "I-LOC"], "iob1"),
        (["NOUN", "VERB", "X"], "plain"),
        (["O", "person", "creative-work"], "plain"),
        (["O", "E-mail", "S-Bahn"], "plain"),
        (["O"], "plain"),
    ],
)
def test_the_names_of_the_classes_show_the_scheme(labels, name):
    scheme = TagScheme.of(labels)
    assert scheme.name == name
    entities_in(scheme.tags, name)  # which refuses tags that do not fit


def test_a_class_without_a_prefix_among_others_is_an_entity_of_its_own_label():
    scheme = TagScheme.of(["O", "B-PER", "I-PER", "X"])
    assert scheme.tags == ("O", "B-PER", "I-PER", "I-X")
    assert scheme.entity_labels == ["PER", "X"]


def test_labels_keep_their_hyphens():
    assert TagScheme.of(IOB2).entity_labels == ["PER", "creative-work"]
    assert TagScheme.of(["O", "creative-work"]).entity_labels == ["creative-work"]


def test_outside_is_the_class_o_if_there_is_one():
    assert TagScheme.of(IOBES).outside == 4
    assert TagScheme.of(["NOUN", "O"]).outside == 1
    assert TagScheme.of(["NOUN", "VERB"]).outside is None


@pytest.mark.parametrize(
    ("labels", "count", "tags"),
    [
        (IOB2, 1, ["B-PER"]),
        (IOB2, 3, ["B-PER", "I-PER", "I-PER"]),
        (IOBES, 1, ["S-PER"]),
        (IOBES, 2, ["B-PER", "E-PER"]),
        (IOBES, 4, ["B-PER", "I-PER", "I-PER", "E-PER"]),
        (["O", "I-PER"], 2, ["I-PER", "I-PER"]),
        (["O", "PER"], 2, ["PER", "PER"]),
    ],
)
def test_an_entity_is_written_in_the_scheme(labels, count, tags):
    scheme = TagScheme.of(labels)
    assert [labels[index] for index in scheme.of_entity("PER", count)] == tags
    assert entities_in(tags, scheme.name) == [("PER", 0, count)]


@pytest.mark.parametrize("labels", [IOB2, IOBES, ["O", "I-PER"], ["O", "PER"]])
def test_the_pieces_of_words_are_the_same_entities_as_the_words(labels):
    scheme = TagScheme.of(labels)
    for num_words in (1, 2, 3):
        classes = [scheme.outside, *scheme.of_entity("PER", num_words), scheme.outside]
        pieces = []
        for index in classes:
            first, middle, last = scheme.pieces(index)
            pieces += [labels[piece] for piece in (first, middle, middle, last)]
        assert entities_in(pieces, scheme.name) == [("PER", 4, 4 + 4 * num_words)]
        if scheme.name in ("iob2", "iobes"):
            assert len(entities_in(pieces, scheme.name, strict=True)) == 1


def test_a_class_that_is_missing_is_named():
    scheme = TagScheme.of(["O", "B-PER"])
    assert scheme.of_entity("PER", 1) == [1]
    for ask in (lambda: scheme.of_entity("PER", 2), lambda: scheme.pieces(1)):
        with pytest.raises(ValueError, match=r"must have I-PER.*Received: labels=\['O', 'B-PER'\]"):
            ask()


@pytest.mark.parametrize("labels", [IOB2, IOBES])
def test_entities_that_begin_without_a_b_are_those_that_are_not_well_formed(labels):
    scheme = TagScheme.of(labels)
    draw = np.random.default_rng(0)
    for _ in range(100):
        classes, owners = draw.integers(0, 5, 12), np.repeat([0, 1, 3], 4)
        found = np.flatnonzero(scheme.begins_inside(classes, owners)).tolist()
        expected = []
        for text in (0, 4, 8):
            tags = [labels[index] for index in classes[text : text + 4]]
            entities = entities_in(tags, scheme.name)
            expected += [text + first for _, first, _ in entities if tags[first][0] in "IE"]
        assert found == expected
