"""One folder of tokenizer files per kind of tokenizer, with vocabularies trained on the spot."""

import json
from dataclasses import dataclass
from functools import cache

import sentencepiece
from tokenizers import (
    AddedToken,
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from tests.text import adversarial

SIZE = 2500
BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_TOKENS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
MPNET_TOKENS = ("<s>", "<pad>", "</s>", "[UNK]", "<mask>")
DEBERTA_TOKENS = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")


@cache
def corpus():
    """What the vocabularies are learned from: half of it words, so that some pieces are long."""
    sentences = [" ".join(adversarial.WORDS[k:] + adversarial.WORDS[:k]) for k in range(40)]
    return sentences * 5 + adversarial.texts(300, seed=1)


def word_piece(tokens, lowercase):
    """Writes `vocab.txt`."""

    def write(folder):
        trained = BertWordPieceTokenizer(lowercase=lowercase)
        options = {"vocab_size": SIZE, "special_tokens": list(tokens), "show_progress": False}
        trained.train_from_iterator(corpus(), **options)
        trained.save_model(str(folder))

    return write


def byte_level_bpe(tokens):
    """Writes `vocab.json` and `merges.txt`."""

    def write(folder):
        trained = ByteLevelBPETokenizer()
        options = {"vocab_size": SIZE, "special_tokens": list(tokens), "show_progress": False}
        trained.train_from_iterator(corpus(), **options)
        trained.save_model(str(folder))

    return write


def unigram(name, **options):
    """Writes a SentencePiece model."""

    def write(folder):
        lines = [text for text in corpus() if text.strip() and len(text) < 500 and "\0" not in text]
        settings = {"vocab_size": SIZE, "hard_vocab_limit": False, "character_coverage": 0.98}
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_prefix=str(folder / "trained"),
            minloglevel=2,
            num_threads=1,
            **{**settings, **options},
        )
        (folder / "trained.model").rename(folder / name)
        (folder / "trained.vocab").unlink()

    return write


def modern_bert(folder):
    """Writes `tokenizer.json` with the pipeline of ModernBERT's."""
    rust = Tokenizer(models.BPE())
    rust.normalizer = normalizers.NFC()
    rust.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    rust.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    rust.train_from_iterator(
        corpus(),
        trainers.BpeTrainer(vocab_size=SIZE, initial_alphabet=alphabet, show_progress=False),
    )
    rust.add_tokens([AddedToken(" " * width, normalized=True) for width in (24, 8, 4, 3, 2)])
    rust.add_tokens([AddedToken("|||EMAIL_ADDRESS|||", normalized=True)])
    rust.add_special_tokens([AddedToken(token) for token in BERT_TOKENS[:-1]])
    rust.add_special_tokens([AddedToken("[MASK]", lstrip=True)])
    rust.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(token, rust.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    rust.save(str(folder / "tokenizer.json"))


@dataclass(frozen=True)
class Kind:
    """A kind of tokenizer, as a folder of files.

    Attributes:
        model_type: What `config.json` says.
        write: Writes the vocabulary's files into a folder.
        config: The content of `tokenizer_config.json`; `None`: there is no such file.
    """

    model_type: str
    write: object
    config: dict | None = None

    def make(self, folder):
        self.write(folder)
        (folder / "config.json").write_text(json.dumps({"model_type": self.model_type}))
        if self.config is not None:
            (folder / "tokenizer_config.json").write_text(json.dumps(self.config))
        return folder


_ALBERT_PIECES = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1}
_BIG_BIRD_PIECES = {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3}
_DEBERTA_PIECES = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "pad_piece": "[PAD]"}
_DEBERTA_PIECES |= {"bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"}
_MODERN_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
KINDS = {
    "word piece uncased": Kind("bert", word_piece(BERT_TOKENS, True)),
    "word piece cased": Kind("bert", word_piece(BERT_TOKENS, False), {"do_lower_case": False}),
    "mpnet": Kind("mpnet", word_piece(MPNET_TOKENS, True)),
    "roberta": Kind("roberta", byte_level_bpe(ROBERTA_TOKENS)),
    "deberta": Kind("deberta", byte_level_bpe(DEBERTA_TOKENS)),
    "modernbert": Kind("modernbert", modern_bert, _MODERN_CONFIG),
    "albert": Kind(
        "albert",
        unigram(
            "spiece.model",
            control_symbols=["[CLS]", "[SEP]"],
            user_defined_symbols=["[MASK]"],
            **_ALBERT_PIECES,
        ),
    ),
    "xlm-roberta": Kind("xlm-roberta", unigram("sentencepiece.bpe.model")),
    "camembert": Kind("camembert", unigram("sentencepiece.bpe.model")),
    "deberta-v2": Kind("deberta-v2", unigram("spm.model", **_DEBERTA_PIECES)),
    "big bird": Kind(
        "big_bird",
        unigram(
            "spiece.model",
            control_symbols=["[CLS]", "[SEP]"],
            user_defined_symbols=["[MASK]"],
            **_BIG_BIRD_PIECES,
        ),
    ),
}
