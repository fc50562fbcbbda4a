"""Hypothesis runs the same examples every time and on any machine, however slow."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
