"""The trainer of a student by its teacher."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence

import keras
from keras import ops

from kerasbert.distillation.lessons import Lesson
from kerasbert.distillation.objectives.objective import Batch, Objective, Outputs, at_step
from kerasbert.distillation.several_teachers import checked_weights, shares
from kerasbert.distillation.teacher_cache import TeacherCache
from kerasbert.models.feeding import ROW_MASK, Batches
from kerasbert.models.fitting import Fitting
from kerasbert.models.named_inputs import MASK_POSITIONS


class _Aside:
    """Holds teachers where Keras neither tracks nor saves them."""

    def __init__(self, held):
        self.held = held


class Distiller(Fitting, keras.Model):
    """Trains a student to do as its teacher does; compiled and fitted like any Keras model.

    The loss is `label_weight` times the student's own loss on the labels, plus each objective times
    its weight. Each objective's value is a metric under its name, and the label loss is
    `label_loss`. `predict` and `evaluate` are the student's. The teacher runs once per batch,
    without gradients; it is never changed, and never saved with the distiller.

    Args:
        teacher: a kerasbert task, or any Keras model that gives logits for the student's input; or
            a list of these, each of which teaches every objective. A task with a vocabulary of its
            own reads the texts by itself: then objectives must be on whole texts.
        student: a kerasbert task; trained in place.
        objectives: list of `kerasbert.distillation.objectives`.
        label_weight: factor of the loss on the labels; without labels, that loss is left out.
        cache: a `TeacherCache` that keeps the teacher's outputs, a list of these for a list of
            teachers, or `None` (default): the teacher runs on every batch.
        teacher_weights: how much each of several teachers counts: numbers, which are divided by
            their sum; `"confidence"`: for each example in proportion to the probability that a
            teacher gives to the class that it holds for the most likely one; `None` (default):
            equally.
        name: name of the model.

    Raises:
        ValueError: if there is no objective, or teacher and student do not fit.

    Example:

    ```python
    import kerasbert
    from kerasbert.distillation import Distiller, make_student, objectives

    texts, labels = ["wake me", "play jazz", "an alarm", "a song"], [0, 1, 0, 1]
    tokenizer = kerasbert.Tokenizer.train(texts, vocabulary_size=60)
    config = kerasbert.EncoderConfig(
        vocabulary_size=60, num_layers=4, num_heads=2, hidden_dim=32, intermediate_dim=64
    )
    teacher = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        num_classes=2,
        preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer),
    )
    teacher.fit(texts, labels, verbose=0)
    student = make_student(teacher, layers=[0, 3])
    distiller = Distiller(teacher, student, [objectives.SoftTargets(temperature=2.0)])
    distiller.compile()
    distiller.fit(texts, labels, epochs=2, verbose=0)
    student.classify(["wake me up"])
    ```
    """

    def __init__(
        self,
        teacher,
        student,
        objectives: Sequence[Objective],
        label_weight=1.0,
        cache: TeacherCache | Sequence[TeacherCache] | None = None,
        teacher_weights: Sequence[float] | str | None = None,
        name=None,
    ):
        super().__init__(name=name)
        teachers = _as_list(teacher)
        objectives = _as_objectives(objectives)
        caches = [None] * len(teachers) if cache is None else _as_list(cache)
        _check(teachers, student, objectives, label_weight, caches)
        self.student = student
        self.label_weight = label_weight
        self._shares = checked_weights(teacher_weights, len(teachers))
        self._lessons = _Aside(
            [
                Lesson(
                    model,
                    student,
                    [copy.copy(each) for each in objectives] if at else objectives,
                    kept,
                    f"teacher{at}/",
                )
                for at, (model, kept) in enumerate(zip(teachers, caches, strict=True))
            ]
        )
        self._reads_all_tokens = any(objective.reads_all_tokens for objective in objectives)
        self._weights_by_name = {each.name: each.weight for each in objectives}
        self.projections = [layer for lesson in self._lessons.held for layer in lesson.layers]
        self._value_trackers = [keras.metrics.Mean(name=each.name) for each in objectives]
        self._label_tracker = keras.metrics.Mean(name="label_loss") if label_weight else None
        self._step = self.add_weight(shape=(), dtype="int32", trainable=False, name="step")
        if not self.compiled:
            self.compile()
        self._has_labels = True
        self._verbose = 0
        self.built = True

    @property
    def preprocessor(self):
        """The student's preprocessor."""
        return self.student.preprocessor

    @property
    def non_trainable_variables(self):
        # JAX compiles with the model's variables as arguments; what is not among them becomes a
        # constant of the compiled step.
        of_teachers = [lesson.teacher.variables for lesson in self._lessons.held]
        return sum(of_teachers, super().non_trainable_variables)

    def fit(self, x=None, y=None, *args, verbose="auto", **kwargs):
        """Train the student, on the input that the student's own `fit` takes.

        Labels may be left out, or `label_weight` be 0: the objectives need none.
        """
        with self._frozen_teachers():
            self._verbose = verbose
            return super().fit(x, y, *args, verbose=verbose, **kwargs)

    def save(self, filepath, **kwargs):
        """Write the student as a `.keras` file (`ModelCheckpoint` does so while it trains)."""
        self.student.save(filepath, **kwargs)

    def evaluate(self, *args, _use_cached_eval_dataset=False, **kwargs):
        """The student's loss and metrics on labelled data."""
        return self.student.evaluate(*args, **kwargs)

    def predict(self, *args, **kwargs):
        """The student's outputs."""
        return self.student.predict(*args, **kwargs)

    def compute_objectives(self, x, y=None, sample_weight=None, training=False):
        """Each objective's value for one batch, by name, without its weight.

        Args:
            x: raw input or the encoder's input dict.
            y: labels, or `None`: no objective needs them.
            sample_weight: (batch,), or `None`.
            training: whether the student's dropout is active.

        Returns:
            Dict of float32 scalars.
        """
        inputs, targets, sample_weight = self._batch(x, y, self._weights(y, sample_weight))
        with self._frozen_teachers():
            outputs = self._run(self.student, inputs, training=training)
            return self._values(outputs, Batch(inputs, targets, sample_weight, self._step.value))

    def call(self, inputs, training=False):
        if not training:
            return self.student(inputs, training=False)
        outputs = self._run(self.student, inputs, training=True)
        return {"logits": outputs.logits, "traces": outputs.traces}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        if not isinstance(y_pred, dict):  # Keras builds the loss with a pass outside training
            return (
                ops.zeros(())
                if y is None
                else super().compute_loss(x, y, y_pred, sample_weight, training)
            )
        outputs = Outputs(y_pred["logits"], y_pred["traces"])
        weights = x.get(ROW_MASK) if sample_weight is None else sample_weight  # no filling rows
        values = self._values(outputs, Batch(x, y, weights, self._step.value))
        for tracker in self._value_trackers:
            tracker.update_state(values[tracker.name])
        loss = sum(
            at_step(weight, self._step.value) * values[name]
            for name, weight in self._weights_by_name.items()
        )
        self._step.assign_add(1)
        if y is not None and self.label_weight:
            logits = self._at_targets(outputs.logits, x)
            label_loss = super().compute_loss(x, y, logits, sample_weight, training)
            self._label_tracker.update_state(label_loss)
            loss = loss + self.label_weight * label_loss
        return loss

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        if not self._has_labels:
            return self.get_metrics_result()
        if isinstance(y_pred, dict):
            y_pred = self._at_targets(y_pred["logits"], x)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def get_metrics_result(self):
        if self._has_labels:
            return super().get_metrics_result()
        trackers = [self._loss_tracker, *self._value_trackers]
        return {tracker.name: tracker.result() for tracker in trackers}

    def _examples(self, x, training=False):
        examples = super()._examples(x, training)
        for lesson in self._lessons.held:
            examples = lesson.beside(x, examples, training, self._verbose)
        return examples

    def _values(self, student_outputs, batch):
        lessons = self._lessons.held
        outputs = [lesson.outputs(batch.inputs) for lesson in lessons]
        totals = dict.fromkeys(self._weights_by_name, 0.0)
        for lesson, found, (share, part) in zip(
            lessons, outputs, shares(self._shares, outputs, batch), strict=True
        ):
            for name, value in lesson.values(found, student_outputs, part).items():
                totals[name] = totals[name] + share * value
        return totals

    def _run(self, model, inputs, training):
        return self._lessons.held[0].run(model, inputs, training)

    def _at_targets(self, logits, inputs):
        """The logits that targets belong to, where a masked model gave those of all tokens."""
        if not self._reads_all_tokens or MASK_POSITIONS not in inputs:
            return logits
        return ops.take_along_axis(logits, ops.expand_dims(inputs[MASK_POSITIONS], -1), axis=1)

    @contextlib.contextmanager
    def _frozen_teachers(self):
        with contextlib.ExitStack() as stack:
            for lesson in self._lessons.held:
                stack.enter_context(lesson.frozen())
            yield

    def _check_labels(self, data):
        self._has_labels = not isinstance(data, Batches) or data.targets is not None

    def encode_targets(self, y, examples=None):
        """Labels to the student's targets."""
        return self.student.encode_targets(y, examples)

    def make_targets(self, examples, training):
        """Targets of inputs that are their own labels, as the student makes them."""
        if self.label_weight or self.student.hides_targets:
            return self.student.make_targets(examples, training)
        return None

    def class_weights(self, y, class_weight):
        """The weight of each example by its class, as the student has it."""
        return self.student.class_weights(y, class_weight)

    def compile(self, optimizer="auto", loss="auto", *, metrics="auto", **kwargs):
        """Configure training; arguments and defaults are those of the student's `compile`."""
        self.student.compile(loss=loss, metrics=_copies(metrics))
        super().compile(optimizer=optimizer, loss=loss, metrics=metrics, **kwargs)

    def _defaults(self, optimizer, loss, metrics):
        return self.student._defaults(optimizer, loss, metrics)


