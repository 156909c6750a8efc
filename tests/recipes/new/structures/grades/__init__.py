"""Grades on a line, cut by thresholds."""

from maxmargin.structures.grades import oracles as _oracles  # noqa: F401 - registers them
from maxmargin.structures.grades.data import GradesData, grades_data

__all__ = ["GradesData", "grades_data"]
