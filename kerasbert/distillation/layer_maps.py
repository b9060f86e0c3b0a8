"""Which layer of the teacher a layer of the student learns from.

Layers are counted as hidden states are: 0 are the embeddings, 1 is the output of the first layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LayerMap = Mapping[int, int] | Iterable[tuple[int, int]]


def uniform(student_layers: int, teacher_layers: int) -> list[tuple[int, int]]:
    """Embeddings with embeddings, last with last, and the layers between evenly spaced.

    This is TinyBERT's map g(m) = m * N / M where the depths divide (Jiao et al., 2019,
    arXiv:1909.10351, section 4.1).

    Example:

    ```python
    from kerasbert.distillation.layer_maps import uniform

    assert uniform(2, 6) == [(0, 0), (1, 3), (2, 6)]
    ```
    """
    return [(i, round(i * teacher_layers / student_layers)) for i in range(student_layers + 1)]


def resolve(
    layer_map: LayerMap | None, student_layers: int, teacher_layers: int
) -> list[tuple[int, int]]:
    """Pairs (student layer, teacher layer), counted from the start.

    Args:
        layer_map: a dict or pairs from student to teacher layers, negative ones counted from the
            end; `None` for `uniform`.
        student_layers: applied layers of the student.
        teacher_layers: applied layers of the teacher.

    Raises:
        ValueError: if the map is empty or names a layer that a model does not have.
    """
    if layer_map is None:
        return uniform(student_layers, teacher_layers)
    pairs = list(layer_map.items() if isinstance(layer_map, Mapping) else layer_map)
    if not pairs or any(len(tuple(pair)) != 2 for pair in pairs):
        raise ValueError(
            "A layer map holds pairs of a student's and a teacher's layer, at least one. "
            f"Received: layer_map={layer_map!r}"
        )
    return [
        (_index(s, student_layers, "student"), _index(t, teacher_layers, "teacher"))
        for s, t in pairs
    ]


def _index(layer: int, layers: int, model: str) -> int:
    if not -layers - 1 <= layer <= layers:
        raise ValueError(
            f"The {model} has hidden states 0 (embeddings) to {layers}. "
            f"Received: layer {layer} in the layer map"
        )
    return layer % (layers + 1)
