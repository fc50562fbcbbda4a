"""Dask's workers: who runs tasks, and what comes back. Knows nothing of tables."""
