import pytest

from kerasbert.distillation import layer_maps


def test_uniform_map_is_tinyberts_where_the_depths_divide():
    # Jiao et al. 2019, section 4.1: g(m) = 3 m for a student of 4 and a teacher of 12 layers.
    assert layer_maps.uniform(4, 12) == [(0, 0), (1, 3), (2, 6), (3, 9), (4, 12)]


def test_uniform_map_pairs_first_and_last_for_any_depths():
    for student, teacher in [(1, 7), (3, 5), (5, 7), (4, 4)]:
        pairs = layer_maps.uniform(student, teacher)
        assert pairs[0] == (0, 0)
        assert pairs[-1] == (student, teacher)
        assert [t for _, t in pairs] == sorted(t for _, t in pairs)


def test_negative_layers_count_from_the_last_hidden_state():
    assert layer_maps.resolve({-1: -1, 0: 0}, 2, 6) == [(2, 6), (0, 0)]


@pytest.mark.parametrize("layer_map", [{3: 1}, {0: 7}, {-4: 0}])
def test_layers_that_do_not_exist_are_refused_by_number(layer_map):
    with pytest.raises(ValueError, match=r"counted from 0 \(its embeddings\) to"):
        layer_maps.resolve(layer_map, 2, 6)


@pytest.mark.parametrize("layer_map", [{}, [(1,)], [(1, 2, 3)]])
def test_a_map_without_pairs_is_refused(layer_map):
    with pytest.raises(ValueError, match="pairs"):
        layer_maps.resolve(layer_map, 2, 6)


def test_what_only_layers_have_is_counted_from_the_first_layer():
    assert layer_maps.resolve(None, 2, 6, first=1) == [(1, 3), (2, 6)]
    with pytest.raises(ValueError, match=r"from 1 \(its first layer\) to 6.*layer 0"):
        layer_maps.resolve({1: 0}, 2, 6, first=1)
