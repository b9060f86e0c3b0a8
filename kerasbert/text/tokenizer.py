"""The tokenizer of every task: the Rust `tokenizers` library behind KerasHub's interface."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import keras_hub
import numpy as np
from tokenizers import AddedToken
from tokenizers import Tokenizer as RustTokenizer

from kerasbert.text.encoding import Encoding
from kerasbert.text.inputs import as_texts
from kerasbert.text.reading import TokenizerParts, has_tokenizer, read_folder
from kerasbert.text.special_tokens import find_roles, special_contents
from kerasbert.text.template import Template, template_of
from kerasbert.text.training import train_word_piece
from kerasbert.text.writing import write_folder


@keras.saving.register_keras_serializable(package="kerasbert")
class Tokenizer(keras_hub.tokenizers.Tokenizer):
    """Text to token ids, identical to the fast tokenizers of `transformers`, without TensorFlow.

    Built by `Tokenizer.from_preset(folder)` or `Tokenizer.train(texts, vocabulary_size)`. Made from
    its configuration alone it is empty until `load_assets` is called: the vocabulary lies in files.

    Args:
        rust: `tokenizers.Tokenizer` or `None` (default). The pipeline to wrap; it is then owned by
            this object. Its truncation and padding are switched off.
        **kwargs: Of `keras_hub.tokenizers.Tokenizer`, such as `name`.

    Example:

    >>> tokenizer = Tokenizer.train(["wake me at seven", "play some jazz"], vocabulary_size=60)
    >>> encoding = tokenizer.encode("wake me", "play")
    >>> encoding.tokens[0], encoding.segment_ids[0]
    ('[CLS]', 0)
    >>> tokenizer.decode(encoding.ids)
    'wake me play'
    """

    def __init__(self, rust: RustTokenizer | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.file_assets = ["tokenizer.json", "tokenizer_config.json"]
        self._parts: TokenizerParts | None = None
        self._template: Template | None = None
        self._size: int | None = None
        if rust is not None:
            rust.no_truncation()
            rust.no_padding()
            self._take(TokenizerParts(rust, find_roles(rust, {})))
        self.built = True

    @classmethod
    def from_preset(cls, preset: str | os.PathLike, **kwargs: Any) -> Tokenizer:
        """Reads a tokenizer from a folder.

        Args:
            preset: A folder in kerasbert's layout (`assets/tokenizer/tokenizer.json`) or in Hugging
                Face's: `tokenizer.json`, which is taken as it is; else `vocab.txt` (BERT and kin,
                MPNet), `vocab.json` with `merges.txt` (RoBERTa, Longformer, DeBERTa),
                `spiece.model` (ALBERT, BigBird), `sentencepiece.bpe.model` (XLM-RoBERTa,
                CamemBERT) or `spm.model` (DeBERTa v2 and v3). Which family it is,
                `tokenizer_config.json` says, else `config.json`.
            **kwargs: Of the constructor.

        Raises:
            ValueError: The folder or its files are missing or cannot be understood.

        Example:

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> Tokenizer.train(["wake me at seven"], vocabulary_size=60).save(folder)
        >>> Tokenizer.from_preset(folder).mask_token_id
        4
        """
        tokenizer = cls(**kwargs)
        tokenizer.load_assets(preset)
        return tokenizer

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocabulary_size: int,
        model: str = "wordpiece",
        lowercase: bool = True,
    ) -> Tokenizer:
        """Learns a vocabulary from texts; the same texts always give the same one.

        Args:
            texts: Texts of the domain. They are held in memory.
            vocabulary_size: int. At most this many tokens, special ones included. Training stops
                early where the texts have no further pair of pieces that occurs twice.
            model: Only `"wordpiece"` (default; Devlin et al., 2018, with merges by frequency).
            lowercase: Whether text is lowercased and its accents are removed. Default `True`.

        Returns:
            A tokenizer whose ids 0 to 4 are `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]`, `[MASK]`.

        Raises:
            ValueError: There is no text, the size is too small, or `model` is something else.
            TypeError: A text is not a string.

        Example:

        >>> tokenizer = Tokenizer.train(["wake me at seven"] * 3, vocabulary_size=60)
        >>> tokenizer.encode("wake me").tokens
        ['[CLS]', 'wake', 'me', '[SEP]']
        """
        return cls(train_word_piece(texts, vocabulary_size, model, lowercase))

    def encode(self, text: str, text_pair: str | None = None) -> Encoding:
        """Tokenizes one text, or a pair, with special tokens and without a limit of length.

        Args:
            text: The text. It may be empty.
            text_pair: A second text, or `None` (default).

        Returns:
            An `Encoding`: `ids`, `tokens`, `offsets`, `word_ids`, `segment_ids`.

        Raises:
            TypeError: A text is not a string.
        """
        texts = [_one_text(text, "text")]
        if text_pair is not None:
            texts.append(_one_text(text_pair, "text_pair"))
        encoding = self._rust.encode(*texts)
        return Encoding(
            ids=encoding.ids,
            tokens=encoding.tokens,
            offsets=encoding.offsets,
            word_ids=encoding.word_ids,
            segment_ids=encoding.type_ids,
        )

    def tokenize(self, inputs: str | Sequence[str]) -> list[int] | list[list[int]]:
        """Token ids without special tokens.

        Args:
            inputs: A string, or a list or array of strings.

        Returns:
            A list of ids for a string, else one list per text.

        Raises:
            TypeError: Something among the inputs is not a string.
        """
        encodings = self._rust.encode_batch_fast(
            as_texts(inputs, "inputs"), add_special_tokens=False
        )
        ids = [encoding.ids for encoding in encodings]
        return ids[0] if isinstance(inputs, str | bytes) else ids

    def detokenize(self, inputs: Any) -> str | list[str]:
        """Token ids back to text, without special tokens.

        Args:
            inputs: Ids of one text, or a list or array of such.

        Returns:
            A string, or a list of strings.
        """
        rows = inputs if isinstance(inputs, list | tuple) else keras.ops.convert_to_numpy(inputs)
        if len(rows) > 0 and np.ndim(rows[0]) > 0:
            return [self.decode(row) for row in rows]
        return self.decode(rows)

    def call(self, inputs: str | Sequence[str]) -> list[int] | list[list[int]]:
        return self.tokenize(inputs)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Token ids of one text back to text.

        Args:
            ids: A list, array or tensor of ids, of shape (length,).
            skip_special_tokens: Whether special tokens are left out. Default `True`.

        Raises:
            ValueError: An id is outside the vocabulary.
        """
        rows = ids if isinstance(ids, list | tuple) else keras.ops.convert_to_numpy(ids)
        ids = [int(index) for index in rows]
        for index in ids:
            self._check_id(index)
        return self._rust.decode(ids, skip_special_tokens=skip_special_tokens)

    def token_to_id(self, token: str) -> int:
        """The id of a token.

        Raises:
            ValueError: The vocabulary does not have it.
        """
        index = self._rust.token_to_id(token) if isinstance(token, str) else None
        if index is None:
            raise ValueError(
                "This token is not in the vocabulary. `encode` splits words into tokens that are, "
                f"and `add_tokens` adds new ones. Received: token={token!r}."
            )
        return index

    def id_to_token(self, id: int) -> str:
        """The token of an id.

        Raises:
            ValueError: The vocabulary does not have it.
        """
        self._check_id(id)
        return self._rust.id_to_token(int(id)) or ""

    def vocabulary_size(self) -> int:
        """How many ids there are, added tokens included: the rows an embedding table needs."""
        rust = self._rust
        if self._size is None:
            # Not the number of tokens: a file with duplicates leaves ids without one.
            self._size = max(rust.get_vocab().values(), default=-1) + 1
        return self._size

    def get_vocabulary(self) -> list[str]:
        """All tokens in the order of their ids (`""` for an id without a token)."""
        tokens = [""] * self.vocabulary_size()
        for token, index in self._rust.get_vocab().items():
            tokens[index] = token
        return tokens

    def same_vocabulary(self, other: Tokenizer) -> bool:
        """Whether the same ids stand for the same tokens in both tokenizers."""
        return self._rust.get_vocab() == other._rust.get_vocab()

    def add_tokens(self, words: Iterable[str]) -> int:
        """Adds words that are never split. Models then need as many new embedding rows.

        Args:
            words: New words. Those that the vocabulary has already are left as they are.

        Returns:
            How many were new. They have the highest ids, in the order given.

        Raises:
            ValueError: A word is empty.
            TypeError: A word is not a string.

        Example:

        >>> tokenizer = Tokenizer.train(["wake me at seven"], vocabulary_size=60)
        >>> tokenizer.add_tokens(["xylophone", "xylophone"])
        1
        >>> tokenizer.encode("a xylophone").tokens[-2]
        'xylophone'
        """
        words = as_texts([words] if isinstance(words, str) else list(words), "words")
        if not all(word.strip() for word in words):
            raise ValueError(f"A word to add cannot be empty. Received: words={words}.")
        rust = self._rust
        known = rust.get_vocab()
        new = list(dict.fromkeys(word for word in words if word not in known))
        rust.add_tokens([AddedToken(word) for word in new])
        self._size = None
        return len(new)

    @property
    def pad_token_id(self) -> int | None:
        """The id of the padding token; `None` where the vocabulary has none, as below."""
        return self._role_id("pad_token")

    @property
    def unknown_token_id(self) -> int | None:
        """The id that stands for text which the vocabulary cannot spell."""
        return self._role_id("unk_token")

    @property
    def cls_token_id(self) -> int | None:
        """The id of the token that every text begins with."""
        return self._role_id("cls_token")

    @property
    def sep_token_id(self) -> int | None:
        """The id of the token that ends a text."""
        return self._role_id("sep_token")

    @property
    def mask_token_id(self) -> int | None:
        """The id of the token that stands for a masked one."""
        return self._role_id("mask_token")

    @property
    def special_tokens(self) -> list[str]:
        """All special tokens, in the order of their ids."""
        return special_contents(self._rust, self._parts.roles)

    @property
    def special_token_ids(self) -> list[int]:
        """The ids of all special tokens, ascending. Masking never touches them."""
        return [self._rust.token_to_id(token) for token in self.special_tokens]

    @property
    def rust(self) -> RustTokenizer:
        """The wrapped `tokenizers.Tokenizer`."""
        return self._rust

    @property
    def template(self) -> Template:
        """Where special tokens stand around one text and around two."""
        if self._template is None:
            self._template = template_of(self._rust)
        return self._template

    def save(
        self, folder: str | os.PathLike, model_input_names: Sequence[str] | None = None
    ) -> None:
        """Writes files that `from_preset` and `transformers.AutoTokenizer` read.

        Args:
            folder: Made where it is missing; other files in it stay.
            model_input_names: What `transformers` gives to its model. Default `None`: `input_ids`,
                `token_type_ids` (if the second text of a pair has other segment ids) and
                `attention_mask`.

        Raises:
            OSError: The folder cannot be written.
        """
        if model_input_names is None:
            has_segments = max(self.template.pair.segments) > 0
            segment_names = ["token_type_ids"] if has_segments else []
            model_input_names = ["input_ids", *segment_names, "attention_mask"]
        write_folder(folder, self._rust, self._parts.roles, model_input_names)

    def save_assets(self, dir_path: str | os.PathLike) -> None:
        """Writes the files of the vocabulary (called by Keras when it saves a model)."""
        self.save(dir_path)

    def load_assets(self, dir_path: str | os.PathLike) -> None:
        """Reads what `save_assets` wrote (called by Keras when it loads a model)."""
        self._take(read_folder(dir_path))

    @property
    def is_loaded(self) -> bool:
        """Whether there is a vocabulary; a tokenizer made from its configuration has none yet."""
        return self._parts is not None

    @staticmethod
    def exists_in(folder: str | os.PathLike) -> bool:
        """Whether a folder has tokenizer files that `from_preset` would read."""
        return has_tokenizer(folder)

    @property
    def _rust(self) -> RustTokenizer:
        if self._parts is None:
            raise ValueError(
                "This tokenizer has no vocabulary yet. Use `Tokenizer.from_preset(folder)` or "
                "`Tokenizer.train(texts, vocabulary_size)`, or call `load_assets(folder)`. "
                f"Received: name={self.name!r}."
            )
        return self._parts.rust

    def _take(self, parts: TokenizerParts) -> None:
        self._parts, self._template, self._size = parts, None, None

    def _role_id(self, role: str) -> int | None:
        rust = self._rust
        token = self._parts.roles.get(role)
        return None if token is None else rust.token_to_id(token)

    def _check_id(self, index: int) -> None:
        if not 0 <= int(index) < self.vocabulary_size():
            raise ValueError(
                "A token id must be at least 0 and less than the vocabulary size. "
                f"Received: id={index}, vocabulary_size={self.vocabulary_size()}."
            )


def _one_text(text: Any, name: str) -> str:
    if not isinstance(text, str):
        raise TypeError(
            f"`{name}` must be a string; lists of texts go to `tokenize` or to a preprocessor. "
            f"Received: {name}={text!r} of type {type(text).__name__}."
        )
    return as_texts(text, name)[0]
