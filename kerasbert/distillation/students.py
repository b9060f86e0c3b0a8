"""Students: smaller models that start from their teacher's weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from keras import ops

from kerasbert.layers import EncoderConfig
from kerasbert.models import Encoder, EncoderTask
from kerasbert.tuning.addition import check_plain

# Fields in which a student may differ from its teacher and still take over its weights.
_DEPTH_FIELDS = {"num_layers"}


def make_student(
    teacher: Encoder | EncoderTask,
    config: EncoderConfig | None = None,
    *,
    layers: Sequence[int] | None = None,
    num_layers: int | None = None,
):
    """Build a student of a teacher's kind and initialise it from the teacher.

    With `layers` or `num_layers` the student is the teacher without some of its layers: embeddings,
    chosen layers, pooler and head are copied (Sanh et al., 2019, arXiv:1910.01108, section 3). With
    `config` it is built as that says; if only the depth differs, weights are copied from evenly
    spaced layers, else they are random.

    Args:
        teacher: an `Encoder`, or a task such as `TextClassifier`.
        config: the student's `EncoderConfig`.
        layers: indices of the teacher's layers that the student keeps, from 0, in ascending order.
        num_layers: how many layers to keep, evenly spaced from the first to the last: of 12 layers,
            6 are `[0, 2, 4, 7, 9, 11]` as in DistilBERT.

    Returns:
        A new model of the teacher's class, sharing no variable with it. A task has the teacher's
        labels, head and preprocessor.

    Raises:
        ValueError: unless exactly one of `config`, `layers` and `num_layers` is given, or for
            layers that the teacher does not have.

    Example:

    ```python
    import kerasbert
    from kerasbert.distillation import make_student

    config = kerasbert.EncoderConfig(num_layers=4, num_heads=2, hidden_dim=32, intermediate_dim=64)
    student = make_student(kerasbert.Encoder(config), layers=[0, 3])
    assert student.config.num_layers == 2
    ```
    """
    if sum(argument is not None for argument in (config, layers, num_layers)) != 1:
        raise ValueError(
            "Exactly one of `config`, `layers` and `num_layers` says what the student is. "
            f"Received: config={config}, layers={layers}, num_layers={num_layers}"
        )
    if not isinstance(teacher, Encoder | EncoderTask):
        raise TypeError(f"`teacher` must be an `Encoder` or a task. Received: teacher={teacher!r}")
    if not isinstance(config, EncoderConfig | None):
        raise TypeError(
            "`config` must be an `EncoderConfig`; give layers as `layers=[...]`. "
            f"Received: config={config!r}"
        )
    encoder = getattr(teacher, "backbone", teacher)
    check_plain(encoder, "`make_student`")
    depth = encoder.config.num_layers
    if config is not None:
        layers = (
            evenly_spaced(config.num_layers, depth)
            if _differs_in_depth_only(config, encoder.config)
            else None
        )
    else:
        layers = evenly_spaced(num_layers, depth) if layers is None else list(layers)
        _check_layers(layers, depth)
        config = encoder.config.replace(num_layers=len(layers))
    student = _build(teacher, encoder, config)
    if layers is not None:
        _copy_weights(teacher, student, layers, is_shared=config.sharing is not None)
    return student


def evenly_spaced(count: int, depth: int) -> list[int]:
    """`count` of `depth` layers, evenly spaced from the first to the last.

    Raises:
        ValueError: if there are not so many.
    """
    if not 1 <= count <= depth:
        raise ValueError(
            f"A student of this teacher has 1 to {depth} layers. Received: num_layers={count}"
        )
    return [int(i) for i in np.round(np.linspace(0, depth - 1, count))]


def _check_layers(layers, depth):
    ascending = list(layers) == sorted(set(layers))
    if not layers or not ascending or not all(0 <= layer < depth for layer in layers):
        raise ValueError(
            f"`layers` must be distinct indices of the teacher's layers, 0 to {depth - 1}, in "
            f"ascending order. Received: layers={layers}"
        )


def _differs_in_depth_only(config, teacher_config):
    ours, theirs = config.to_dict(), teacher_config.to_dict()
    same = all(ours[name] == theirs[name] for name in ours if name not in _DEPTH_FIELDS)
    return same and config.num_layers <= teacher_config.num_layers


def _build(teacher, encoder, config):
    backbone = type(encoder)(config, family=encoder.family, dtype=encoder.dtype_policy)
    if teacher is encoder:
        return backbone
    arguments = teacher.get_config()
    arguments.update(backbone=backbone, preprocessor=teacher.preprocessor, name=None)
    return type(teacher)(**arguments)


def _copy_weights(teacher, student, layers, is_shared):
    """Copy by path; `layer_{i}` of the student comes from the i-th of the chosen layers."""
    source = {variable.path: variable for variable in teacher.weights}
    for variable in student.weights:
        path = variable.path
        root, _, rest = path.partition("/")
        if root.startswith("layer_") and not is_shared:
            path = f"layer_{layers[int(root.removeprefix('layer_'))]}/{rest}"
        if path not in source:  # what stands beside one layer only, whichever that is
            path = variable.path
        # A real copy: on JAX, `assign` would take over the buffer, and training donates buffers.
        variable.assign(np.array(ops.convert_to_numpy(source[path].value), copy=True))
