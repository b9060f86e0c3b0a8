"""Hugging Face's fields for stacks of global and local layers, `layer_types` and `rope_parameters`,
and the plain numbers that older files have in their place."""

from kerasbert.families.config_map import Field

_GLOBAL, _LOCAL = "full_attention", "sliding_attention"


def _layer_types(count, every):
    return [_LOCAL if index % every else _GLOBAL for index in range(count)]


def _read_layer_types(types, values):
    """The distance between global layers, which must be regular, from the list of all kinds."""
    later = [index for index, kind in enumerate(types) if kind == _GLOBAL and index]
    every = later[0] if later else max(len(types), values.get("global_attn_every_n_layers", 3))
    if list(types) != _layer_types(len(types), every):
        raise ValueError(
            "Only a global layer at regular distances, from the first on, is supported. "
            f"Received: layer_types={types}"
        )
    return every


def _write_layer_types(config):
    return _layer_types(config.num_layers, config.attention.global_every)


def _read_theta(kind):
    def read(parameters, _):
        given = parameters[kind]
        if given.get("rope_type", "default") != "default":
            raise ValueError(
                f"Only the default kind of rotary positions is supported. Received: {given}"
            )
        return float(given["rope_theta"])

    return read


def _write_rope(config):
    local = config.position.local_theta or config.position.theta
    thetas = {_GLOBAL: config.position.theta, _LOCAL: local}
    return {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()}


LAYER_TYPES = (
    Field("layer_types", "attention.global_every", _read_layer_types, _write_layer_types),
    Field("global_attn_every_n_layers", "attention.global_every", is_old=True),
)
ROPE_PARAMETERS = (
    Field("rope_parameters", "position.theta", _read_theta(_GLOBAL), _write_rope),
    Field("rope_parameters", "position.local_theta", _read_theta(_LOCAL), _write_rope),
    Field("global_rope_theta", "position.theta", is_old=True),
    Field("local_rope_theta", "position.local_theta", is_old=True),
)
