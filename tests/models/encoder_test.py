"""What an encoder takes, gives, records and refuses."""

import keras
import keras_hub
import numpy as np
import pytest
from keras import ops

from kerasbert import Absolute, Encoder, EncoderConfig, Sharing, TextClassifier, trace


def numpy(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))


@pytest.fixture(scope="module")
def encoder(config):
    return Encoder(config)


@pytest.fixture(scope="module")
def distilled(config):
    """An encoder that has no use for segments."""
    return Encoder(config.replace(num_segments=0, pooler=None))


# Outputs


def test_the_outputs_are_those_of_the_design(encoder, distilled, batch):
    outputs = encoder(batch)
    assert isinstance(encoder, keras_hub.models.Backbone)
    assert set(outputs) == {"sequence_output", "pooled_output"}
    assert outputs["sequence_output"].shape == (2, 5, 8)
    assert outputs["pooled_output"].shape == (2, 8)
    assert list(distilled(batch)) == ["sequence_output"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "mixed_float16", "mixed_bfloat16"])
def test_outputs_have_the_compute_dtype(config, batch, dtype):
    outputs = Encoder(config, dtype=dtype)(batch)
    wanted = dtype.removeprefix("mixed_")
    assert {keras.backend.standardize_dtype(y.dtype) for y in outputs.values()} == {wanted}


def test_the_pooler_is_a_dense_layer_over_the_first_token(encoder, batch):
    outputs = {name: numpy(value) for name, value in encoder(batch).items()}
    pooler = encoder.get_layer("pooler")
    expected = np.tanh(outputs["sequence_output"][:, 0] @ numpy(pooler.kernel) + numpy(pooler.bias))
    np.testing.assert_allclose(outputs["pooled_output"], expected, atol=1e-6)


@pytest.mark.parametrize(
    "changes", [{}, {"causal": True}, {"position": Absolute(counting="non_padding")}], ids=str
)
def test_padding_that_follows_changes_nothing(config, batch, changes):
    encoder = Encoder(config.replace(**changes))
    padded = {name: np.pad(x, ((0, 0), (0, 7))) for name, x in batch.items()}
    padded["token_ids"][:, 5:] = 13  # whatever stands there
    padded["segment_ids"][:, 5:] = 1
    short, long = (numpy(encoder(x)["sequence_output"]) for x in (batch, padded))
    real = batch["padding_mask"].astype(bool)
    np.testing.assert_allclose(long[:, :5][real], short[real], atol=1e-5)


def test_a_causal_encoder_sees_nothing_that_follows(config, batch):
    encoder = Encoder(config.replace(causal=True))
    changed = {**batch, "token_ids": batch["token_ids"].copy()}
    changed["token_ids"][0, 3] = 20
    before, after = (numpy(encoder(x)["sequence_output"])[0] for x in (batch, changed))
    np.testing.assert_allclose(after[:3], before[:3], atol=1e-6)
    assert np.abs(after[3:] - before[3:]).max() > 1e-3


