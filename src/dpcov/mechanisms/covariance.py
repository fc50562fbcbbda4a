"""`dpcov.release`: the covariance of a table, all of its second moments about its mean.

Owns what a caller may state about it. The steps are `mechanisms.dense`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dpcov.columns.fields import Field
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.ledger import Ledger
from dpcov.mechanisms.dense import DenseOptions, release_dense
from dpcov.mechanisms.dense_outlook import check_size
from dpcov.mechanisms.door import Facts, Progress, Request, refused_for_free
from dpcov.parameters import check_number
from dpcov.releases import Release
from dpcov.releases.saturation import warn_of_saturation

__all__ = ["release"]


def release(
    table: Any,
    *,
    epsilon: float,
    delta: float,
    columns: Facts | None = None,
    row_norm: float | None = None,
    neighbors: str = "replace",
    shares: Mapping[str, float] | None = None,
    missing: str | None = None,
    weight: str | None = None,
    weight_bound: float | None = None,
    privacy_unit: str | None = None,
    rows_per_unit: int | None = None,
    header: bool | None = None,
    missing_codes: Sequence[float | str] | None = None,
    csv: Mapping[str, str] | None = None,
    engine: Any = None,
    progress: Progress | None = None,
    seed: int | None = None,
    ledger: Ledger | None = None,
    request_id: str | None = None,
    allow: Collection[str] = (),
) -> Release:
    """Publish the covariance of a sensitive table. Spends the privacy budget.

    Parameters
    ----------
    table : array, data frame, stream or path, shape (n_rows, n_columns)
        One row for each person, or several with `privacy_unit`; any real, integer or boolean
        type. numpy, scipy.sparse, pandas, polars (also lazy), pyarrow tables and data sets, Dask
        arrays and data frames, Spark, AnnData, anything with ``__arrow_c_stream__`` such as a
        DuckDB relation, or the path of a ``.csv``, ``.parquet`` or ``.npy`` file or of
        a folder of Parquet files. Files and streams are read in pieces. A CSV file needs a
        header, or `header=False`; a cell of it that is no number is missing. Not modified,
        not kept.
        Of a stream that can be read only once, such as a reader or a DuckDB relation, the
        columns that are used are written to a temporary file without a name, in ``TMPDIR`` or
        the system's temporary folder, which is gone with the call or the process. With
        `row_norm` and without `privacy_unit` nothing is written, and there may be 3.8 million
        rows. See docs/data.md.
    epsilon : float
        Positive. There is no default.
    delta : float
        In (0, 1), well below 1 / n_rows. There is no default.
    columns : Columns, mapping, path of a .toml or .json file, or sequence of str, optional
        Public facts of the columns to be used, such as ``{"age": (18, 110), "income": (0,
        None)}``: see `dpcov.Columns`. Or column names; by default the table's own, or
        ``x0, x1, …``, but for those that are identifiers by their names, such as ``person_id``.
        Columns of a frame or file that are not named are not used; ``{"*": {}}`` names all.
        What is not stated of a column is learned, and paid for: a range, a center, limits and
        a scale.
    row_norm : float, optional
        A public bound on the Euclidean norm of a row, in units of the stated centers and scales,
        or of the middle of the bounds and half their distance, or in the data's own. Longer rows
        are clipped to it. Choose it from knowledge: a bound that is read from the data breaks
        the promise. With it nothing is learned, and the rows are read once. By default it is
        learned too, and the rows are read three times.
    neighbors : {"replace", "add-remove"}
        Which tables are hard to tell apart: two that differ in one person's row, or two
        of which one has a row that adds nothing in its place. Both take the number of rows
        as public.
    shares : mapping, optional
        Shares of the budget for what is learned: of ``"range"``, ``"center"``, ``"limit"``,
        ``"mean"``, ``"scale"``, ``"beyond"``, ``"radius"`` and ``"clipping"``. The moments have
        what is left. See docs/choosing.md.
    missing : {"pairwise", "complete", "refuse", "center"}, optional
        What to do with missing and infinite cells. ``"pairwise"``: each pair of columns by the
        rows in which both cells are there, as `pandas.DataFrame.cov` does; how often that is, is
        released with the moments. ``"complete"``: by the rows in which all cells are there, as
        statsmodels and R do for regressions; how many there are is released first, and too few
        are refused then. ``"refuse"``: raise; the promise then holds among complete
        tables only, since that there is a release tells that nobody's cell is missing.
        ``"center"``: read them as the center of their column, which should be close to the mean.
        By default pairwise where the row norm is learned, and refuse where it is stated.
    weight : str, optional
        The column that says how much a row counts, as survey weights do. Moments and means are
        then weighted. It is not released. What is no number above zero counts as 0.
    weight_bound : float, optional
        With `weight`: a public bound of the weights, from knowledge of the sample's design.
        Larger ones are read as the bound.
    privacy_unit : str, optional
        The column that says whose row it is, when one person has several. The promise is then
        about all rows of one person together. The column is not released.
    rows_per_unit : int, optional
        With `privacy_unit`: how many rows of each are used, at most. Of those who have more, so
        many are drawn at random, without a look at another column. The noise grows with it.
    header : bool, optional
        True says that the table's own names are names, also if some look like values. Without it
        such a table is refused, because they may be somebody's row: the first of a CSV file
        without a header. False says that a CSV file has none; `columns` then names all columns
        in the file's order.
    missing_codes : sequence of float or str, optional
        Codes that mean that there is no answer, in all columns, such as ``[-9, 99]``: cells with
        them are missing. Those of one column stand among its facts.
    csv : mapping, optional
        How a CSV file is written: ``{"delimiter": ";", "decimal": ","}``. By default with commas
        between cells, and points in numbers.
    engine : {"dask", "spark", "driver"}, distributed.Client or SparkSession, optional
        Read and add up the rows on the workers of this client; ``"dask"`` takes the cluster
        that this process is connected to, or else Dask's threads in it. The executors of a Spark
        session read Parquet and .npy files that all of them see. The noise is drawn
        here, once, and the same seed gives the same bytes. A Dask collection uses Dask anyway,
        and a Spark data frame Spark's executors, unless ``"driver"`` brings its rows here.
        See docs/dask.md and docs/spark.md.
    progress : bool or callable, optional
        By default a bar is shown in a terminal after two seconds. A function is called with
        the name of the pass, the rows read so far, and the rows in all, or None.
    seed : int, optional
        Makes a repeatable *simulation*, which promises nothing. Never for real data.
    ledger : Ledger, optional
        The account of what was promised about these people: charged before any noise is drawn,
        and told what was released. See docs/ledger.md.
    request_id : str, optional
        With `ledger`: a name for this request. The same name and options again return the
        release that was finished, and are not charged for it twice. The table is not compared.
    allow : set of {"small", "mismatch"}, optional
        What is released in spite of a warning. ``"small"``: a table in which no correlation could
        be seen. ``"mismatch"``: one of whose columns nearly all cells, or the cells of most
        levels, do not fit what is stated of it.

    Returns
    -------
    Release
        The noisy covariance (1/n) Σ (x − m)(x − m)ᵀ and the noisy mean m, with their noise
        scales and their promise.

    Raises
    ------
    ParameterError, InputError
        With no data in it. What can be refused without a row is refused before the table is
        opened, and what is wrong with cells in the first reading: the message says that nothing
        was spent. If a later reading fails, it says that noise had been drawn.
    BudgetError, LedgerError
        The ledger has no budget for it, cannot compare it with what it counts, or cannot be used.
    EngineError
        The workers of `engine` died, or the connection to them. The message says the same.

    Warns
    -----
    LargeEpsilonWarning
        When epsilon is above 3.
    WeakPromiseWarning
        When delta is above 1 / n_rows: publishing one row at random would keep that promise.
    SaturationWarning
        When the release shows that nearly all rows are as long as the stated `row_norm` allows:
        see `Release.bound_in_use`.

    See Also
    --------
    release_pairs : The strongest pairs, for hundreds or thousands of columns.
    plan : What either will show.

    Notes
    -----
    Formal guarantee: (epsilon, delta)-differential privacy of everything returned, for
    the stated neighboring relation, among complete tables if others are refused (claims in
    docs/privacy.md). Everything that is learned on the way is paid for from the same promise,
    and listed in ``release.events``.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(scale=0.3, size=(5000, 4))
    >>> release = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=1.0)
    >>> print(release.promise)
    (1, 1e-06)-differential privacy, replace-one neighbors
    """
    with refused_for_free():
        if missing is None:
            missing = Missing.PAIRWISE if row_norm is None else Missing.REFUSE
        request = Request.of(
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            columns=columns,
            missing=missing,
            weight=weight,
            privacy_unit=privacy_unit,
            rows_per_unit=rows_per_unit,
            header=header,
            missing_codes=missing_codes,
            csv=csv,
            engine=engine,
            progress=progress,
            seed=seed,
            ledger=ledger,
            request_id=request_id,
            stated={
                "what": "release",
                "row_norm": row_norm,
                "shares": shares,
                "weight_bound": weight_bound,
            },
            allow=allow,
        )
        options = DenseOptions(
            promise=request.promise,
            facts=request.facts,
            row_norm=row_norm,
            shares=shares,
            rows_per_unit=request.rows_per_unit,
            missing=request.missing,
            weight_bound=_weight_bound(weight, weight_bound),
            allow=request.allow,
        )
        options.check(request.n_columns)
        request = request.for_table(table)
        finished = request.find_finished(Release)
    if finished is not None:
        return finished
    opened = request.reading(table, passes=options.passes)
    with request.spending.settled():
        with opened as (source, adder):
            rows = options.rows(source)
            made = release_dense(
                rows,
                options,
                engine=adder,
                stream=request.stream,
                reserve=request.spending.reserve,
                accept=lambda n_rows: _check_size(options, rows.fields, n_rows),
            )
            made = request.record(made, source)
        # Warnings may be errors, which then end the release.
        request.warn_of_weak_promise(made.n_rows)
        if row_norm is not None:
            warn_of_saturation(made)
        return made


def _check_size(options: DenseOptions, fields: Sequence[Field], n_rows: int) -> None:
    """Refuse so few rows that nothing could be seen, or learned, unless that is allowed."""
    if "small" not in options.allow:
        check_size(options, fields, n_rows)


def _weight_bound(weight: str | None, bound: float | None) -> float | None:
    """Return the bound of weights, if rows have any."""
    if weight is None and bound is None:
        return None
    if weight is None or bound is None:
        raise ParameterError(
            "weight= and weight_bound= go together: the column of weights, and a public bound of "
            "them that comes from knowledge, such as the design of the sample."
        )
    return check_number("weight_bound", bound, low=1e-100, high=1e100)
