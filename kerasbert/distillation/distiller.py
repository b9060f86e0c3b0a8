"""The trainer of a student by its teacher."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import keras
from keras import ops

from kerasbert.distillation.objectives.objective import Batch, Objective, Outputs, at_step
from kerasbert.layers import trace
from kerasbert.models.feeding import Batches
from kerasbert.models.fitting import Fitting
from kerasbert.models.named_inputs import MASK_POSITIONS, NamedInputs


class _Aside:
    """Holds the teacher where Keras neither tracks nor saves it."""

    def __init__(self, model):
        self.model = model


class Distiller(Fitting, keras.Model):
    """Trains a student to do as its teacher does; compiled and fitted like any Keras model.

    The loss is `label_weight` times the student's own loss on the labels, plus each objective times
    its weight. Each objective's value is a metric under its name, and the label loss is
    `label_loss`. `predict` and `evaluate` are the student's. The teacher runs once per batch,
    without gradients; it is never changed, and never saved with the distiller.

    Args:
        teacher: a kerasbert task, or any Keras model that gives logits for the student's input.
        student: a kerasbert task; trained in place.
        objectives: list of `kerasbert.distillation.objectives`.
        label_weight: factor of the loss on the labels; without labels, that loss is left out.
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
        self, teacher, student, objectives: Sequence[Objective], label_weight=1.0, name=None
    ):
        super().__init__(name=name)
        objectives = _as_objectives(objectives)
        _check(teacher, student, objectives, label_weight)
        for objective in objectives:
            objective.build(teacher, student)
        self.student = student
        self.label_weight = label_weight
        self._aside = _Aside(teacher)
        self._objectives = _Aside(objectives)
        self._reads_all_tokens = any(objective.reads_all_tokens for objective in objectives)
        self.projections = [layer for objective in objectives for layer in objective.layers]
        self._value_trackers = [keras.metrics.Mean(name=each.name) for each in objectives]
        self._label_tracker = keras.metrics.Mean(name="label_loss") if label_weight else None
        self._step = self.add_weight(shape=(), dtype="int32", trainable=False, name="step")
        if not self.compiled:
            self.compile()
        self._has_labels = True
        self.built = True

    @property
    def preprocessor(self):
        """The student's preprocessor."""
        return self.student.preprocessor

    @property
    def non_trainable_variables(self):
        # JAX compiles with the model's variables as arguments; what is not among them becomes a
        # constant of the compiled step.
        return super().non_trainable_variables + self._aside.model.variables

    def fit(self, x=None, y=None, *args, **kwargs):
        """Train the student, on the input that the student's own `fit` takes.

        Labels may be left out, or `label_weight` be 0: the objectives need none.
        """
        with self._frozen_teacher():
            return super().fit(x, y, *args, **kwargs)

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
        with self._frozen_teacher():
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
        values = self._values(outputs, Batch(x, y, sample_weight, self._step.value))
        for tracker in self._value_trackers:
            tracker.update_state(values[tracker.name])
        loss = sum(
            at_step(each.weight, self._step.value) * values[each.name]
            for each in self._objectives.model
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

    def _values(self, student_outputs, batch):
        teacher_outputs = self._run(self._aside.model, batch.inputs, training=False)
        teacher_outputs = keras.tree.map_structure(
            ops.stop_gradient, (teacher_outputs.logits, teacher_outputs.traces)
        )
        return {
            objective.name: objective.compute_loss(
                Outputs(*teacher_outputs), student_outputs, batch
            )
            for objective in self._objectives.model
        }

    def _run(self, model, inputs, training):
        """One pass, with the traces that the objectives ask for."""
        if self._reads_all_tokens:
            inputs = {name: inputs[name] for name in inputs if name != MASK_POSITIONS}
        names = {name for objective in self._objectives.model for name in objective.traces}
        with trace(*sorted(names)) as record:
            logits = model(_inputs_of(model, inputs), training=training)
        return Outputs(logits, dict(record))

    def _at_targets(self, logits, inputs):
        """The logits that targets belong to, where a masked model gave those of all tokens."""
        if not self._reads_all_tokens or MASK_POSITIONS not in inputs:
            return logits
        return ops.take_along_axis(logits, ops.expand_dims(inputs[MASK_POSITIONS], -1), axis=1)

    @contextlib.contextmanager
    def _frozen_teacher(self):
        """No gradient is recorded for the teacher's pass, and its flags are put back after."""
        layers = self._aside.model._flatten_layers()
        flags = [(layer, layer.trainable) for layer in layers]
        self._aside.model.trainable = False
        try:
            yield
        finally:
            for layer, flag in reversed(flags):
                layer.trainable = flag

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


def _inputs_of(model, inputs):
    """What a model that is not ours takes of the batch: Keras matches dicts by order, not name."""
    wanted = getattr(model, "input", None)
    if isinstance(model, NamedInputs) or not isinstance(wanted, dict):
        return inputs
    return {name: inputs[name] for name in wanted}


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


def _check(teacher, student, objectives, label_weight):
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
    if not teacher.built:
        raise ValueError("The teacher is not built. Build or load it first.")
    shared = {id(v) for v in teacher.weights} & {id(v) for v in student.weights}
    if shared:
        raise ValueError(
            f"Teacher and student share {len(shared)} variables, so training the student would "
            "change the teacher. Build the student with `make_student`."
        )
    ours, theirs = (getattr(m, "preprocessor", None) for m in (student, teacher))
    if ours and theirs and not ours.tokenizer.same_vocabulary(theirs.tokenizer):
        raise ValueError(
            "Teacher and student have different vocabularies, but read the same token ids. Give "
            "the student the teacher's tokenizer."
        )
