"""Tiny models to tune, the methods, and what the tests measure of them."""

import numpy as np
from keras import ops

from kerasbert import tuning
from kerasbert.families import FAMILIES
from kerasbert.layers import Full
from tests.models import tiny_families

METHODS = {
    "lora": lambda model: tuning.lora(model, rank=2, alpha=3),
    "adapters": lambda model: tuning.adapters(model, dim=3),
    "prompts": lambda model: tuning.prompts(model, length=4),
    "prefixes": lambda model: tuning.prefixes(model, length=4),
}
# The last two of RoBERTa's kin are RoBERTa's encoder under other names.
SEE_ALL = [
    name
    for name, family in FAMILIES.items()
    if isinstance(family.defaults.attention, Full) and name not in ("xlm-roberta", "camembert")
]
STILL = {"hidden_dropout": 0.0, "attention_dropout": 0.0}
BATCH = tiny_families.batch_of((8, 5, 3))
LABELS = tiny_families.labels_of("classifier", BATCH)


def classifier(family="bert", **changes):
    """A tiny classifier without dropout."""
    return tiny_families.task_of(family, "classifier", **STILL, **changes)


def disturb(model, seed=3, scale=0.3):
    """Give what is trained values as if it had been trained for a while."""
    draw = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        value = numpy(variable) + draw.normal(0, scale, variable.shape)
        variable.assign(value.astype("float32"))
    return model


def numpy(x):
    """A copy as float32."""
    return np.array(ops.convert_to_numpy(ops.cast(x, "float32")))


def logits_of(model, batch=BATCH):
    return numpy(model(batch))


def values_of(model):
    """All weights by path."""
    return {variable.path: numpy(variable) for variable in model.weights}


def paths(variables):
    return [variable.path for variable in variables]


def changed_by_a_step(model):
    """Paths of the weights that one step of training changes."""
    before = values_of(model)
    model.fit(BATCH, LABELS, verbose=0)
    after = values_of(model)
    assert before.keys() == after.keys()
    return {path for path in after if not np.array_equal(before[path], after[path])}
