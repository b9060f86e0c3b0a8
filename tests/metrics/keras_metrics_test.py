"""F1, Matthews' and Pearson's correlation as Keras metrics, against scikit-learn and SciPy."""

import keras
import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

from kerasbert.metrics import F1, MatthewsCorrelation, PearsonCorrelation

SIZES = (30, 1, 17)


def batches(seed, classes):
    """Labels (B,), logits (B, classes) that are right more often than not, and weights (B,)."""
    generator = np.random.default_rng(seed)
    for size in SIZES:
        labels = generator.integers(classes, size=size)
        logits = generator.normal(size=(size, classes)) + 1.5 * np.eye(classes)[labels]
        yield labels, logits.astype("float32"), generator.integers(3, size=size).astype("float32")


def streamed(metric, data, weighted):
    """The metric's result over batches, with and without `sample_weight`."""
    for labels, outputs, weights in data:
        metric.update_state(labels, outputs, sample_weight=weights if weighted else None)
    return float(metric.result())


def joined(data, weighted):
    labels, outputs, weights = map(np.concatenate, zip(*data, strict=True))
    return labels, outputs, weights if weighted else np.ones_like(weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("classes", "average"),
    [(2, "binary"), (2, "macro"), (4, "macro"), (4, "micro"), (30, "macro")],
)
def test_f1_is_that_of_scikit_learn_over_all_batches(classes, average, weighted):
    data = list(batches(0, classes))
    labels, logits, weights = joined(data, weighted)
    kept = weights > 0
    expected = sklearn.metrics.f1_score(
        labels[kept], logits.argmax(-1)[kept], average=average, sample_weight=weights[kept]
    )
    found = streamed(F1(classes, average), data, weighted)
    assert found == pytest.approx(expected, abs=1e-6)


def test_f1_of_the_other_class_is_that_of_scikit_learn():
    data = list(batches(1, 2))
    labels, logits, _ = joined(data, False)
    expected = sklearn.metrics.f1_score(labels, logits.argmax(-1), pos_label=0)
    assert streamed(F1(positive=0), data, False) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_f1_of_several_classes_for_each_example_is_that_of_scikit_learn(average):
    generator = np.random.default_rng(2)
    data = [
        (
            generator.integers(2, size=(size, 3)).astype("float32"),
            generator.normal(size=(size, 3)).astype("float32"),
            np.ones(size, "float32"),
        )
        for size in SIZES
    ]
    labels, logits, _ = joined(data, False)
    expected = sklearn.metrics.f1_score(labels, logits > 0, average=average)
    found = streamed(F1(3, average, multi_label=True), data, True)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_matthews_correlation_is_that_of_scikit_learn(classes, weighted):
    data = list(batches(3, classes))
    labels, logits, weights = joined(data, weighted)
    expected = sklearn.metrics.matthews_corrcoef(labels, logits.argmax(-1), sample_weight=weights)
    found = streamed(MatthewsCorrelation(classes), data, weighted)
    assert found == pytest.approx(expected, abs=1e-5)


def test_one_class_only_gives_zero():
    metrics = [F1(), MatthewsCorrelation()]
    for metric in metrics:
        metric.update_state([0, 0, 1], [[1.0, 0.0]] * 3)
    assert [float(metric.result()) for metric in metrics] == [0, 0]


def scores(seed, offset=0.0):
    generator = np.random.default_rng(seed)
    for size in SIZES:
        y = generator.normal(size=(size, 1)) + offset
        x = y + generator.normal(size=(size, 1))
        weights = generator.integers(2, size=size)
        yield y.astype("float32"), x.astype("float32"), weights.astype("float32")


@pytest.mark.parametrize("weighted", [False, True])
def test_pearson_correlation_is_that_of_scipy_over_all_batches(weighted):
    data = list(scores(4))
    labels, outputs, weights = joined(data, weighted)
    kept = weights > 0
    expected = scipy.stats.pearsonr(labels[kept, 0], outputs[kept, 0]).statistic
    found = streamed(PearsonCorrelation(), data, weighted)
    assert found == pytest.approx(expected, abs=1e-6)


