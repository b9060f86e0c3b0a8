"""The families: one file of facts each. To add one is to write its file and name it here."""

from __future__ import annotations

import difflib

from kerasbert.families.albert import ALBERT
from kerasbert.families.bert import BERT
from kerasbert.families.big_bird import BIG_BIRD
from kerasbert.families.deberta import DEBERTA
from kerasbert.families.deberta_v2 import DEBERTA_V2
from kerasbert.families.distilbert import DISTILBERT
from kerasbert.families.electra import ELECTRA
from kerasbert.families.ernie import ERNIE
from kerasbert.families.family import Family, Preset
from kerasbert.families.heads import Head
from kerasbert.families.longformer import LONGFORMER
from kerasbert.families.mobilebert import MOBILEBERT
from kerasbert.families.modernbert import MODERNBERT
from kerasbert.families.mpnet import MPNET
from kerasbert.families.roberta import CAMEMBERT, ROBERTA, XLM_ROBERTA

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        BERT,
        DISTILBERT,
        ALBERT,
        ROBERTA,
        XLM_ROBERTA,
        CAMEMBERT,
        ELECTRA,
        ERNIE,
        MPNET,
        MOBILEBERT,
        DEBERTA,
        DEBERTA_V2,
        MODERNBERT,
        LONGFORMER,
        BIG_BIRD,
    )
}


def get_family(name: str | None) -> Family:
    """The family called `name`; BERT for `None`.

    Raises:
        ValueError: for a name that is not supported; it lists those that are.
    """
    if name is None:
        return BERT
    if name not in FAMILIES:
        raise ValueError(
            f"This model type is not supported. Supported are {sorted(FAMILIES)}. "
            f"Received: {name!r}"
        )
    return FAMILIES[name]


def list_presets() -> dict[str, str]:
    """The built-in presets: name to description.

    Example:

    ```python
    import kerasbert

    assert "bert_base_en_uncased" in kerasbert.list_presets()
    ```
    """
    return {
        name: preset.description
        for family in FAMILIES.values()
        for name, preset in family.presets.items()
    }


def find_preset(name: str) -> tuple[Family, Preset]:
    """The built-in preset called `name`, with its family.

    Raises:
        ValueError: for an unknown name; it lists near names.
    """
    for family in FAMILIES.values():
        if name in family.presets:
            return family, family.presets[name]
    near = difflib.get_close_matches(name, list_presets(), n=4, cutoff=0.4)
    hint = f"Did you mean one of {near}?" if near else "See `kerasbert.list_presets()`."
    raise ValueError(
        f"There is no built-in preset and no folder of this name. {hint} Received: preset={name!r}"
    )


def family_for(config, name: str | None = None) -> Family:
    """The family that writes an encoder of this configuration for Hugging Face.

    Args:
        config: an `EncoderConfig`.
        name: the family's name, or `None` for BERT if it can, else the only one that can.

    Raises:
        ValueError: if none can represent the configuration, or several can and none is named.
    """
    able = [family for family in FAMILIES.values() if family.can_represent(config)]
    names = sorted(family.name for family in able)
    if name is not None:
        if get_family(name) not in able:
            raise ValueError(
                f"The Hugging Face format of family {name!r} cannot represent this configuration "
                f"(able: {names or 'none'}). Received: config={config}"
            )
        return get_family(name)
    if BERT in able:
        return BERT
    if len(able) != 1:
        hint = (
            f"Several families can represent this configuration in Hugging Face's format. Name one "
            f"with `family=`: {names}."
            if able
            else f"Hugging Face's format of no family ({sorted(FAMILIES)}) can represent this "
            "configuration. Save it with `save_to_preset`."
        )
        raise ValueError(f"{hint} Received: config={config}")
    return able[0]


__all__ = [
    "FAMILIES",
    "Family",
    "Head",
    "Preset",
    "family_for",
    "find_preset",
    "get_family",
    "list_presets",
]
