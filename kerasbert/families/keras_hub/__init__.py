"""What KerasHub's presets mean: facts only, by backbone class."""

from kerasbert.families.keras_hub.backbones import KERAS_HUB, TASK_CLASSES, KerasHubBackbone

__all__ = ["KERAS_HUB", "TASK_CLASSES", "KerasHubBackbone"]
