"""Rows from pyarrow data sets: files of any format and in any folders, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from dpcov.errors import InputError
from dpcov.sensitive.tables.arrow import ArrowBatchSource
from dpcov.sensitive.tables.arrow_columns import (
    choose_from_schema,
    declare_schema,
    import_pyarrow,
    stored_alike,
)
from dpcov.sensitive.tables.blocks import batch_rows
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.keys import refuse_mixture
from dpcov.sensitive.tables.kinds import Declared, TableKind
from dpcov.sensitive.tables.refusals import kind_of, read_all_or_refuse, read_or_refuse

__all__ = ["KIND", "DatasetSource"]


class DatasetSource(ArrowBatchSource):
    """A pyarrow data set: read in its own order, twice if its format does not store counts."""

    def __init__(self, dataset: Any, wanted: Wanted) -> None:
        import_pyarrow()
        _check(dataset)
        self._dataset = dataset
        choice = choose_from_schema(dataset.schema, wanted)
        if choice.unit is not None:
            place, name = choice.unit_column
            label = dataset.schema.names[place]
            alike = partial(stored_alike, dataset.get_fragments(), label)
            if not read_or_refuse(alike, self._failed):
                raise refuse_mixture(name)
        n_rows = read_or_refuse(dataset.count_rows, self._failed)
        super().__init__(choice, n_rows, "The data set X")

    _failed = (
        "The data set X cannot be read: a file of it is missing, truncated, or not of its schema."
    )

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        labels = self._dataset.schema.names  # Arrow makes a new list each time
        names = [labels[place] for place in places]
        batches = read_all_or_refuse(
            # Little is read ahead so that memory stays bounded.
            lambda: self._dataset.to_batches(
                columns=names,
                batch_size=batch_rows(len(names)),
                batch_readahead=1,
                fragment_readahead=1,
            ),
            self._failed,
        )
        return (batch.columns for batch in batches)


def _is_dataset(table: Any) -> bool:
    return type(table).__module__ == "pyarrow._dataset"


def _check(table: Any) -> None:
    if not hasattr(table, "count_rows") or not hasattr(table, "schema"):
        raise InputError(f"X must be a data set of pyarrow; got {kind_of(table)}.")


def _declare(table: Any, wanted: Wanted) -> Declared:
    _check(table)
    return declare_schema(table.schema)


KIND = TableKind(
    called="a pyarrow data set",
    open=lambda table, opening: DatasetSource(table, opening.wanted),
    declare=_declare,
    recognize=_is_dataset,
)
