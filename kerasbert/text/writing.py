"""Writing a tokenizer as the files that `transformers` reads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from tokenizers import Tokenizer as RustTokenizer
from tokenizers import models, normalizers

from kerasbert.data.files import atomic_folder
from kerasbert.text.exact_scores import with_exact_scores


def write_folder(
    folder: str | os.PathLike,
    rust: RustTokenizer,
    roles: Mapping[str, str],
    model_input_names: Sequence[str],
) -> None:
    """Writes `tokenizer.json`, `tokenizer_config.json` and, for WordPiece, `vocab.txt`.

    Args:
        folder: Made where it is missing; other files in it stay.
        rust: The tokenizer.
        roles: Special tokens by role.
        model_input_names: What `transformers` gives to its model.

    Raises:
        OSError: The folder cannot be written.
    """
    config = {
        # The class that takes `tokenizer.json` as it is; BERT's own builds its pipeline anew.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": list(model_input_names),
        "clean_up_tokenization_spaces": False,
        **roles,
        **_normalizer_fields(rust),
    }
    pipeline = rust.to_str(pretty=True)
    if isinstance(rust.model, models.Unigram):
        pipeline = with_exact_scores(pipeline)
    with atomic_folder(folder) as temporary:
        (temporary / "tokenizer.json").write_text(pipeline, encoding="utf-8")
        text = json.dumps(config, indent=2, ensure_ascii=False)
        (temporary / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")
        if isinstance(rust.model, models.WordPiece):
            (temporary / "vocab.txt").write_text(_vocabulary_lines(rust), "utf-8", newline="\n")


def _normalizer_fields(rust: RustTokenizer) -> dict[str, bool | None]:
    """What a reader of `vocab.txt` must know."""
    normalizer = rust.normalizer
    if not isinstance(normalizer, normalizers.BertNormalizer):
        return {}
    return {
        "do_lower_case": normalizer.lowercase,
        "strip_accents": normalizer.strip_accents,
        "tokenize_chinese_chars": normalizer.handle_chinese_chars,
    }


def _vocabulary_lines(rust: RustTokenizer) -> str:
    vocabulary = rust.get_vocab(with_added_tokens=False)
    lines = [""] * (max(vocabulary.values()) + 1)
    for token, index in vocabulary.items():
        lines[index] = token
    return "".join(f"{line}\n" for line in lines)
