"""The normalisations that blocks use."""

from __future__ import annotations

import keras


class Affine(keras.layers.Layer):
    """A scale and a shift for each feature, without normalising: MobileBERT's NoNorm (Sun et al.,
    2020, arXiv:2004.02984, section 3.3). (..., D) -> (..., D)."""

    def build(self, x_shape):
        self.gamma = self.add_weight(shape=(x_shape[-1],), initializer="ones", name="gamma")
        self.beta = self.add_weight(shape=(x_shape[-1],), initializer="zeros", name="beta")
        self.built = True

    def call(self, x):
        return x * self.gamma + self.beta

    def compute_output_shape(self, x_shape):
        return x_shape
