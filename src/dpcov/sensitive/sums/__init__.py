"""Exact sums over blocks of rows. Knows no noise, and not where the blocks come from."""
