"""Tables as files: the bytes are those that pyarrow writes of the same values."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcov.publication.series import Series
from dpcov.publication.table_files import write_table

GAPS = np.array([0.5, np.nan, -1.0, *range(20), np.nan])


@pytest.mark.parametrize(
    "values",
    [
        ["a", "", "Größe", "\U0001f600", "x" * 300],
        [],
        np.array([True, False] * 9),
        np.array([], bool),
        GAPS,
        GAPS[::2],
        np.full(3, np.nan),
        np.arange(5.0),
        np.array([]),
    ],
    ids=lambda values: f"{len(values)} {type(values).__name__}",
)
def test_a_column_is_written_as_pyarrow_writes_it(tmp_path, values):
    write_table({"x": Series(values)}, tmp_path / "ours")
    kind = pa.string() if isinstance(values, list) else None
    expected = pa.table({"x": pa.array(values, kind, from_pandas=True)})
    pq.write_table(expected, tmp_path / "theirs.parquet")
    assert (tmp_path / "ours.parquet").read_bytes() == (tmp_path / "theirs.parquet").read_bytes()
