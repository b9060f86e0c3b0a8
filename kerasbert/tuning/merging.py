"""Folding what was trained into the encoder's own weights."""

from __future__ import annotations

from kerasbert.tuning.addition import encoder_of
from kerasbert.tuning.compiling import compiled_anew
from kerasbert.tuning.freezing import unfreeze


def merge(model):
    """Fold LoRA into the kernels: W becomes W + (alpha / rank) A B.

    The result is a plain model that computes the same: it can be exported, quantized and trained as
    a whole, but for layers that were frozen before. A kernel that is quantized is quantized
    anew, which rounds it once more.

    Args:
        model: an `Encoder` or a task; changed in place, and compiled anew if it is compiled. One
            without additions stays as it is.

    Returns:
        The model.

    Raises:
        ValueError: if something else than LoRA was added: adapters, prompts and prefixes compute
            what no weights of a plain encoder can.
        TypeError: if `model` is something else.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    encoder = tuning.lora(kerasbert.Encoder(config), rank=4)
    tuning.merge(encoder).export_to_transformers("merged")
    ```
    """
    encoder = encoder_of(model)
    others = [addition.method for addition in encoder.additions if not addition.can_merge]
    if others:
        raise ValueError(
            "Only `lora` can be folded into the weights. Keep what else was added with "
            "`save_to_preset` or `tuning.save_delta`. "
            f"Received: an encoder with {others}"
        )
    if encoder.additions:
        with compiled_anew(model):
            for addition in encoder.additions:
                addition.fold(encoder)
            encoder.additions = ()
            unfreeze(model)
    return model
