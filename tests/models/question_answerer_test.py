"""Questions in, answers out: training, answering, thresholds, saving, and what is refused."""

import json

import keras
import numpy as np
import pytest

import kerasbert
from kerasbert.families import FAMILIES
from tests.models import tiny_families

PLACES = {"kettle": "kitchen", "lamp": "hall", "boat": "harbour", "piano": "cellar"}
CONTEXT = " ".join(f"The {thing} is in the old {place} now." for thing, place in PLACES.items())
QUESTIONS = [f"Where is the {thing}?" for thing in PLACES]
UNANSWERABLE = ["Where is the spoon?", "Where is the horse?"]
SETTINGS = {"sequence_length": 32, "stride": 8, "buckets": (16,)}


def x_of(questions, contexts=None):
    return {"question": list(questions), "context": contexts or [CONTEXT] * len(questions)}


def answer(text, context=CONTEXT):
    return {"text": text, "start": context.index(text)}


X = x_of(QUESTIONS + UNANSWERABLE)
Y = [*(answer(f"old {place}") for place in PLACES.values()), None, {}]


@pytest.fixture(scope="module")
def tokenizer():
    return kerasbert.Tokenizer.train(
        [CONTEXT, *QUESTIONS, *UNANSWERABLE] * 3, vocabulary_size=tiny_families.VOCABULARY_SIZE * 3
    )


def model_of(tokenizer, preprocessor=None):
    config = kerasbert.EncoderConfig(
        vocabulary_size=tokenizer.vocabulary_size(),
        num_layers=1,
        num_heads=2,
        hidden_dim=32,
        intermediate_dim=64,
        max_sequence_length=48,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        initializer_range=0.1,
    )
    model = kerasbert.QuestionAnswerer(
        kerasbert.Encoder(config),
        preprocessor or kerasbert.QuestionAnswererPreprocessor(tokenizer, **SETTINGS),
    )
    model.compile(optimizer=keras.optimizers.Adam(5e-3))
    return model


@pytest.fixture(scope="module")
def shared(tokenizer):
    """One model for most tests, since compiling it takes longer than they do."""
    keras.utils.set_random_seed(1)
    return model_of(tokenizer)


@pytest.fixture(scope="module")
def fresh_weights(shared):
    return shared.get_weights()


@pytest.fixture(scope="module")
def learned(shared, fresh_weights):
    """Weights and threshold of a model that has learned `X` by heart."""
    shared.set_weights(fresh_weights)
    for _ in range(120):
        shared.train_on_batch(X, Y)
    return shared.get_weights(), shared.tune_threshold(X, Y)


@pytest.fixture
def model(shared, fresh_weights):
    """A model that has learned nothing."""
    shared.set_weights(fresh_weights)
    shared.no_answer_threshold = None
    return shared


@pytest.fixture
def trained(shared, learned):
    """A model that has learned `X` by heart."""
    weights, shared.no_answer_threshold = learned
    shared.set_weights(weights)
    return shared


