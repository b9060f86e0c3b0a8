"""Write a student as .tflite files and run one of them.

Run examples/distill.py first: it leaves the student in intent-student/. Needs the extra `export`.
"""

import kerasbert
from kerasbert.export import LiteRTClassifier, litert_variants

student = kerasbert.TextClassifier.from_preset("intent-student")
reports = litert_variants(
    student,
    {"intents_float32.tflite": None, "intents_int8.tflite": "dynamic_int8"},
    sequence_length=32,
)
for report in reports:
    print(report)

runner = LiteRTClassifier("intents_int8.tflite")
text = "set a timer for the pasta, nine minutes"
probabilities = runner.predict_on_batch(student.preprocessor([text]))[0]
print(f"{text!r}: {runner.labels[probabilities.argmax()]} ({probabilities.max():.2f})")
