"""Exact counts of parameters of the models in transformers: the encoder, and with heads on top (the
classifier of two classes; pretraining is masked tokens and sentence pairs, or replaced tokens)."""

from typing import NamedTuple


class Counts(NamedTuple):
    encoder: int
    classifier: int
    masked_lm: int
    pretraining: int | None = None


PARAMETERS = {
    "bert_tiny_en_uncased": Counts(4_385_920, 4_386_178, 4_416_698, 4_433_468),
    "bert_mini_en_uncased": Counts(11_170_560, 11_171_074, 11_201_594, 11_267_900),
    "bert_small_en_uncased": Counts(28_763_648, 28_764_674, 28_795_194, 29_058_876),
    "bert_medium_en_uncased": Counts(41_373_184, 41_374_210, 41_404_730, 41_668_412),
    "bert_base_en_uncased": Counts(109_482_240, 109_483_778, 109_514_298, 110_106_428),
    "bert_base_en": Counts(108_310_272, 108_311_810, 108_340_804, 108_932_934),
    "bert_base_zh": Counts(102_267_648, 102_269_186, 102_290_312, 102_882_442),
    "bert_base_multi": Counts(177_853_440, 177_854_978, 177_974_523, 178_566_653),
    "bert_large_en_uncased": Counts(335_141_888, 335_143_938, 335_174_458, 336_226_108),
    "bert_large_en": Counts(333_579_264, 333_581_314, 333_610_308, 334_661_958),
    "tiny_bert_4_en_uncased": Counts(14_350_248, 14_350_874, 14_381_394, 14_479_676),
    "tiny_bert_6_en_uncased": Counts(66_955_008, 66_956_546, 66_987_066, 67_579_196),
    "mini_lm_12_en_uncased": Counts(33_360_000, 33_360_770, 33_391_290, 33_539_900),
    "mini_lm_6_en_uncased": Counts(22_713_216, 22_713_986, 22_744_506, 22_893_116),
    "distil_bert_base_en_uncased": Counts(66_362_880, 66_955_010, 66_985_530),
    "distil_bert_base_en": Counts(65_190_912, 65_783_042, 65_812_036),
    "distil_bert_base_multi": Counts(134_734_080, 135_326_210, 135_445_755),
    "albert_base_en_uncased": Counts(11_683_584, 11_685_122, 11_221_680, 11_813_810),
    "albert_large_en_uncased": Counts(17_683_968, 17_686_018, 16_795_824, 17_847_474),
    "albert_extra_large_en_uncased": Counts(58_724_864, 58_728_962, 54_821_040, 59_021_490),
    "albert_extra_extra_large_en_uncased": Counts(
        222_595_584, 222_603_778, 206_368_944, 223_158_450
    ),
    "roberta_base_en": Counts(124_645_632, 124_647_170, 124_697_433),
    "roberta_large_en": Counts(355_359_744, 355_361_794, 355_412_057),
    "distil_roberta_base_en": Counts(82_118_400, 82_119_938, 82_170_201),
    "xlm_roberta_base_multi": Counts(278_043_648, 278_045_186, 278_295_186),
    "xlm_roberta_large_multi": Counts(559_890_432, 559_892_482, 560_142_482),
    "camembert_base_fr": Counts(110_621_952, 110_623_490, 110_655_493),
    "electra_small_discriminator_uncased_en": Counts(
        13_483_008, 13_549_314, 13_546_682, 13_549_057
    ),
    "electra_base_discriminator_uncased_en": Counts(
        108_891_648, 109_483_778, 109_514_298, 109_483_009
    ),
    "electra_large_discriminator_uncased_en": Counts(
        334_092_288, 335_143_938, 335_174_458, 335_142_913
    ),
    "electra_base_generator_uncased_en": Counts(33_511_168, 33_577_474, 33_740_602, 33_577_217),
    "mpnet_base_en_uncased": Counts(109_486_464, 109_488_002, 109_518_527),
    "mobile_bert_en_uncased": Counts(24_844_544, 24_845_570, 36_596_538, 36_860_220),
    "modern_bert_base_en": Counts(149_014_272, 149_606_402, 149_655_232),
    "modern_bert_large_en": Counts(394_781_696, 395_833_346, 395_881_664),
    "deberta_base_en": Counts(138_601_728, 139_193_858, 139_244_121),
    "deberta_large_en": Counts(405_163_008, 406_214_658, 406_264_921),
    "deberta_extra_large_en": Counts(757_804_032, 758_855_682, 758_905_945),
    "deberta_v3_extra_small_en": Counts(70_682_112, 70_830_722, 70_958_820),
    "deberta_v3_small_en": Counts(141_304_320, 141_896_450, 142_024_548),
    "deberta_v3_base_en": Counts(183_831_552, 184_423_682, 184_551_780),
    "deberta_v3_large_en": Counts(434_012_160, 435_063_810, 435_191_908),
    "deberta_v3_base_multi": Counts(278_218_752, 278_810_882, 279_061_880),
    "deberta_v2_extra_large_en": Counts(884_593_152, 886_957_058, 887_085_156),
    "deberta_v2_extra_extra_large_en": Counts(1_564_549_632, 1_566_913_538, 1_567_041_636),
}
