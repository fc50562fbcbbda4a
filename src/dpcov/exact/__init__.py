"""Exact arithmetic: grids, sums, products, integer noise and selection.

Owns numbers, not their meaning: nothing here knows whether it works on raw rows or on
reports that were randomized before.
"""
