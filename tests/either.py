"""One call for both functions, for tests that try the options of either."""

import dpcov


def release(table, **options):
    """Release pairs if `max_pairs` is among the options, and all covariances otherwise."""
    make = dpcov.release_pairs if "max_pairs" in options else dpcov.release
    return make(table, **options)
