"""Designs of tables, for tests of what works with them."""

from dpcov.columns.design import Design


def numbers(size):
    """Return the design of so many columns that are numbers without gaps: x0, x1, …"""
    return Design.numbers_of(f"x{place}" for place in range(size))