def _as_list(value) -> list:
    return list(value) if isinstance(value, list | tuple) else [value]


def _copies(metrics):
    """Fresh instances: a metric keeps state, and two models are compiled with it."""
    return keras.tree.map_structure(
        lambda metric: (
            type(metric).from_config(metric.get_config())
            if isinstance(metric, keras.metrics.Metric)
            else metric
        ),
        metrics,
    )


def _as_objectives(objectives):
    is_sequence = isinstance(objectives, Sequence) and not isinstance(objectives, str)
    if not is_sequence or not all(isinstance(each, Objective) for each in objectives):
        raise TypeError(
            "`objectives` must be a list of objectives, such as `[SoftTargets()]`. "
            f"Received: objectives={objectives!r}"
        )
    return list(objectives)


def _check(teachers, student, objectives, label_weight, caches):
    if not objectives:
        raise ValueError("A distiller needs at least one objective. Received: objectives=[]")
    names = [objective.name for objective in objectives]
    if len(set(names)) != len(names):
        raise ValueError(f"Objectives need distinct names; set `name=`. Received: {names}")
    if label_weight < 0:
        raise ValueError(f"`label_weight` must not be negative. Received: {label_weight}")
    if not isinstance(student, Fitting):
        raise ValueError(
            f"The student must be a kerasbert task. Received: student of type "
            f"{type(student).__name__}"
        )
    if any(caches) and student.hides_targets:
        raise ValueError(
            "A `MaskedLM` is masked anew in every epoch, so its teacher's outputs cannot be kept. "
            "Leave `cache` out."
        )
    if not teachers or len(caches) != len(teachers):
        raise ValueError(
            "There must be a teacher, and a cache for each or for none. Received: "
            f"{len(teachers)} teachers, {len(caches)} caches"
        )
    for teacher in teachers:
        _check_teacher(teacher, student)


def _check_teacher(teacher, student):
    if not teacher.built:
        raise ValueError("The teacher is not built. Build or load it first.")
    shared = {id(v) for v in teacher.weights} & {id(v) for v in student.weights}
    if shared:
        raise ValueError(
            f"Teacher and student share {len(shared)} variables, so training the student would "
            "change the teacher. Build the student with `make_student`."
        )
