"""Distillation: a small student learns from a good teacher."""

from kerasbert.distillation import objectives
from kerasbert.distillation.distiller import Distiller
from kerasbert.distillation.students import make_student
from kerasbert.distillation.teacher_cache import TeacherCache

__all__ = ["Distiller", "TeacherCache", "make_student", "objectives"]
