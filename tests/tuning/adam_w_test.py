"""AdamW against torch's, with rates by layer, accumulated gradients and all around a step."""

import keras
import numpy as np
import pytest
import torch
from transformers import get_linear_schedule_with_warmup

from kerasbert import tuning
from kerasbert.tuning import fused_steps
from tests.models.conftest import gradients  # noqa: F401
from tests.tuning.tuned_models import BATCH, LABELS, classifier, numpy, values_of

RATE, DECAY = 0.01, 0.3
# Where gradients are computed in two ways: those of the keys' biases are zero but for rounding.
EPSILON = 1e-3
UNDECAYED = ("bias", "gamma", "beta")


@pytest.fixture
def model():
    model = classifier()
    draw = np.random.default_rng(0)
    for variable in model.weights:
        variable.assign(draw.normal(1.0, 0.3, variable.shape))
    return model


@pytest.fixture(params=[10**6, 0] if keras.backend.backend() == "tensorflow" else [10**6])
def from_size_on(request, monkeypatch):
    """From which size of a model on TensorFlow compiles the step."""
    monkeypatch.setattr(fused_steps, "_WORTH_COMPILING", request.param)


def optimizer(**options):
    return tuning.AdamW(learning_rate=RATE, weight_decay=DECAY, **{"epsilon": 1e-6, **options})


def drawn_gradients(variables, steps, seed=1):
    """Of very different sizes, so that clipping and epsilon matter. For each step one by path."""
    draw = np.random.default_rng(seed)
    scales = {v.path: 10.0 ** draw.uniform(-5, 0) for v in variables}
    return [
        {v.path: (scales[v.path] * draw.normal(size=v.shape)).astype("float32") for v in variables}
        for _ in range(steps)
    ]


def layer_rates(path):
    """For two layers and a factor of 0.5, as Sun et al. (2019) give it."""
    if path.startswith("layer_1/"):
        return 1.0
    if path.startswith("layer_0/"):
        return 0.5
    return 0.25 if path.startswith("embeddings/") else 1.0


class Reference:
    """torch's AdamW, every variable a group of its own."""

    def __init__(
        self, variables, relative_rate=lambda path: 1.0, clip_norm=None, eps=1e-6, **options
    ):
        self.weights = {v.path: torch.tensor(numpy(v), requires_grad=True) for v in variables}
        self.clip_norm = clip_norm
        groups = [
            {
                "params": [weight],
                "lr": RATE * relative_rate(path),
                "weight_decay": 0.0 if path.endswith(UNDECAYED) else DECAY,
            }
            for path, weight in self.weights.items()
        ]
        self.optimizer = torch.optim.AdamW(groups, eps=eps, **options)

    def step(self, by_path):
        for path, weight in self.weights.items():
            weight.grad = torch.tensor(by_path[path])
        if self.clip_norm:
            torch.nn.utils.clip_grad_norm_(self.weights.values(), self.clip_norm)
        self.optimizer.step()

    def assert_equals(self, variables):
        for variable in variables:
            expected = self.weights[variable.path].detach().numpy()
            np.testing.assert_allclose(
                numpy(variable), expected, rtol=2e-6, atol=1e-6, err_msg=variable.path
            )


def apply(optimizer, variables, by_path):
    tensors = [keras.ops.convert_to_tensor(by_path[v.path].copy()) for v in variables]
    optimizer.apply(tensors, variables)


@pytest.mark.parametrize(
    ("clip_norm", "options"),
    [(None, {}), (0.1, {}), (0.1, {"amsgrad": True}), (None, {"beta_1": 0.0, "beta_2": 0.9})],
    ids=str,
)
def test_steps_are_torchs(model, clip_norm, options):
    ours = optimizer(layer_decay=0.5, num_layers=2, global_clipnorm=clip_norm, **options)
    betas = (options.get("beta_1", 0.9), options.get("beta_2", 0.999))
    variables = model.trainable_variables
    reference = Reference(
        variables, layer_rates, clip_norm, betas=betas, amsgrad=options.get("amsgrad", False)
    )
    before = values_of(model)
    for step in drawn_gradients(variables, 4):
        apply(ours, variables, step)
        reference.step(step)
    reference.assert_equals(variables)
    for variable in variables:  # the steps were large enough to tell rates and decays apart
        assert np.abs(numpy(variable) - before[variable.path]).max() > 1e-3


