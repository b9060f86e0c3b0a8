"""The fine-tuning recipe: what decays, and how the learning rate moves."""

import keras
import numpy as np
import pytest

from kerasbert import Encoder, EncoderConfig, TextClassifier, tuning

CONFIG = EncoderConfig(
    vocabulary_size=9, num_layers=1, num_heads=1, hidden_dim=4, intermediate_dim=6
)


def numpy(x):
    return keras.ops.convert_to_numpy(x)


@pytest.fixture
def model():
    model = TextClassifier(Encoder(CONFIG), num_classes=2)
    draw = np.random.default_rng(0)
    for variable in model.weights:
        variable.assign(draw.normal(1.0, 0.3, variable.shape))
    return model


def step_without_gradients(optimizer, variables):
    before = {v.path: numpy(v).copy() for v in variables}
    optimizer.build(variables)
    optimizer.apply([keras.ops.zeros(v.shape) for v in variables], variables)
    return before, {v.path: numpy(v) for v in variables}


def assert_decays_by_kind(before, after, kept):
    """One step of pure decay: w (1 - rate * decay) (Loshchilov & Hutter, 2019, algorithm 2)."""
    for path, value in before.items():
        factor = 1.0 if path.endswith(("bias", "gamma", "beta")) else kept
        np.testing.assert_allclose(after[path], value * factor, rtol=1e-6, err_msg=path)


def test_kernels_and_tables_decay_and_biases_and_norms_do_not(model):
    optimizer = tuning.AdamW(learning_rate=0.5, weight_decay=0.1)
    before, after = step_without_gradients(optimizer, model.trainable_variables)
    assert_decays_by_kind(before, after, kept=1 - 0.5 * 0.1)


def test_what_decays_is_the_same_after_a_model_is_read_back(model, tmp_path):
    model.compile(optimizer=tuning.AdamW(learning_rate=0.5, weight_decay=0.1))
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert isinstance(again.optimizer, tuning.AdamW)
    before, after = step_without_gradients(again.optimizer, again.trainable_variables)
    assert_decays_by_kind(before, after, kept=1 - 0.5 * 0.1)


def test_what_stays_undecayed_may_be_chosen(model):
    optimizer = tuning.AdamW(learning_rate=0.5, weight_decay=0.1, undecayed=(r"^layer_0/",))
    before, after = step_without_gradients(optimizer, model.trainable_variables)
    for path, value in before.items():
        factor = 1.0 if path.startswith("layer_0/") else 0.95
        np.testing.assert_allclose(after[path], value * factor, rtol=1e-6, err_msg=path)


def test_everything_may_decay(model):
    optimizer = tuning.AdamW(learning_rate=0.5, weight_decay=0.1, undecayed=())
    before, after = step_without_gradients(optimizer, model.trainable_variables)
    for path, value in before.items():
        np.testing.assert_allclose(after[path], value * 0.95, rtol=1e-6, err_msg=path)


def test_a_step_inside_fit_decays_in_the_same_way(model):
    """All examples weigh nothing: the compiled step has no gradient, only decay."""
    model.compile(optimizer=tuning.AdamW(learning_rate=0.5, weight_decay=0.1))
    before = {v.path: numpy(v).copy() for v in model.trainable_variables}
    ids = np.ones((2, 4), "int32")
    batch = {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids}
    model.fit(batch, [0, 1], sample_weight=[0.0, 0.0], batch_size=2, verbose=0)
    after = {v.path: numpy(v) for v in model.trainable_variables}
    assert_decays_by_kind(before, after, kept=1 - 0.5 * 0.1)


def test_without_decay_nothing_moves(model):
    optimizer = tuning.AdamW(learning_rate=0.5, weight_decay=0.0)
    before, after = step_without_gradients(optimizer, model.trainable_variables)
    for path, value in before.items():
        np.testing.assert_array_equal(after[path], value, err_msg=path)


def test_one_step_is_adams(model):
    """theta - rate * m_hat / (sqrt(v_hat) + epsilon): in the first step rate * sign(gradient)."""
    variable = model.trainable_variables[0]
    before = numpy(variable).copy()
    gradient = np.where(np.arange(before.size).reshape(before.shape) % 2, 3.0, -2.0)
    optimizer = tuning.AdamW(learning_rate=0.01, weight_decay=0.1, epsilon=1e-9)
    optimizer.build([variable])
    optimizer.apply([keras.ops.convert_to_tensor(gradient, "float32")], [variable])
    expected = before * (1 - 0.01 * 0.1) - 0.01 * np.sign(gradient)
    np.testing.assert_allclose(numpy(variable), expected, rtol=1e-4)


def test_the_recipe_is_the_papers():
    optimizer = tuning.optimizer()
    assert isinstance(optimizer, tuning.AdamW)
    schedule = optimizer.get_config()["learning_rate"]["config"]
    assert (schedule["peak"], schedule["warmup"]) == (2e-5, 0.1)
    assert optimizer.weight_decay == 0.01
    # google-research/bert, optimization.py: epsilon, beta_1, beta_2, clipping
    assert (optimizer.epsilon, optimizer.beta_1, optimizer.beta_2) == (1e-6, 0.9, 0.999)
    assert optimizer.global_clipnorm == 1.0


def test_the_recipe_may_be_changed():
    optimizer = tuning.optimizer(1e-3, 0.2, warmup=0.3, total_steps=10, clip_norm=None, beta_1=0.8)
    assert (optimizer.weight_decay, optimizer.beta_1) == (0.2, 0.8)
    assert optimizer.global_clipnorm is None
    schedule = optimizer.get_config()["learning_rate"]["config"]
    assert schedule == {"peak": 1e-3, "warmup": 0.3, "total_steps": 10, "first_step": 0}