def test_without_training_there_is_no_dropout(encoder, batch):
    first, second = (numpy(encoder(batch)["sequence_output"]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    trained = numpy(encoder(batch, training=True)["sequence_output"])
    assert np.abs(trained - first).max() > 1e-3


@pytest.mark.parametrize(
    "dtype", ["float32", "mixed_float16", "mixed_bfloat16", "float16", "bfloat16"]
)
@pytest.mark.parametrize("training", [False, True])
def test_a_row_without_real_tokens_is_finite_and_so_are_its_gradients(
    config, batch, gradients, dtype, training
):
    encoder = Encoder(config.replace(pooler=None), dtype=dtype)
    batch = {**batch, "padding_mask": np.array([[1] * 5, [0] * 5], "int32")}
    outputs = []

    def loss():
        y = encoder(batch, training=training)["sequence_output"]
        outputs.append(y)
        return ops.mean(ops.square(ops.cast(y, "float32") - 0.5))

    found = gradients(encoder, loss)
    assert len(found) == len(encoder.trainable_variables)
    for path, gradient in found.items():
        assert np.isfinite(gradient).all(), path
    with_mask = encoder(batch)["sequence_output"]
    assert np.isfinite(numpy(with_mask)).all()


# Inputs


@pytest.mark.parametrize("extra", ["aaa", "mask_positions", "zzz"])
def test_entries_that_are_not_used_are_ignored(distilled, encoder, batch, extra):
    more = {extra: np.full((2, 5), 3, "int32"), **batch}
    for model in (distilled, encoder):
        expected = numpy(model(batch)["sequence_output"])
        np.testing.assert_array_equal(numpy(model(more)["sequence_output"]), expected)
        np.testing.assert_array_equal(numpy(model.call(more)["sequence_output"]), expected)
        found = model.predict(more, verbose=0)["sequence_output"]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_entries_that_are_not_used_are_ignored_in_a_stateless_call(distilled, batch):
    more = {"aaa": np.full((2, 5), 3, "int32"), **batch}
    found, _ = distilled.stateless_call(
        [v.value for v in distilled.trainable_variables],
        [v.value for v in distilled.non_trainable_variables],
        more,
    )
    expected = numpy(distilled(batch)["sequence_output"])
    np.testing.assert_allclose(numpy(found["sequence_output"]), expected, atol=1e-6)


def test_the_order_of_the_entries_is_of_no_account(encoder, batch):
    expected = numpy(encoder(batch)["sequence_output"])
    for names in (sorted(batch), sorted(batch, reverse=True)):
        shuffled = {name: batch[name] for name in names}
        np.testing.assert_array_equal(numpy(encoder(shuffled)["sequence_output"]), expected)


def test_a_missing_input_is_named(encoder, batch):
    del (batch := dict(batch))["segment_ids"]
    with pytest.raises(ValueError, match=r"Missing: \['segment_ids'\]"):
        encoder(batch)


@pytest.mark.parametrize("inputs", [np.ones((2, 5), "int32"), [1, 2], (np.ones((1, 2)),)], ids=str)
def test_what_is_no_dict_is_refused(encoder, inputs):
    with pytest.raises(ValueError, match="takes a dict with the keys"):
        encoder(inputs)


def test_an_input_that_is_too_long_is_refused(encoder, batch):
    with pytest.raises(ValueError, match=r"length=33, max_sequence_length=32"):
        encoder({name: np.ones((1, 33), "int32") for name in batch})


def test_it_is_part_of_a_functional_model(encoder, batch):
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("token_ids", "segment_ids", "padding_mask")
    }
    outputs = keras.layers.Dense(3)(encoder(inputs)["pooled_output"])
    model = keras.Model(inputs, outputs)
    assert model.predict(batch, verbose=0).shape == (2, 3)
    for variable in encoder.weights:
        assert any(variable is other for other in model.weights)


# Traces


def test_traces_are_lists_by_layer(encoder, config, batch):
    names = ("hidden_states", "attention_scores", "attention_weights", "queries", "keys", "values")
    with trace(*names) as record:
        outputs = encoder(batch)
    assert set(record) == set(names)
    assert len(record["hidden_states"]) == config.num_layers + 1
    np.testing.assert_array_equal(
        numpy(record["hidden_states"][-1]), numpy(outputs["sequence_output"])
    )
    shapes = {"attention_scores": (2, 2, 5, 5), "queries": (2, 5, 2, 4)}
    shapes |= {"attention_weights": (2, 2, 5, 5), "keys": (2, 5, 2, 4), "values": (2, 5, 2, 4)}
    for name, shape in shapes.items():
        assert [tuple(value.shape) for value in record[name]] == [shape] * config.num_layers, name


def test_traced_weights_are_the_softmax_of_traced_scores_over_real_tokens(encoder, batch):
    with trace("attention_scores", "attention_weights", "queries", "keys") as record:
        encoder(batch)
    for scores, weights, queries, keys in zip(
        *map(record.get, ("attention_scores", "attention_weights", "queries", "keys")), strict=True
    ):
        scores, queries, keys = numpy(scores), numpy(queries), numpy(keys)
        expected = np.einsum("btnh,bsnh->bnts", queries, keys) / np.sqrt(4)
        np.testing.assert_allclose(scores, expected, atol=1e-5)
        exponents = np.exp(scores) * batch["padding_mask"][:, None, None, :]
        expected = exponents / exponents.sum(-1, keepdims=True)
        np.testing.assert_allclose(numpy(weights), expected, atol=1e-5)


def test_nothing_is_recorded_outside(encoder, batch):
    with trace("hidden_states") as record:
        pass
    encoder(batch)
    assert record["hidden_states"] == []


def test_traces_nest_and_each_collects_its_own(encoder, batch):
    with trace("hidden_states") as outer:
        encoder(batch)
        with trace("hidden_states", "values") as inner:
            encoder(batch)
    assert len(outer["hidden_states"]) == 6
    assert len(inner["hidden_states"]) == 3
    assert "values" not in outer


def test_a_trace_ends_with_an_error_too(encoder, batch):
    with pytest.raises(ZeroDivisionError), trace("hidden_states") as record:
        raise ZeroDivisionError
    encoder(batch)
    assert record["hidden_states"] == []


def test_a_name_that_is_not_traced_is_refused():
    with pytest.raises(ValueError, match=r"hidden_states.*'logits'"), trace("logits"):
        pass


def test_a_trace_stands_around_a_task(encoder, batch, config):
    classifier = TextClassifier(encoder, num_classes=3)
    with trace("hidden_states") as record:
        logits = classifier(batch)
    expected = numpy(encoder(batch)["sequence_output"])
    np.testing.assert_allclose(numpy(record["hidden_states"][-1]), expected, atol=1e-6)
    assert len(record["hidden_states"]) == config.num_layers + 1
    assert logits.shape == (2, 3)


class PullsStatesTogether(keras.Model):
    """Trains an encoder on its own traced states: logits and traces come from one run."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def call(self, inputs, training=False):
        with trace("hidden_states") as record:
            outputs = self.encoder(inputs, training=training)
        self.add_loss(ops.mean(ops.square(record["hidden_states"][1])))
        return outputs["pooled_output"]


def test_a_trace_works_inside_a_compiled_training_step(config, batch):
    encoder = Encoder(config.replace(hidden_dropout=0.0, attention_dropout=0.0))
    model = PullsStatesTogether(encoder)
    expected = np.mean(np.square(numpy(_first_states(encoder, batch))))
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss=lambda y, y_pred: 0.0 * y_pred[:, 0])
    data = {**batch, "aaa": np.zeros((2, 5), "int32")}
    losses = model.fit(data, np.zeros(2), epochs=3, batch_size=2, verbose=0).history["loss"]
    assert losses[0] == pytest.approx(expected, rel=1e-4)
    assert losses[-1] < losses[0]


def _first_states(encoder, batch):
    with trace("hidden_states") as record:
        encoder(batch)
    return record["hidden_states"][1]


# Features


@pytest.mark.parametrize(
    ("combine", "formula"),
    [
        ("concat", lambda states: np.concatenate(states, axis=-1)),
        ("sum", lambda states: np.sum(states, axis=0)),
        ("mean", lambda states: np.mean(states, axis=0)),
        ("stack", lambda states: np.stack(states, axis=1)),
    ],
)
def test_features_combine_hidden_states(encoder, batch, combine, formula):
    with trace("hidden_states") as record:
        encoder(batch)
    states = [numpy(state) for state in record["hidden_states"]]
    found = encoder.features(batch, layers=(-1, 0), combine=combine)
    np.testing.assert_allclose(numpy(found), formula([states[-1], states[0]]), atol=1e-6)


def test_the_default_features_are_the_last_four_layers(batch, config):
    found = Encoder(config.replace(num_layers=4)).features(batch)
    assert found.shape == (2, 5, 4 * 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"combine": "max", "layers": (1,)}, "combine='max'"),
        ({"layers": (3,)}, "3 hidden states"),
        ({"layers": (-4,)}, "-4"),
        ({"layers": ()}, "layers="),
    ],
)
def test_features_refuse_what_is_not_there(encoder, batch, options, message):
    with pytest.raises(ValueError, match=message):
        encoder.features(batch, **options)


# Variables, configurations, copies


def test_paths_of_variables_are_a_contract(config):
    encoder = Encoder(config.replace(embedding_dim=4, norm_placement="pre"))
    paths = [variable.path for variable in encoder.weights]
    parts = {path.split("/")[0] for path in paths}
    assert parts == {"embeddings", "layer_0", "layer_1", "final_norm", "pooler"}
    assert "layer_1/attention/query/kernel" in paths
    assert "embeddings/token/embeddings" in paths
    classifier = TextClassifier(encoder, num_classes=2)
    assert set(paths) < {variable.path for variable in classifier.weights}


def test_shared_layers_have_one_set_of_variables(config):
    encoder = Encoder(config.replace(num_layers=4, sharing=Sharing(groups=2)))
    parts = {variable.path.split("/")[0] for variable in encoder.weights}
    assert parts == {"embeddings", "layer_0", "layer_1", "pooler"}


def test_two_encoders_in_a_process_have_the_same_paths(config):
    first, second = ([v.path for v in Encoder(config).weights] for _ in range(2))
    assert first == second


def test_a_configuration_and_its_dict_build_the_same(config):
    assert Encoder(config.to_dict()).config == config


@pytest.mark.parametrize("dtype", [None, "mixed_bfloat16"])
def test_an_encoder_is_rebuilt_from_its_configuration(config, batch, dtype):
    encoder = Encoder(config, family="albert", name="mine", dtype=dtype)
    again = Encoder.from_config(encoder.get_config())
    assert (again.config, again.family, again.name) == (config, "albert", "mine")
    assert again.dtype_policy.name == encoder.dtype_policy.name
    again.set_weights(encoder.get_weights())
    np.testing.assert_array_equal(
        *(numpy(model(batch)["sequence_output"]) for model in (encoder, again))
    )


def test_a_global_dtype_policy_is_followed(config, batch):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        encoder = Encoder(config)
    finally:
        keras.config.set_dtype_policy(before)
    assert encoder.dtype_policy.name == "mixed_bfloat16"
    output = encoder(batch)["sequence_output"]
    assert keras.backend.standardize_dtype(output.dtype) == "bfloat16"


def test_a_keras_archive_is_read_back(encoder, batch, tmp_path):
    encoder.save(tmp_path / "encoder.keras")
    again = keras.saving.load_model(tmp_path / "encoder.keras")
    assert isinstance(again, Encoder)
    np.testing.assert_array_equal(
        *(numpy(model(batch)["sequence_output"]) for model in (encoder, again))
    )


def test_one_weights_file_serves_all_backends(
    encoder, config, batch, run_fresh, other_backends, tmp_path
):
    encoder.save_weights(tmp_path / "encoder.weights.h5")
    np.savez(tmp_path / "batch.npz", **batch)
    source = f"""
        import numpy as np
        from keras import ops
        from kerasbert import Encoder

        encoder = Encoder({config.to_dict()!r})
        encoder.load_weights("encoder.weights.h5")
        outputs = encoder(dict(np.load("batch.npz")))
        np.save("out.npy", ops.convert_to_numpy(outputs["pooled_output"]))
    """
    expected = numpy(encoder(batch)["pooled_output"])
    for backend in other_backends:
        run_fresh(source, backend, tmp_path)
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-5)


def test_the_docstring_example_of_the_configuration_holds():
    small = EncoderConfig(num_layers=4, num_heads=8, hidden_dim=512, intermediate_dim=2048)
    assert EncoderConfig.from_dict(small.to_dict()) == small