@pytest.mark.parametrize("clip_norm", [None, 1.0])
def test_gradients_that_are_given_stay_unless_torch_clips_them(model, clip_norm):
    variables = model.trainable_variables[:3]
    ours = optimizer(global_clipnorm=clip_norm)
    given = [keras.ops.convert_to_tensor(np.full(v.shape, 2.0, "float32")) for v in variables]
    ours.build(variables)
    ours.apply(given, variables)
    norm = 2 * np.sqrt(sum(np.prod(v.shape) for v in variables))
    is_clipped = clip_norm and keras.backend.backend() == "torch"
    for gradient in given:
        np.testing.assert_allclose(numpy(gradient), 2 / norm if is_clipped else 2, rtol=1e-5)


@pytest.mark.usefixtures("from_size_on")
def test_a_step_of_fit_is_torchs(gradients):  # noqa: F811
    """Tokens come several times in a batch: their gradients are to be added before clipping. With
    so large an epsilon, steps are in proportion to the clipped gradients."""
    model, clip_norm = classifier(), 0.05
    for variable in model.weights:
        variable.trainable = variable.path.startswith("embeddings/")
    model.compile(
        optimizer=optimizer(layer_decay=0.5, num_layers=2, global_clipnorm=clip_norm, epsilon=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    inputs = {**BATCH, "token_ids": np.minimum(BATCH["token_ids"], 3)}
    by_path = gradients(model, lambda: model.compute_loss(inputs, LABELS, model(inputs)))
    if keras.backend.backend() == "torch":
        model.zero_grad()
    assert np.sqrt(sum(np.square(each).sum() for each in by_path.values())) > 2 * clip_norm
    reference = Reference(model.trainable_variables, layer_rates, clip_norm, eps=1.0)
    reference.step(by_path)
    model.fit(inputs, LABELS, batch_size=len(LABELS), verbose=0)
    reference.assert_equals(model.trainable_variables)


@pytest.mark.usefixtures("from_size_on")
def test_accumulated_gradients_make_steps_with_the_schedules_rates(model):
    """12 batches, 3 to a step: 4 steps, of which 2 warm up."""
    variables = model.trainable_variables
    schedule = tuning.WarmupLinearDecay(RATE, warmup=0.5, total_steps=4)
    ours = tuning.AdamW(
        schedule, DECAY, epsilon=1e-6, global_clipnorm=0.1, gradient_accumulation_steps=3
    )
    reference = Reference(variables, clip_norm=0.1)
    theirs = get_linear_schedule_with_warmup(reference.optimizer, 2, 4)
    batches = drawn_gradients(variables, 12)
    for batch in batches:
        apply(ours, variables, batch)
    for step in range(4):
        group = batches[3 * step : 3 * step + 3]
        reference.step({path: sum(each[path] for each in group) / 3 for path in group[0]})
        theirs.step()
    reference.assert_equals(variables)


def trained(rows, accumulation, order):
    """Weights after 3 epochs of 2 steps with warm-up, as `fit` plans them."""
    keras.utils.set_random_seed(0)
    model = classifier()
    model.compile(
        optimizer=tuning.optimizer(
            model,
            learning_rate=RATE,
            layer_decay=0.5,
            warmup=1 / 3,
            epsilon=EPSILON,
            gradient_accumulation_steps=accumulation,
        )
    )
    inputs = {name: np.repeat(array, 4, axis=0)[order] for name, array in BATCH.items()}
    labels = np.repeat(LABELS, 4)[order]
    model.fit(inputs, labels, batch_size=rows, epochs=3, shuffle=False, verbose=0)
    return values_of(model)


def test_small_batches_accumulated_train_as_large_ones_do():
    order = np.random.default_rng(0).permutation(12)
    before = values_of(classifier())
    found, expected = trained(2, 3, order), trained(6, None, order)
    for path, value in expected.items():
        np.testing.assert_allclose(found[path], value, atol=1e-6, err_msg=path)
    assert any(np.abs(expected[path] - value).max() > 1e-2 for path, value in before.items())


def test_averages_of_the_weights_are_those_of_torchs_weights(model):
    """Keras's average starts with the weights after the first step."""
    variables = model.trainable_variables
    ours = optimizer(use_ema=True, ema_momentum=0.75)
    reference, averages = Reference(variables), None
    for step in drawn_gradients(variables, 3):
        apply(ours, variables, step)
        reference.step(step)
        now = {path: weight.detach().clone() for path, weight in reference.weights.items()}
        averages = averages or now
        averages = {path: 0.75 * averages[path] + 0.25 * now[path] for path in now}
    reference.assert_equals(variables)
    ours.finalize_variable_values(variables)
    for variable in variables:
        np.testing.assert_allclose(numpy(variable), averages[variable.path].numpy(), rtol=1e-5)


def step_without_gradients(optimizer, variables):
    before = {v.path: numpy(v) for v in variables}
    optimizer.build(variables)
    optimizer.apply([keras.ops.zeros(v.shape) for v in variables], variables)
    return before, {v.path: numpy(v) for v in variables}


def assert_decays_by_kind(before, after, kept):
    """One step of pure decay: w (1 - rate * decay) (Loshchilov & Hutter, 2019, algorithm 2)."""
    for path, value in before.items():
        factor = 1.0 if path.endswith(UNDECAYED) else kept
        np.testing.assert_allclose(after[path], value * factor, rtol=1e-6, err_msg=path)


@pytest.mark.parametrize("accumulation", [None, 2])
def test_rates_and_decays_are_the_same_after_a_model_is_read_back(model, tmp_path, accumulation):
    options = {"gradient_accumulation_steps": accumulation} if accumulation else {}
    model.compile(optimizer=optimizer(layer_decay=0.5, num_layers=2, **options))
    model.fit(BATCH, LABELS, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert isinstance(again.optimizer, tuning.AdamW)
    states = zip(again.optimizer.variables, model.optimizer.variables, strict=True)
    for found, expected in states:
        np.testing.assert_array_equal(numpy(found), numpy(expected))
    by_path = drawn_gradients(model.trainable_variables, 1)[0]
    for each in (model, again):
        apply(each.optimizer, each.trainable_variables, by_path)
    expected = values_of(model)
    for path, value in values_of(again).items():
        np.testing.assert_allclose(value, expected[path], rtol=1e-6, err_msg=path)


def test_what_decays_is_the_same_after_a_model_is_read_back(model, tmp_path):
    model.compile(optimizer=tuning.AdamW(learning_rate=0.5, weight_decay=0.1))
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    before, after = step_without_gradients(again.optimizer, again.trainable_variables)
    assert_decays_by_kind(before, after, kept=1 - 0.5 * 0.1)


def test_what_stays_undecayed_may_be_chosen(model):
    optimizer = tuning.AdamW(learning_rate=0.5, weight_decay=0.1, undecayed=(r"^layer_0/",))
    before, after = step_without_gradients(optimizer, model.trainable_variables)
    for path, value in before.items():
        factor = 1.0 if path.startswith("layer_0/") else 0.95
        np.testing.assert_allclose(after[path], value * factor, rtol=1e-6, err_msg=path)


def test_what_is_excluded_in_keras_way_does_not_decay_either(model):
    optimizer = tuning.AdamW(learning_rate=0.5, weight_decay=0.1)
    spared = model.trainable_variables[0]
    optimizer.exclude_from_weight_decay(var_list=[spared])
    before, after = step_without_gradients(optimizer, model.trainable_variables)
    np.testing.assert_array_equal(after.pop(spared.path), before.pop(spared.path))
    assert_decays_by_kind(before, after, kept=1 - 0.5 * 0.1)


def test_everything_may_decay(model):
    optimizer = tuning.AdamW(learning_rate=0.5, weight_decay=0.1, undecayed=())
    before, after = step_without_gradients(optimizer, model.trainable_variables)
    for path, value in before.items():
        np.testing.assert_allclose(after[path], value * 0.95, rtol=1e-6, err_msg=path)


def test_a_step_inside_fit_decays_in_the_same_way(model):
    """All examples weigh nothing: the compiled step has no gradient, only decay."""
    model.compile(optimizer=tuning.AdamW(learning_rate=0.5, weight_decay=0.1))
    before = {v.path: numpy(v) for v in model.trainable_variables}
    model.fit(BATCH, LABELS, sample_weight=[0.0, 0.0, 0.0], batch_size=3, verbose=0)
    after = {v.path: numpy(v) for v in model.trainable_variables}
    assert_decays_by_kind(before, after, kept=1 - 0.5 * 0.1)


def test_without_decay_nothing_moves(model):
    optimizer = tuning.AdamW(learning_rate=0.5, weight_decay=0.0)
    before, after = step_without_gradients(optimizer, model.trainable_variables)
    for path, value in before.items():
        np.testing.assert_array_equal(after[path], value, err_msg=path)


def test_shared_layers_are_one_layer():
    model = classifier("albert", num_layers=4)
    ours = tuning.optimizer(model, learning_rate=RATE, layer_decay=0.5)
    ours.build(model.trainable_variables)
    for variable in model.trainable_variables:
        expected = 0.5 if variable.path.startswith("embeddings/") else 1.0
        assert ours.relative_rate(variable) == expected, variable.path


def test_tables_of_positions_that_all_layers_share_have_the_rate_of_embeddings():
    model = classifier("mpnet")
    ours = tuning.optimizer(model, learning_rate=RATE, layer_decay=0.5)
    ours.build(model.trainable_variables)
    (table,) = [v for v in model.trainable_variables if v.path.startswith("relative_positions/")]
    assert ours.relative_rate(table) == 0.25


def test_an_optimizer_made_for_fewer_layers_is_refused(model):
    with pytest.raises(ValueError, match="num_layers=1, variables of 2 layers"):
        optimizer(layer_decay=0.5, num_layers=1).build(model.trainable_variables)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer_decay": 0.0, "num_layers": 2}, "layer_decay=0.0"),
        ({"layer_decay": 1.5, "num_layers": 2}, "layer_decay=1.5"),
        ({"layer_decay": "0.9", "num_layers": 2}, "layer_decay='0.9'"),
        ({"layer_decay": 0.9}, "needs `num_layers`"),
    ],
)
def test_senseless_arguments_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        tuning.AdamW(**options)


@pytest.mark.usefixtures("from_size_on")
def test_a_step_is_the_same_where_all_is_compiled():
    if keras.backend.backend() == "torch":
        pytest.skip("torch.compile needs a C++ compiler")
    results = []
    for jit_compile in (False, True):
        keras.utils.set_random_seed(0)
        model = classifier()
        model.compile(
            optimizer=optimizer(global_clipnorm=0.1, epsilon=1e-3), jit_compile=jit_compile
        )
        model.fit(BATCH, LABELS, batch_size=len(LABELS), epochs=2, verbose=0)
        results.append(values_of(model))
    for path, value in results[0].items():
        np.testing.assert_allclose(results[1][path], value, rtol=1e-4, atol=1e-5, err_msg=path)
