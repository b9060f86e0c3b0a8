"""A teacher with the objectives as they are built for it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

import keras
import numpy as np
from keras import ops

from kerasbert.distillation.objectives.objective import Batch, Objective, Outputs
from kerasbert.distillation.passes import run
from kerasbert.distillation.teacher_cache import TeacherCache
from kerasbert.models.named_inputs import MASK_POSITIONS


class Lesson:
    """What a student learns from one teacher.

    The teacher reads the student's input; if its vocabulary is another one, its own, which then
    stands among the student's under names with a prefix. So do its outputs where they are kept.

    Args:
        teacher: a kerasbert task, or any Keras model that gives logits.
        student: a kerasbert task.
        objectives: list of `Objective`; they are built for the two.
        cache: a `TeacherCache` or `None`.
        prefix: of the names.

    Raises:
        ValueError: if an objective does not fit the two models.
    """

    def __init__(
        self,
        teacher,
        student,
        objectives: Sequence[Objective],
        cache: TeacherCache | None,
        prefix: str,
    ):
        self.teacher, self.objectives, self.cache, self._prefix = teacher, objectives, cache, prefix
        for objective in objectives:
            objective.build(teacher, student)
        self._has_own_tokens = _has_own_tokens(teacher, student)
        if self._has_own_tokens:
            _check_needs_no_alignment(objectives)
        self._traces = {name for objective in objectives for name in objective.traces}
        self._reads_all_tokens = any(objective.reads_all_tokens for objective in objectives)
        if cache is not None:
            cache.bind(teacher, _reads_of(objectives))

    @property
    def layers(self) -> list[keras.layers.Layer]:
        """The objectives' projections."""
        return [layer for objective in self.objectives for layer in objective.layers]

    def beside(self, x, examples, training: bool, verbose):
        """The student's examples with what the teacher needs, or gave, beside them.

        Args:
            x: what was given as input.
            examples: what became of it for the student.
            training: whether outputs are kept.
            verbose: 0 for no progress bar.

        Raises:
            ValueError: if the teacher has a vocabulary of its own, and there is no text.
        """
        theirs = self._own_examples(x, examples) if self._has_own_tokens else examples
        if training and self.cache is not None:
            return BesideExamples(examples, self.cache.beside(theirs, verbose), self._prefix)
        return examples if theirs is examples else BesideExamples(examples, theirs, self._prefix)

    def outputs(self, inputs) -> Outputs:
        """The teacher's outputs for a batch, without gradient."""
        own = {
            name.removeprefix(self._prefix): value
            for name, value in inputs.items()
            if name.startswith(self._prefix)
        }
        if self.cache is not None and self.cache.holds(own):
            found = self.cache.outputs(own, inputs)
        else:
            found = self.run(self.teacher, own or inputs, training=False)
        return Outputs(*keras.tree.map_structure(ops.stop_gradient, (found.logits, found.traces)))

    def run(self, model, inputs, training: bool) -> Outputs:
        """One pass of teacher or student, with the traces that the objectives ask for."""
        if self._reads_all_tokens:
            inputs = {name: inputs[name] for name in inputs if name != MASK_POSITIONS}
        return run(model, inputs, self._traces, training)

    def values(self, teacher_outputs: Outputs, student_outputs: Outputs, batch: Batch) -> dict:
        """Each objective's value by name."""
        return {
            each.name: each.compute_loss(teacher_outputs, student_outputs, batch)
            for each in self.objectives
        }

    @contextlib.contextmanager
    def frozen(self):
        """No gradient is recorded for the teacher's pass, and its flags are put back after."""
        flags = [(layer, layer.trainable) for layer in self.teacher._flatten_layers()]
        self.teacher.trainable = False
        try:
            yield
        finally:
            for layer, flag in reversed(flags):
                layer.trainable = flag

    def _own_examples(self, x, examples):
        preprocessor = self.teacher.preprocessor
        if not preprocessor.is_raw(x):
            raise ValueError(
                "The teacher's vocabulary is not the student's, so both must read the text. Give "
                f"texts, not arrays. Received: x of type {type(x).__name__}"
            )
        theirs = preprocessor.tokenize(x)
        if not np.array_equal(theirs.origin, examples.origin):
            raise ValueError(
                "Teacher and student cut the texts into other windows. Give their preprocessors "
                "longer `sequence_length`s. Received: "
                f"{len(theirs)} rows of the teacher, {len(examples)} of the student"
            )
        return theirs


class BesideExamples:
    """Examples whose batches have further entries.

    Args:
        examples: what has the interface of `kerasbert.text.Examples`.
        others: what has as many rows, and a `batch` that gives the further entries.
        prefix: of the names of these.
    """

    def __init__(self, examples, others, prefix: str):
        self._examples, self._others, self._prefix = examples, others, prefix

    def __len__(self) -> int:
        return len(self._examples)

    def __getattr__(self, name):
        return getattr(self._examples, name)

    def batch(self, indices) -> dict[str, np.ndarray]:
        """The input dict of some examples."""
        more = self._others.batch(indices)
        inputs = self._examples.batch(indices)
        return {**inputs, **{f"{self._prefix}{name}": array for name, array in more.items()}}


def _has_own_tokens(teacher, student) -> bool:
    ours, theirs = (getattr(model, "preprocessor", None) for model in (student, teacher))
    return bool(ours and theirs) and not ours.tokenizer.same_vocabulary(theirs.tokenizer)


def _check_needs_no_alignment(objectives) -> None:
    of_tokens = [objective.name for objective in objectives if objective.reads_tokens]
    if of_tokens:
        raise ValueError(
            "Teacher and student have different vocabularies, so their tokens are not the same. "
            "Give the student the teacher's tokenizer, or use objectives on whole texts, such as "
            f"`SoftTargets` of a classifier. Received: {', '.join(of_tokens)}"
        )


def _reads_of(objectives) -> Mapping[str, set[int]]:
    """What objectives read of the teacher, by name of a trace."""
    reads: dict[str, set[int]] = {}
    for objective in objectives:
        for name, indices in objective.teacher_reads().items():
            reads.setdefault(name, set()).update(indices)
    return reads
