"""Distillation: a small student learns from a good teacher."""

from kerasbert.distillation import objectives
from kerasbert.distillation.distiller import Distiller
from kerasbert.distillation.students import make_student

__all__ = ["Distiller", "make_student", "objectives"]
