"""Streams: read anew at each pass, a line at a time, and shuffled in bounded memory."""

import json
import tracemalloc
from collections import Counter

import pytest

import kerasbert
from kerasbert.data import shuffled, stream_csv, stream_json_lines, stream_squad


def test_each_pass_reads_the_file_anew(write):
    stream = stream_csv(write("text,label\na,yes\n", "train.csv"))
    assert [example["text"] for example in stream] == ["a"]
    write("text,label\na,yes\nb,no\n", "train.csv")
    assert [example["text"] for example in stream] == ["a", "b"]


def test_good_examples_come_before_the_error_of_a_later_line(write):
    examples = iter(stream_csv(write("text,label\n" + "a,yes\n" * 3 + "b\n")))
    assert [next(examples)["text"] for _ in range(3)] == ["a", "a", "a"]
    with pytest.raises(ValueError, match="Line 5 has 1 field"):
        next(examples)


def test_bytes_that_are_no_text_do_not_spoil_the_lines_before_them(write):
    examples = iter(stream_csv(write(b"text,label\ngood,yes\nb\xffd,no\n")))
    assert next(examples)["text"] == "good"
    with pytest.raises(ValueError, match="Line 3 is not UTF-8 after 'b'"):
        next(examples)


def csv_file(write, rows):
    return stream_csv(write("text,label\n" + "".join(f"{'word ' * 100},{i}\n" for i in rows)))


def json_lines_file(write, rows):
    lines = (json.dumps({"text": "word " * 100, "label": i}) + "\n" for i in rows)
    return stream_json_lines(write("".join(lines)))


def squad_file(write, rows):
    articles = (
        {
            "title": "",
            "paragraphs": [
                {
                    "context": "word " * 100,
                    "qas": [{"id": str(i), "question": "Which?", "answers": []}],
                }
            ],
        }
        for i in rows
    )
    return stream_squad(write(json.dumps({"version": "v2.0", "data": list(articles)})))


@pytest.mark.parametrize("large_file", [csv_file, json_lines_file, squad_file])
def test_a_large_file_is_never_in_memory_as_a_whole(write, large_file):
    stream = large_file(write, range(6000))  # about 3 MB
    assert stream.path.stat().st_size > 3e6
    next(iter(stream))  # what is imported and cached once
    tracemalloc.start()
    count = sum(1 for _ in stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 6000
    assert peak < 1e6


def test_shuffling_gives_each_example_once_in_another_order_at_each_pass():
    examples = shuffled(range(1000), buffer=100, seed=3)
    passes = [list(examples) for _ in range(3)]
    for one_pass in passes:
        assert sorted(one_pass) == list(range(1000))
        assert one_pass != list(range(1000))
    assert passes[0] != passes[1] != passes[2] != passes[0]


def test_the_seed_decides_the_orders():
    def orders(seed):
        examples = shuffled(range(50), buffer=10, seed=seed)
        return [list(examples), list(examples)]

    assert orders(1) == orders(1)
    assert orders(1) != orders(2)


def test_no_more_examples_wait_than_the_buffer_holds():
    drawn = []

    class Source:
        def __iter__(self):
            for number in range(100):
                drawn.append(number)
                yield number

    examples = iter(shuffled(Source(), buffer=10))
    for given, example in enumerate(examples, start=1):
        assert len(drawn) - given <= 10
        assert example in drawn


@pytest.mark.parametrize(("buffer", "order"), [(1, list(range(20))), (1000, None)])
def test_the_buffer_may_be_smaller_or_larger_than_the_stream(buffer, order):
    found = list(shuffled(range(20), buffer=buffer))
    assert sorted(found) == list(range(20))
    assert found == order or (order is None and found != sorted(found))


def test_a_buffer_of_the_whole_stream_makes_every_place_equally_likely():
    examples = shuffled(range(4), buffer=4)
    firsts = Counter(next(iter(examples)) for _ in range(2000))
    assert min(firsts.values()) > 420  # 500 expected, standard deviation 19


def test_what_cannot_be_read_again_is_refused():
    with pytest.raises(TypeError, match=r"again and again.*generator"):
        shuffled(number for number in range(3))
    with pytest.raises(TypeError, match="NoneType"):
        shuffled(None)


@pytest.mark.parametrize(
    "options", [{"buffer": 0}, {"buffer": 2.5}, {"seed": -1}, {"seed": None}, {"buffer": True}]
)
def test_sizes_and_seeds_that_are_none_are_refused(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"`{name}` must be an int"):
        shuffled([1, 2], **options)


def test_a_model_trains_on_a_shuffled_stream(write):
    texts = [f"wake me at {hour}" if hour % 2 else f"play song {hour}" for hour in range(12)]
    labels = ["alarm" if hour % 2 else "music" for hour in range(12)]
    rows = "".join(f"{text},{label}\n" for text, label in zip(texts, labels, strict=True))
    stream = stream_csv(write("text,label\n" + rows))
    config = kerasbert.EncoderConfig(
        vocabulary_size=80, num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    tokenizer = kerasbert.Tokenizer.train(texts, vocabulary_size=80)
    model = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        labels=["alarm", "music"],
        preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer),
    )
    model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=1e-2, warmup=0))
    data = shuffled(stream, buffer=6)
    history = model.fit(data, epochs=12, batch_size=4, validation_data=stream, verbose=0).history
    assert len(history["loss"]) == 12
    assert history["val_loss"][-1] < 0.8 * history["val_loss"][0]
