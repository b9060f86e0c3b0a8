"""Which layer of the teacher a layer of the student learns from.

Layers are counted as hidden states are: 0 are the embeddings, 1 is the output of the first layer.
What only layers have (attention) is counted in the same way, and so begins at 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LayerMap = Mapping[int, int] | Iterable[tuple[int, int]]


def uniform(student_layers: int, teacher_layers: int, first: int = 0) -> list[tuple[int, int]]:
    """Embeddings with embeddings, last with last, and the layers between evenly spaced.

    This is TinyBERT's map g(m) = m * N / M where the depths divide (Jiao et al., 2019,
    arXiv:1909.10351, section 4.1).

    Args:
        student_layers: layers of the student.
        teacher_layers: layers of the teacher.
        first: the student's first layer in the map: 0 (default) for the embeddings.

    Example:

    ```python
    from kerasbert.distillation.layer_maps import uniform

    assert uniform(2, 6) == [(0, 0), (1, 3), (2, 6)]
    ```
    """
    layers = range(first, student_layers + 1)
    return [(i, round(i * teacher_layers / student_layers)) for i in layers]


def resolve(
    layer_map: LayerMap | None, student_layers: int, teacher_layers: int, first: int = 0
) -> list[tuple[int, int]]:
    """Pairs (student layer, teacher layer), counted from the start.

    Args:
        layer_map: a dict or pairs from student to teacher layers, negative ones counted from the
            end; `None` for `uniform`.
        student_layers: applied layers of the student.
        teacher_layers: applied layers of the teacher.
        first: the first layer that may be named: 0 (default) for the embeddings, 1 where these have
            nothing to learn from.

    Raises:
        ValueError: if the map is empty or names a layer that a model does not have.
    """
    if layer_map is None:
        return uniform(student_layers, teacher_layers, first)
    pairs = list(layer_map.items() if isinstance(layer_map, Mapping) else layer_map)
    if not pairs or any(not isinstance(pair, Iterable) or len(tuple(pair)) != 2 for pair in pairs):
        raise ValueError(
            "A layer map holds pairs of a student's and a teacher's layer, at least one. "
            f"Received: layer_map={layer_map!r}"
        )
    return [
        (
            layer_at(s, student_layers, "student", first),
            layer_at(t, teacher_layers, "teacher", first),
        )
        for s, t in pairs
    ]


def layer_at(layer: int, layers: int, model: str, first: int = 0) -> int:
    """A layer counted from the start.

    Args:
        layer: negative ones are counted from the end.
        layers: how many the model applies.
        model: what to call it in the message.
        first: 0 (default) for the embeddings, 1 where these do not count.

    Raises:
        ValueError: if the model does not have the layer.
    """
    found = layer + layers + 1 if layer < 0 else layer
    if not first <= found <= layers:
        raise ValueError(
            f"The {model}'s layers are counted from {first} "
            f"({'its embeddings' if first == 0 else 'its first layer'}) to {layers}, or from the "
            f"end by negative numbers. Received: layer {layer}"
        )
    return found
