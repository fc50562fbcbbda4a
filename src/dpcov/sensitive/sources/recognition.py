"""Which kind of table an object is, without importing the library that made it.

Owns the recognition. Whether a table of that kind is acceptable is for its reader to say.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = [
    "is_anndata",
    "is_arrow_stream",
    "is_dask",
    "is_frame",
    "is_lazy",
    "is_path",
    "is_spark",
    "is_sparse",
    "is_streamed",
]


def is_streamed(table: Any) -> bool:
    """Return whether only `open_source` can read `table`: no array and no frame in memory."""
    return (
        is_path(table)
        or is_dask(table)
        or is_sparse(table)
        or is_anndata(table)
        or is_spark(table)
        or is_lazy(table)
        or (is_arrow_stream(table) and not is_frame(table))
    )


def is_dask(table: Any) -> bool:
    """Return whether `table` is a Dask collection."""
    return type(table).__module__.split(".")[0] in ("dask", "dask_expr")


def is_anndata(table: Any) -> bool:
    """Return whether `table` is an AnnData object."""
    return type(table).__module__.startswith("anndata.") and hasattr(table, "var_names")


def is_spark(table: Any) -> bool:
    """Return whether `table` is a Spark data frame, classic or of Spark Connect."""
    kind = type(table)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def is_path(table: Any) -> bool:
    """Return whether `table` is the path of a file or folder."""
    return isinstance(table, (str, os.PathLike))


def is_sparse(table: Any) -> bool:
    """Return whether `table` is a matrix or array of scipy.sparse."""
    return type(table).__module__.startswith("scipy.sparse") and hasattr(table, "tocsr")


def is_lazy(table: Any) -> bool:
    """Return whether `table` is a polars lazy frame."""
    import narwhals as nw

    return bool(nw.dependencies.is_polars_lazyframe(table))


def is_frame(table: Any) -> bool:
    """Return whether `table` is a pandas, polars or pyarrow table in memory."""
    import narwhals as nw

    # narwhals may refuse by DuplicateError, which is for the reader to say.
    try:
        nw.from_native(table, eager_only=True)
    except TypeError:
        return False
    except Exception:
        return True
    return True


def is_arrow_stream(table: Any) -> bool:
    """Return whether `table` is an Arrow object, or offers an Arrow stream."""
    if type(table).__module__.startswith("pyarrow"):
        return hasattr(table, "schema")
    return hasattr(table, "__arrow_c_stream__")