class TestAnswering:
    def test_a_trained_model_finds_what_it_was_taught_in_any_window(self, trained):
        assert len(trained.preprocessor.tokenize(X)) == 2 * len(Y)
        answers = trained.answer(X["question"], X["context"])
        assert [found["text"] for found in answers] == [(y or {}).get("text", "") for y in Y]
        for found, given in zip(answers[:4], Y, strict=False):
            assert found["start"] == given["start"]
            assert CONTEXT[found["start"] : found["end"]] == found["text"]
            assert 0.5 < found["score"] <= 1

    def test_one_question_gives_one_answer_the_same_as_in_a_list(self, trained):
        alone = trained.answer(QUESTIONS[2], CONTEXT)
        among_others = trained.answer(X["question"], X["context"], batch_size=2)[2]
        assert alone.pop("score") == pytest.approx(among_others.pop("score"), abs=1e-5)
        assert alone == among_others == {"text": "old harbour", **_span("old harbour")}

    def test_several_answers_are_ranked_and_share_their_probability(self, trained):
        ranked = trained.answer(QUESTIONS[0], CONTEXT, 4, n_best=4, no_answer_threshold=0.0)
        assert ranked[0]["text"] == "old kitchen"
        scores = [found["score"] for found in ranked]
        assert scores == sorted(scores, reverse=True)
        assert len({(found["start"], found["end"]) for found in ranked}) == 4
        assert sum(scores) <= 1 + 1e-6
        assert len(trained.answer(QUESTIONS[0], CONTEXT, top_k=30)) == 30
        assert len(trained.answer(QUESTIONS[0], "Now.", top_k=30)) == 4  # 3 spans of 2 tokens, none

    def test_a_threshold_of_the_call_wins_over_the_models(self, trained):
        assert trained.answer(UNANSWERABLE[0], CONTEXT)["start"] is None
        forced = trained.answer(UNANSWERABLE[0], CONTEXT, no_answer_threshold=1e4)
        assert forced["text"] == CONTEXT[forced["start"] : forced["end"]] != ""
        refused = trained.answer(QUESTIONS[0], CONTEXT, no_answer_threshold=-1e4)
        assert (refused["text"], refused["end"]) == ("", None)

    def test_answers_are_no_longer_than_asked(self, trained):
        found = trained.answer(
            QUESTIONS, [CONTEXT] * 4, max_answer_length=1, no_answer_threshold=1e4
        )
        assert [len(each["text"].split()) for each in found] == [1] * 4

    def test_an_empty_context_or_question_is_answered_too(self, trained):
        assert trained.answer(QUESTIONS[0], "") == {
            "text": "",
            "start": None,
            "end": None,
            "score": 1.0,
        }
        found = trained.answer(["", QUESTIONS[0]], [CONTEXT, CONTEXT], no_answer_threshold=1e4)
        assert found[0]["text"] in CONTEXT
        assert trained.answer([], []) == []

    def test_bulk_answers_score_as_squads_script_scores_them(self, trained):
        texts, no_answer_scores = trained.predict_answers(X)
        assert all(texts)
        assert no_answer_scores.shape == (6,)
        assert max(no_answer_scores[:4]) <= trained.no_answer_threshold < min(no_answer_scores[4:])
        figures = kerasbert.metrics.squad(
            dict(enumerate(texts)),
            dict(enumerate([[y["text"]] if y else [] for y in Y])),
            dict(enumerate(no_answer_scores)),
            trained.no_answer_threshold,
        )
        assert figures["exact"] == figures["f1"] == 100


class TestThreshold:
    def test_a_new_model_always_answers(self, model):
        assert model.no_answer_threshold is None
        assert all(found["text"] for found in model.answer(X["question"], X["context"]))

    def test_the_best_threshold_counts_every_right_answer(self, model, monkeypatch):
        scores = np.array([-3.0, -1.0, 1.0, 4.0])
        monkeypatch.setattr(model, "predict_answers", lambda *_: (["a", "b", "c", "d"], scores))
        answers = [
            {"text": ["x", "a"], "answer_start": [0, 1]},  # right
            [{"text": "b", "answer_start": 3}],  # right
            None,
            {"text": [], "answer_start": []},
        ]
        # What is above -1 has no answer: all four right.
        assert model.tune_threshold(x_of("abcd"), answers) == model.no_answer_threshold == -1.0

    @pytest.mark.parametrize("y", [[None] * 6, [answer("kettle")] * 6])
    def test_one_kind_of_questions_gives_no_threshold(self, trained, y):
        with pytest.raises(ValueError, match="questions of both kinds"):
            trained.tune_threshold(X, y)

    @pytest.mark.parametrize("threshold", ["high", True, float("nan"), [1]])
    def test_a_threshold_is_a_number(self, trained, threshold):
        with pytest.raises(ValueError, match="`no_answer_threshold` must be None or a number"):
            kerasbert.QuestionAnswerer(trained.backbone, no_answer_threshold=threshold)
        with pytest.raises(ValueError, match="`no_answer_threshold` must be None or a number"):
            trained.answer("a", "b", no_answer_threshold=threshold)


