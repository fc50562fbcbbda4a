"""Dask's workers and Spark's executors: who runs tasks, what comes back. Knows no tables."""