def test_pearson_correlation_counts_a_pair_by_its_weight():
    labels, outputs = np.array([1.0, 2.0, 4.0, 3.0]), np.array([2.0, 1.0, 5.0, 3.0])
    metric = PearsonCorrelation()
    metric.update_state(labels, outputs, sample_weight=[1, 3, 0, 2])
    repeated = np.repeat([labels, outputs], [1, 3, 0, 2], axis=1)
    expected = scipy.stats.pearsonr(*repeated).statistic
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)


def test_pearson_correlation_stays_accurate_far_from_zero():
    data = list(scores(5, offset=1000.0))
    labels, outputs, _ = (array.astype("float64") for array in joined(data, False))
    expected = scipy.stats.pearsonr(labels[:, 0], outputs[:, 0]).statistic
    assert streamed(PearsonCorrelation(), data, False) == pytest.approx(expected, abs=1e-4)


def test_pearson_correlation_of_a_constant_series_is_nan_as_in_scipy():
    metric = PearsonCorrelation()
    for values in ([0.3, 0.7, 0.1], [0.5, 0.2]):
        metric.update_state(values, [0.1] * len(values))
    assert np.isnan(float(metric.result()))


def test_rows_of_weight_zero_do_not_reach_a_correlation_whatever_they_hold():
    metric = PearsonCorrelation()
    metric.update_state([0.0], [1.0], sample_weight=[0.0])
    labels, outputs = [1.0, 2.0, 3.0, 0.0], [1.0, 3.0, 2.0, float("nan")]
    metric.update_state(labels, outputs, sample_weight=[1.0, 1.0, 1.0, 0.0])
    assert float(metric.result()) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "metric",
    [
        F1(3, "macro", name="ours"),
        F1(positive=0),
        F1(2, "micro", multi_label=True),
        MatthewsCorrelation(3),
        PearsonCorrelation(),
    ],
    ids=lambda metric: type(metric).__name__,
)
def test_metrics_are_restored_from_their_configuration(metric):
    restored = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
    assert type(restored) is type(metric)
    assert restored.get_config() == metric.get_config()


@pytest.mark.parametrize(
    ("metric", "outputs"),
    [(F1(3, "macro"), 3), (MatthewsCorrelation(3), 3), (PearsonCorrelation(), 1)],
    ids=lambda value: type(value).__name__,
)
def test_compiled_evaluation_gives_the_same(metric, outputs):
    generator = np.random.default_rng(6)
    y = generator.integers(3, size=20) if outputs == 3 else generator.normal(size=20)
    y = y.astype("int32" if outputs == 3 else "float32")
    x = generator.normal(size=(20, outputs)).astype("float32")
    weights = np.array([1, 1, 0, 1] * 5, "float32")
    metric.reset_state()
    metric.update_state(y, x, sample_weight=weights)
    expected = float(metric.result())
    metric.reset_state()
    inputs = keras.Input((outputs,))
    model = keras.Model(inputs, keras.layers.Activation("linear")(inputs))
    compiled = keras.backend.backend() != "torch"  # where torch.compile would take minutes
    model.compile(
        loss=lambda y_true, y_pred: keras.ops.mean(y_pred, axis=1),
        weighted_metrics=[metric],
        jit_compile=compiled,
    )
    figures = model.evaluate(x, y, sample_weight=weights, batch_size=8, verbose=0, return_dict=True)
    assert expected not in (0, 1)
    assert figures[metric.name] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "options",
    [{"average": "weighted"}, {"num_classes": 3}, {"multi_label": True}, {"positive": "yes"}],
)
def test_averages_that_do_not_fit_are_refused(options):
    with pytest.raises(ValueError, match="average"):
        F1(**options)