class TestTraining:
    def test_padding_is_of_no_account_to_loss_and_metric(self, tokenizer):
        x = x_of(QUESTIONS[:3], ["The kettle is in the kitchen.", CONTEXT, "The boat."])
        y = [answer("kitchen", x["context"][0]), Y[1], None]
        narrow, wide = (
            model_of(tokenizer, kerasbert.QuestionAnswererPreprocessor(tokenizer, **settings))
            for settings in (SETTINGS, {**SETTINGS, "buckets": ()})
        )
        wide.set_weights(narrow.get_weights())
        examples = narrow.preprocessor.tokenize(x)
        assert {examples.width_of(np.array([row])) for row in range(len(examples))} == {16, 32}
        found, expected = (each.evaluate(x, y, batch_size=1, verbose=0) for each in (narrow, wide))
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def test_logits_of_padding_are_low_in_one_width(self, model):
        x = x_of(QUESTIONS[:3], ["The kettle.", CONTEXT, "Now."])
        logits = model.predict(x, batch_size=1, verbose=0)  # rows of 16, 32, 32 and 16
        examples = model.preprocessor.tokenize(x)
        assert logits.shape == (len(examples), 32, 2)
        assert examples.lengths.min() < 16 < examples.lengths.max()
        is_real = np.arange(32) < examples.lengths[:, None]
        assert (logits[~is_real] == -1e4).all()
        assert np.abs(logits[is_real]).max() < 100

    def test_questions_without_answers_alone_train_as_well(self, model):
        history = model.fit(x_of(UNANSWERABLE), [None, {}], epochs=20, verbose=0).history
        assert history["loss"][-1] < 0.3 * history["loss"][0]
        assert history["span_accuracy"][-1] == 1
        found = model.answer(UNANSWERABLE, [CONTEXT] * 2, no_answer_threshold=0.0)
        assert [each["text"] for each in found] == ["", ""]

    def test_holds_out_questions_and_fills_the_last_batch(self, model):
        history = model.fit(X, Y, batch_size=12, validation_split=0.4, verbose=0).history
        assert np.isfinite([*history["loss"], *history["val_loss"]]).all()
        assert len(history["val_span_accuracy"]) == 1

    def test_positions_of_tensors_train(self, model):
        batch = model.preprocessor(x_of(QUESTIONS, ["The kettle is in the kitchen."] * 4))
        history = model.fit(batch, np.full((4, 2), 6), epochs=10, verbose=0).history
        assert history["loss"][-1] < history["loss"][0]
        with pytest.raises(ValueError, match=r"must be int \(n, 2\).*shape=\(4,\)"):
            model.fit(batch, np.zeros(4, int), verbose=0)

    def test_training_on_a_batch(self, model):
        losses = [model.train_on_batch(X, Y)[0] for _ in range(15)]
        assert float(losses[-1]) < 0.5 * float(losses[0])


class Rows:
    """Single examples as dicts, as a dataset of another library gives them."""

    def __len__(self):
        return len(Y)

    def __iter__(self):
        for question, context, label in zip(X["question"], X["context"], Y, strict=True):
            yield {"id": "1", "question": question, "context": context, "label": label}


def as_tf_dataset():
    import tensorflow as tf

    given = [y or {"text": "", "start": -1} for y in Y]
    columns = {name: [y[name] for y in given] for name in ("text", "start")}
    return tf.data.Dataset.from_tensor_slices((X, columns)).batch(3)


def as_batches():
    for rows in (slice(0, 4), slice(4, 6)):
        yield {name: column[rows] for name, column in X.items()}, [y or {} for y in Y[rows]]


def test_a_dataset_may_have_batches_of_unanswerable_questions_alone(model):
    unanswerable = [
        {"question": question, "context": CONTEXT, "label": None} for question in UNANSWERABLE
    ]
    found = model.evaluate(iter(unanswerable), verbose=0)
    expected = model.evaluate(x_of(UNANSWERABLE), [None, None], verbose=0)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("source", [Rows, as_batches, as_tf_dataset])
def test_datasets_evaluate_and_train_as_lists_do(model, source):
    expected = model.evaluate(X, Y, batch_size=12, verbose=0)
    found = model.evaluate(source(), batch_size=6, verbose=0)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert np.isfinite(model.fit(source(), verbose=0).history["loss"]).all()


