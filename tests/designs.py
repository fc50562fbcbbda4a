"""Designs and facts of tables, for tests of what works with them."""

from dpcov.columns.design import Design


def numbers(size):
    """Return the design of so many columns that are numbers without gaps: x0, x1, …"""
    return Design.numbers_of(f"x{place}" for place in range(size))


def public_levels(table, *apart):
    """Return the facts of a frame of pandas that say no more than that its levels are public."""
    kinds = {name: str(kind) for name, kind in table.dtypes.items() if name not in apart}
    return {name: {"levels": "dtype"} if kind == "category" else {} for name, kind in kinds.items()}
