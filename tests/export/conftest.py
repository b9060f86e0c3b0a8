"""Tiny tasks and their files. Each export starts a process of ten seconds, so they are shared."""

import keras
import pytest
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import Builder

import kerasbert
from kerasbert import export

TEXTS = [
    "wake me at half past six tomorrow",
    "play some loud music in the kitchen",
    "turn off all the lights downstairs please",
    "what will the weather be like this weekend",
    "remind me to buy flour, eggs and milk",
]
LABELS = ["alarm", "music", "lights"]
FAMILIES = {"bert": {}, "distilbert": {"num_segments": 0, "pooler": None}}


def tiny_task(seed=0, family="bert", dtype=None, **options):
    """A random TextClassifier of two layers x 32 whose logits depend on the text."""
    keras.utils.set_random_seed(seed)
    tokenizer = kerasbert.Tokenizer.train(TEXTS, vocabulary_size=120)
    config = kerasbert.EncoderConfig(
        vocabulary_size=tokenizer.vocabulary_size(),
        num_layers=2,
        num_heads=2,
        hidden_dim=32,
        intermediate_dim=64,
        max_sequence_length=64,
        initializer_range=0.3,  # BERT's 0.02 would give every text the same logits
        **FAMILIES[family],
    )
    encoder = kerasbert.Encoder(config, family=family, dtype=dtype)
    preprocessor = kerasbert.TextClassifierPreprocessor(tokenizer, sequence_length=64)
    options.setdefault("labels", LABELS)
    return kerasbert.TextClassifier(encoder, preprocessor=preprocessor, **options)


@pytest.fixture(scope="session")
def make_task():
    return tiny_task


@pytest.fixture(scope="session")
def bert():
    return tiny_task()


@pytest.fixture(scope="session")
def bert_reports(bert, tmp_path_factory):
    """Quantization to report of three files of 32 tokens, with metadata."""
    folder = tmp_path_factory.mktemp("bert")
    files = {folder / f"{name}.tflite": name for name in (None, "float16", "dynamic_int8")}
    reports = export.litert_variants(bert, files, sequence_length=32)
    return {report.quantization: report for report in reports}


def made(cls, **fields):
    built = cls()
    for name, value in fields.items():
        setattr(built, name, value)
    return built


def tensor_map(name, index):
    return made(schema.TensorMapT, name=name, tensorIndex=index)


@pytest.fixture
def model():
    """A file with two inputs, one output, a custom operator and a metadata entry of its own."""
    operators = schema.BuiltinOperator
    contents = [b"", bytes(range(64)), bytes(48)]
    names = ["serving_default_token_ids:0", "serving_default_padding_mask:0", "PartitionedCall:0"]
    graph = made(
        schema.SubGraphT,
        tensors=[made(schema.TensorT, name=name, shape=[1, 8], buffer=0) for name in names],
        inputs=[1, 0],
        outputs=[2],
        operators=[made(schema.OperatorT, opcodeIndex=i) for i in (0, 1, 0)],
    )
    model = made(
        schema.ModelT,
        version=3,
        operatorCodes=[
            made(schema.OperatorCodeT, builtinCode=operators.ADD),
            made(schema.OperatorCodeT, builtinCode=operators.CUSTOM, customCode="FlexErf"),
        ],
        subgraphs=[graph],
        buffers=[made(schema.BufferT, data=list(data)) for data in contents],
        metadata=[made(schema.MetadataT, name="min_runtime_version", buffer=2)],
        signatureDefs=[
            made(
                schema.SignatureDefT,
                signatureKey="serve",
                inputs=[tensor_map("padding_mask", 1), tensor_map("token_ids", 0)],
                outputs=[tensor_map("logits", 2)],
            )
        ],
    )
    builder = Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytearray(builder.Output())
