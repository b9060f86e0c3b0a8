"""Distill a fine-tuned teacher into a student of three layers.

Run examples/fine_tune.py first: it leaves the teacher in intent-teacher/.
"""

import kerasbert
from kerasbert.distillation import Distiller, make_student
from kerasbert.distillation.objectives import SoftTargets

train = kerasbert.data.load_sample("train")
test = kerasbert.data.load_sample("test")

teacher = kerasbert.TextClassifier.from_preset("intent-teacher")
student = make_student(teacher, layers=[0, 2, 5])

distiller = Distiller(teacher, student, [SoftTargets(temperature=2.0)], label_weight=0.0)
distiller.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=3e-4))
distiller.fit(
    train.texts, train.labels, epochs=10, batch_size=32, validation_data=(test.texts, test.labels)
)

for name, model in (("teacher", teacher), ("student", student)):
    loss, accuracy = model.evaluate(test.texts, test.labels, verbose=0)
    print(f"{name}: {model.count_params():,} parameters, accuracy {accuracy:.3f}")

student.save_to_preset("intent-student")
print("saved to intent-student/")
