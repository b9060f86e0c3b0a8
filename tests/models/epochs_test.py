"""Epochs have batches that depend on their number alone, however they were reached."""

import numpy as np
import pytest

import kerasbert
from kerasbert.models.epochs import EpochOrder, Epochs, digest
from kerasbert.models.feeding import Batches, TensorExamples, as_epochs
from kerasbert.models.mask_targets import MaskTargets
from kerasbert.models.streaming import TextStream

TEXTS = ["wake me at seven", "play some jazz please", "an alarm", "some music", "set the alarm"]


def batches(**options):
    options = {"batch_size": 2, "shuffle": True, "seed": 1, **options}
    examples = TensorExamples({"token_ids": np.arange(5)[:, None]})
    return Batches(examples, np.arange(5), fill=False, **options)


def stream(source=None):
    return TextStream(source or TEXTS, lambda x, y, weight, place=None: list(x), batch_size=2)


class Dataset:
    """Not a list: a dataset."""

    def __init__(self, values):
        self._values = values

    def __iter__(self):
        return iter(self._values)


def read(epochs, numbers, skip=0):
    """What is left of some epochs, one after the other."""
    found = []
    for number in numbers:
        epochs.begin_epoch(number, skip)
        found += [epochs[index] for index in range(epochs.num_batches)]
        skip = 0
    return [batch[1].tolist() if isinstance(batch, tuple) else batch for batch in found]


@pytest.mark.parametrize("make", [batches, stream])
@pytest.mark.parametrize("steps", [None, 2, 4], ids=["passes", "parts", "more than a pass"])
@pytest.mark.parametrize(("epoch", "skip"), [(0, 1), (2, 0), (3, 1)])
def test_an_epoch_can_be_begun_anywhere(make, steps, epoch, skip):
    whole = as_epochs(make(), steps)
    expected = read(whole, range(5))[epoch * len(whole) + skip :]
    assert read(as_epochs(make(), steps), range(epoch, 5), skip) == expected


@pytest.mark.parametrize("make", [batches, stream])
def test_epochs_of_other_lengths_are_passes_without_a_gap(make):
    in_passes = read(as_epochs(make(), None), range(4))
    assert read(as_epochs(make(), 4), range(3)) == in_passes


def test_the_first_epoch_may_have_any_number():
    assert read(as_epochs(batches(), None, first_epoch=7), [7, 8]) == read(
        as_epochs(batches(), None), [0, 1]
    )


def test_a_stream_is_read_on_and_begun_again_only_where_it_must_be():
    class Counts:
        begun = 0

        def __iter__(self):
            self.begun += 1
            return iter(TEXTS)

    source = Counts()
    epochs = Epochs(stream(source), steps=5)
    read(epochs, range(3))  # 15 batches of 3 a pass
    assert source.begun == 5
    epochs.begin_epoch(0)
    assert epochs[0] == TEXTS[:2]
    assert source.begun == 6


def test_what_was_done_is_read_without_being_tokenized():
    prepared = []
    texts = TextStream(TEXTS, lambda x, y, weight, place: prepared.append(x), batch_size=2)
    epochs = Epochs(texts, steps=9)
    epochs.begin_epoch(0, skip=7)
    epochs[0]
    assert prepared == [TEXTS[2:4]]


def test_a_generator_has_no_epochs():
    one_pass = stream(iter(TEXTS))
    assert as_epochs(one_pass, 2) is one_pass


def test_new_masks_depend_on_the_seed_the_pass_and_the_rows():
    tokenizer = kerasbert.Tokenizer.train(TEXTS, vocabulary_size=60)

    def masked(seed, number, pause=False):
        preprocessor = kerasbert.MaskedLMPreprocessor(tokenizer, rate=0.5)
        targets = MaskTargets(preprocessor, are_new=True)
        data = Batches(preprocessor.tokenize(TEXTS), targets, batch_size=2, seed=seed)
        if pause:  # what was drawn before does not matter
            data[1], data[0]
        return data.batch_at(number * len(data) + 1)[0]["token_ids"].tolist()

    assert masked(1, 3) == masked(1, 3, pause=True)
    assert masked(1, 3) != masked(1, 4)
    assert masked(1, 3) != masked(2, 3)


def test_masks_follow_the_preprocessors_seed_and_are_others_in_the_next_fit():
    tokenizer = kerasbert.Tokenizer.train(TEXTS, vocabulary_size=60)

    def seeds():
        preprocessor = kerasbert.MaskedLMPreprocessor(tokenizer, seed=5)
        rows = preprocessor.tokenize(TEXTS)
        return [Batches(rows, MaskTargets(preprocessor, are_new=True)).seed for _ in range(2)]

    assert seeds() == seeds()
    assert len(set(seeds())) == 2


def test_the_order_is_told_and_the_first_epoch_ends_early():
    epochs = as_epochs(batches(), None)
    order = EpochOrder(epochs, skip=2)
    order.on_epoch_begin(1)
    assert epochs.num_batches == 1
    order.on_train_batch_begin(0)
    with pytest.raises(StopIteration):
        order.on_train_batch_begin(1)
    order.on_epoch_begin(2)
    assert epochs.num_batches == len(epochs) == 3


@pytest.mark.parametrize("kind", [Batches, TextStream])
def test_with_the_seed_of_another_process_all_is_as_it_was_there(kind):
    tokenizer = kerasbert.Tokenizer.train(TEXTS, vocabulary_size=60)
    encoder = kerasbert.Encoder(
        kerasbert.EncoderConfig(
            vocabulary_size=60, num_layers=1, num_heads=1, hidden_dim=4, intermediate_dim=4
        )
    )
    model = kerasbert.MaskedLM(
        encoder, preprocessor=kerasbert.MaskedLMPreprocessor(tokenizer, rate=0.5)
    )
    x = TEXTS if kind is Batches else Dataset(TEXTS)

    def opened():
        data = model._feed(x, None, None, 2, shuffle=True, training=True)
        assert isinstance(data, kind)
        return as_epochs(data, None)

    def content(epochs):
        epochs.begin_epoch(1)
        return digest(epochs[index] for index in range(len(epochs)))

    one, other = opened(), opened()
    assert (other.facts(), content(other)) != (one.facts(), content(one))
    other.source.seed = one.source.seed
    assert (other.facts(), content(other)) == (one.facts(), content(one))


def test_facts_tell_data_apart():
    facts = as_epochs(batches(), None).facts()
    assert facts == as_epochs(batches(seed=2), None).facts()
    for other in (batches(batch_size=3), batches(shuffle=False)):
        assert as_epochs(other, None).facts() != facts
    assert digest([{"a": np.zeros(2)}]) == digest([{"a": np.zeros(2)}])
    different = [[np.zeros(3)], [np.zeros(2, "int32")], [np.ones(2)], [None], [np.zeros((2, 1))]]
    assert len({digest([each]) for each in [[np.zeros(2)], *different]}) == 6
