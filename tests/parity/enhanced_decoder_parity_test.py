"""DeBERTa's enhanced mask decoder, put together from the layers of `transformers`."""

import numpy as np
import pytest
import torch
import transformers
from keras import ops

from kerasbert import Encoder, MaskedLM
from tests.parity import tiny_models

LENGTH = 12


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    config = transformers.DebertaV2Config(
        **tiny_models.STACK,
        relative_attention=True,
        position_biased_input=False,
        pos_att_type=["c2p", "p2c"],
        position_buckets=8,
        share_att_key=True,
        norm_rel_ebd="layer_norm",
    )
    theirs = tiny_models.randomize(transformers.DebertaV2ForMaskedLM(config))
    folder = tmp_path_factory.mktemp("checkpoint")
    theirs.save_pretrained(folder)
    return theirs, MaskedLM.from_preset(folder, enhanced_decoder=True)


def reference(theirs, batch, position_table):
    """DeBERTa, apps/models/masked_language_model.py, `emd_context_layer`."""
    model = theirs.deberta
    mask = torch.tensor(batch["padding_mask"]).long()
    with torch.no_grad():
        states = model(
            torch.tensor(batch["token_ids"]).long(), mask, output_hidden_states=True
        ).hidden_states[-2]
        query = states + torch.tensor(position_table[:LENGTH])
        for _ in range(2):
            query, _ = model.encoder.layer[-1](
                states,
                model.encoder.get_attention_mask(mask),
                query_states=query,
                relative_pos=model.encoder.get_rel_pos(states),
                rel_embeddings=model.encoder.get_rel_embedding(),
            )
        return theirs.cls(query)


def test_logits_are_those_of_the_released_codes_steps(pair, make_batch, assert_close_where_real):
    theirs, ours = pair
    batch = make_batch(LENGTH)
    (positions,) = (w for w in ours.weights if w.path.startswith("enhanced_decoder/"))
    positions.assign(np.random.default_rng(0).normal(0, 0.3, positions.shape))
    expected = reference(theirs, batch, ops.convert_to_numpy(positions))
    assert_close_where_real(ours(batch), expected, batch["padding_mask"])


def test_without_it_the_logits_are_others(pair, make_batch):
    _, ours = pair
    batch = make_batch(LENGTH)
    plain = MaskedLM(ours.backbone)
    plain.head.set_weights(ours.head.get_weights())
    difference = ops.convert_to_numpy(plain(batch)) - ops.convert_to_numpy(ours(batch))
    assert np.abs(difference).max() > 1e-2


def test_an_encoder_with_absolute_positions_is_refused():
    ours = Encoder.from_preset("bert_tiny_en_uncased", load_weights=False)
    with pytest.raises(ValueError, match="no absolute positions"):
        MaskedLM(ours, enhanced_decoder=True)
