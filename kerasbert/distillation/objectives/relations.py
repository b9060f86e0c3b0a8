"""Relations between the tokens' queries, keys or values as targets (MiniLM)."""

from __future__ import annotations

from collections.abc import Sequence

from keras import ops

from kerasbert.distillation import layer_maps
from kerasbert.distillation.objectives.attention import mean_divergence
from kerasbert.distillation.objectives.objective import Objective, applied_layers, config_of

VECTORS = ("queries", "keys", "values")
# What a score at padding becomes before the softmax; float32.
_PADDING_SCORE = -1e9


class Relations(Objective):
    """KL divergence between softmax(A Aᵀ / √d) of the teacher and of the student, for each A.

    MiniLM v2 (Wang et al., 2020, arXiv:2012.15828, equations 5 to 7): A are queries, keys and
    values, cut anew into `heads` relation heads, so that the models' own numbers of heads need not
    agree. With `vectors=("values",)` it is the value relation of MiniLM v1 (arXiv:2002.10957,
    equation 6), which stands beside `AttentionWeights`. The mean is taken over heads and real
    tokens, the sum over the vectors.

    Args:
        vectors: some of `"queries"`, `"keys"`, `"values"`. Default: all.
        heads: int, relation heads; must divide both widths. `None` (default) for the student's own
            number of heads.
        teacher_layer: int from 1, or from the end; default -1, the last. The paper takes the 21st
            of the 24 layers of BERT large, for instance.
        student_layer: int, default -1.
        weight: factor of the objective in the total loss: a float or a schedule.
        name: name of the objective's metric.

    Raises:
        ValueError: for unknown vectors; in a `Distiller`, if heads do not divide the widths, or a
            model has no such layer.

    Example:

    ```python
    from kerasbert.distillation.objectives import Relations

    objective = Relations(heads=48)
    ```
    """

    default_name = "relations"
    reads_tokens = True

    def __init__(
        self,
        vectors: Sequence[str] = VECTORS,
        heads: int | None = None,
        teacher_layer: int = -1,
        student_layer: int = -1,
        weight: float = 1.0,
        name: str | None = None,
    ):
        super().__init__(weight, name)
        vectors = (vectors,) if isinstance(vectors, str) else tuple(vectors)
        if not vectors or not set(vectors) <= set(VECTORS):
            raise ValueError(f"`vectors` must be some of {VECTORS}. Received: vectors={vectors}")
        self.traces = vectors
        self.heads = heads
        self.teacher_layer, self.student_layer = teacher_layer, student_layer
        self._places: tuple[int, int] = (-1, -1)
        self._heads = heads

    def build(self, teacher, student):
        models = (
            (teacher, "teacher", self.teacher_layer),
            (student, "student", self.student_layer),
        )
        self._places = tuple(
            layer_maps.layer_at(layer, applied_layers(model, role), role, first=1) - 1
            for model, role, layer in models
        )
        self._heads = config_of(student, "student").num_heads if self.heads is None else self.heads
        for model, role, _ in models:
            width = config_of(model, role).block_dim
            if not isinstance(self._heads, int) or self._heads < 1 or width % self._heads:
                raise ValueError(
                    f"`heads` must divide the width of the {role}'s attention, {width}. "
                    f"Received: heads={self._heads}"
                )

    def teacher_reads(self):
        return {name: {self._places[0]} for name in self.traces}

    def compute_loss(self, teacher_outputs, student_outputs, batch):
        is_padding = batch.is_padding()[:, None, None, :]
        theirs, ours = (
            {
                name: log_relation(outputs.traces[name][place], self._heads, is_padding)
                for name in self.traces
            }
            for outputs, place in zip((teacher_outputs, student_outputs), self._places, strict=True)
        )
        return sum(mean_divergence(theirs[name], ours[name], batch) for name in self.traces)


def log_relation(vectors, heads: int, is_padding):
    """log softmax(A Aᵀ / √d) over real tokens: from (B, T, N, H) to (B, heads, T, T) float32."""
    vectors = ops.cast(vectors, "float32")
    shape = ops.shape(vectors)
    size = shape[2] * shape[3] // heads
    vectors = ops.reshape(vectors, (-1, shape[1], heads, size))
    vectors = ops.transpose(vectors, (0, 2, 1, 3))  # (B, heads, T, d)
    scores = ops.matmul(vectors, ops.transpose(vectors, (0, 1, 3, 2))) / ops.sqrt(
        ops.cast(size, "float32")
    )
    return ops.log_softmax(scores + is_padding * _PADDING_SCORE, axis=-1)
