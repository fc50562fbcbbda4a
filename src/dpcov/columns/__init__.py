"""Public facts of columns: bounds, centers and scales that a caller knows without the data."""

from dpcov.columns.facts import Column, Columns
from dpcov.columns.units import Units

__all__ = ["Column", "Columns", "Units"]