class TestSaving:
    def test_folders_and_archives_keep_preprocessor_and_threshold(self, trained, tmp_path):
        expected = trained.answer(X["question"], X["context"])
        trained.save_to_preset(tmp_path / "preset")
        trained.save(tmp_path / "model.keras")
        for again in (
            kerasbert.QuestionAnswerer.from_preset(tmp_path / "preset"),
            keras.saving.load_model(tmp_path / "model.keras"),
        ):
            assert again.no_answer_threshold == trained.no_answer_threshold
            assert again.preprocessor.get_config()["stride"] == 8
            found = again.answer(X["question"], X["context"])
            assert [each["text"] for each in found] == [each["text"] for each in expected]
        other = kerasbert.QuestionAnswerer.from_preset(
            tmp_path / "preset", no_answer_threshold=None
        )
        assert other.no_answer_threshold is None

    def test_a_folder_of_transformers_gets_a_preprocessor(self, trained, tmp_path):
        trained.export_to_transformers(tmp_path)
        again = kerasbert.QuestionAnswerer.from_preset(tmp_path)
        assert isinstance(again.preprocessor, kerasbert.QuestionAnswererPreprocessor)
        assert again.preprocessor.sequence_length == 48  # the encoder's; its usual one is 384
        assert json.loads((tmp_path / "config.json").read_text())["architectures"] == [
            "BertForQuestionAnswering"
        ]
        assert again.answer(QUESTIONS[0], "The old kitchen.")["text"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_answers_from_the_same_rows(tokenizer, family):
    config = tiny_families.config_of(
        family, vocabulary_size=tokenizer.vocabulary_size(), num_layers=1, max_sequence_length=48
    )
    model = kerasbert.QuestionAnswerer(
        kerasbert.Encoder(config, family=family),
        kerasbert.QuestionAnswererPreprocessor(tokenizer, **{**SETTINGS, "buckets": ()}),
    )
    together = model.answer(X["question"], X["context"])
    for found in together:
        assert CONTEXT[found["start"] : found["end"]] == found["text"] != ""
    alone = model.answer(X["question"][1], CONTEXT)
    assert (alone["start"], alone["end"]) == (together[1]["start"], together[1]["end"])


class TestMisuse:
    def test_an_answer_that_is_not_in_its_context_is_named(self, model):
        y = [Y[0], {"text": "old hall", "start": 3}, *Y[2:]]
        message = r"'old hall' with start=3 for question 1, where the context has ' kettle '"
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, verbose=0)

    def test_answers_that_are_cut_are_counted(self, model):
        y = [answer(CONTEXT[20:]), *Y[1:]]
        with pytest.warns(UserWarning, match="1 answers lie in no window") as record:
            model.evaluate(X, y, verbose=0)
        assert record[0].filename == __file__

    def test_a_bare_tuple_is_refused(self, model):
        for call in (model.predict, model.predict_answers, model.preprocessor):
            with pytest.raises(TypeError, match="bare tuple"):
                call((QUESTIONS, [CONTEXT] * 4))
        with pytest.raises(TypeError, match="bare tuple"):
            model.fit((QUESTIONS, [CONTEXT] * 4), Y[:4])

    def test_numbers_of_questions_contexts_and_answers_must_agree(self, model):
        with pytest.raises(ValueError, match="2 questions, 1 contexts"):
            model.answer(QUESTIONS[:2], [CONTEXT])
        with pytest.raises(ValueError, match="6 in x, 2 in y"):
            model.fit(X, Y[:2])
        with pytest.raises(ValueError, match="6 in x, 7 in y"):
            model.tune_threshold(X, [*Y, None])
        with pytest.raises(TypeError, match="two strings, or two lists"):
            model.answer(QUESTIONS[:2], CONTEXT)

    def test_a_stride_not_smaller_than_the_window_is_refused(self, tokenizer):
        preprocessor = kerasbert.QuestionAnswererPreprocessor(
            tokenizer, sequence_length=32, stride=32
        )
        with pytest.raises(ValueError, match=r"`stride`.*Make it smaller"):
            model_of(tokenizer, preprocessor=preprocessor).answer(QUESTIONS[0], CONTEXT)

    def test_a_question_longer_than_the_window_is_refused(self, model):
        with pytest.raises(ValueError, match="shorten input 0"):
            model.answer("where " * 40, CONTEXT)

    def test_no_questions_cannot_be_trained(self, model):
        with pytest.raises(ValueError, match="at least one example"):
            model.fit({"question": [], "context": []}, [])

    @pytest.mark.parametrize("name", ["top_k", "n_best", "max_answer_length"])
    def test_counts_are_positive(self, trained, name):
        for value in (0, 1.5, None, True):
            with pytest.raises(ValueError, match=f"`{name}` must be a positive int"):
                trained.answer(QUESTIONS[0], CONTEXT, **{name: value})

    def test_text_needs_a_preprocessor(self, trained):
        model = kerasbert.QuestionAnswerer(trained.backbone)
        with pytest.raises(ValueError, match="Answers need a preprocessor"):
            model.answer(QUESTIONS[0], CONTEXT)


def _span(text):
    start = CONTEXT.index(text)
    return {"start": start, "end": start + len(text)}
