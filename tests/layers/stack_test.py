"""Which block runs at which step."""

import pytest

from kerasbert import EncoderConfig, Sharing
from kerasbert.layers import block_order, num_blocks


@pytest.mark.parametrize(
    ("num_layers", "sharing", "blocks", "order"),
    [
        (3, None, 3, [0, 1, 2]),
        (3, Sharing(), 1, [0, 0, 0]),
        (4, Sharing(groups=2), 2, [0, 0, 1, 1]),
        (4, Sharing(groups=2, layers_per_group=2), 4, [0, 1, 0, 1, 2, 3, 2, 3]),
        (2, Sharing(groups=1, layers_per_group=3), 3, [0, 1, 2, 0, 1, 2]),
    ],
)
def test_block_order(num_layers, sharing, blocks, order):
    config = EncoderConfig(num_layers=num_layers, sharing=sharing)
    assert num_blocks(config) == blocks
    assert block_order(config) == order
