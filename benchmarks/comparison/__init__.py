"""Correlations by other tools: the same tables, the same promise, the same public knowledge."""
