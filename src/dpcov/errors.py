"""The exceptions of dpcov, and nothing else.

::

    DpcovError
    ├── ParameterError         (ValueError)        a number or a name that the caller stated
    ├── InputError             (ValueError)        the table cannot be used as it is
    │   ├── MissingValueError                      … because a cell is missing or infinite
    │   └── MismatchError                          … because columns do not fit what is stated
    ├── ReleaseFileError       (ValueError)        a file that is not a release
    │   ├── CorruptFileError                       … truncated, altered, or of another kind
    │   └── OtherSchemaError                       … in the format of another version
    ├── FolderError            (ValueError)        a folder to publish, not as it should be
    ├── CollectionPlanError    (ValueError)        a text that is not a collection plan
    ├── ReportError            (ValueError)        bytes that cannot be counted as a report
    │   ├── MalformedReportError                   … wrong length or impossible contents
    │   ├── ForeignReportError                     … made for another plan, or simulated
    │   └── DuplicateReportError                   … counted already
    ├── CollectionError        (ValueError)        reports that cannot be kept or released
    ├── BudgetError            (ValueError)        more was asked for than an owner allows
    ├── LedgerError            (ValueError)        a ledger that cannot be used, or not like this
    │   ├── AlteredLedgerError                     … since its lines are not those that were written
    │   └── UnfinishedRequestError                 … since the request was begun before
    ├── SensitiveDataError     (TypeError)         an attempt to store what must not be stored
    ├── ForkedStreamError      (RuntimeError)      a random stream copied into another process
    ├── AuditError             (RuntimeError)      runs of an audit that cannot be compared
    ├── EngineError            (RuntimeError)      the workers of an engine did not finish
    ├── InexactArithmeticError (ArithmeticError)   the machine's BLAS is not exact on integers
    └── MissingExtraError      (ImportError)       an optional part is not installed

    LargeEpsilonWarning        (UserWarning)       an epsilon that promises little
    LeftoverWarning            (UserWarning)       a run that was killed left files behind
    NothingDetectableWarning   (UserWarning)       a release too noisy to show any relation
    SaturationWarning          (UserWarning)       a release of rows that were nearly all clipped
    UncoveredStepWarning       (UserWarning)       scikit-learn did more than is promised
    WeakPromiseWarning         (UserWarning)       a delta that allows to publish somebody's row

Claim P8. No message contains a value from the data or anything computed from one, nor
does an exception chained to it. Column names, shapes and types are public and may appear.
"""

from __future__ import annotations

__all__ = [
    "AlteredLedgerError",
    "AuditError",
    "BudgetError",
    "CollectionError",
    "CollectionPlanError",
    "CorruptFileError",
    "DpcovError",
    "DuplicateReportError",
    "EngineError",
    "FolderError",
    "ForeignReportError",
    "ForkedStreamError",
    "InexactArithmeticError",
    "InputError",
    "LargeEpsilonWarning",
    "LedgerError",
    "LeftoverWarning",
    "MalformedReportError",
    "MismatchError",
    "MissingExtraError",
    "MissingValueError",
    "NothingDetectableWarning",
    "OtherSchemaError",
    "ParameterError",
    "ReleaseFileError",
    "ReportError",
    "SaturationWarning",
    "SensitiveDataError",
    "UncoveredStepWarning",
    "UnfinishedRequestError",
    "WeakPromiseWarning",
]


class DpcovError(Exception):
    """The root of every exception that dpcov raises on purpose.

    Attributes
    ----------
    budget_spent : str
        What a release had spent when it ended: ``"nothing"``, ``"all"``, or which steps and how
        much epsilon. Whatever ends a release has it, `KeyboardInterrupt` too.
    """

    budget_spent: str = "nothing"


class ParameterError(DpcovError, ValueError):
    """A parameter is outside of what the method allows."""


class InputError(DpcovError, ValueError):
    """The table cannot be used as it is."""


class MissingValueError(InputError):
    """The table has missing or infinite cells and the caller asked to refuse them."""


class MismatchError(InputError):
    """Nearly no cell of some columns fits what is stated of them. Their counts were paid for.

    Attributes
    ----------
    columns : tuple of str
        The names of these columns.
    """

    columns: tuple[str, ...] = ()


class ReleaseFileError(DpcovError, ValueError):
    """A file cannot be read as a release."""


class CorruptFileError(ReleaseFileError):
    """A file is truncated, altered, or not a release at all."""


class OtherSchemaError(ReleaseFileError):
    """A file has the format of another version of dpcov: each version reads its own alone."""


class FolderError(DpcovError, ValueError):
    """A folder to publish cannot be written, or is not one."""


class CollectionPlanError(DpcovError, ValueError):
    """A text cannot be read as a collection plan, or its constants do not pay for its promise."""


class ReportError(DpcovError, ValueError):
    """Bytes cannot be counted as a report."""


class MalformedReportError(ReportError):
    """A report has the wrong length, an unknown version or impossible contents."""


class ForeignReportError(ReportError):
    """A report was made for another plan, or by a simulation."""


class DuplicateReportError(ReportError):
    """Two collectors that keep the ids of their reports counted the same report."""


class CollectionError(DpcovError, ValueError):
    """A collection of reports is not there, cannot be reached, or does not allow what is asked."""


class BudgetError(DpcovError, ValueError):
    """More would be spent, or told by silence, than the owner of a device or account allows."""


class LedgerError(DpcovError, ValueError):
    """A ledger is not there, cannot be reached, or does not take what it is given."""


class AlteredLedgerError(LedgerError):
    """A line of a ledger was altered, removed or moved. Nothing is charged to it."""


class UnfinishedRequestError(LedgerError):
    """A request was begun before and not finished: noise may have been drawn for it."""


class SensitiveDataError(DpcovError, TypeError):
    """A value computed from raw rows was about to be stored or converted."""


class ForkedStreamError(DpcovError, RuntimeError):
    """A random stream was used in a process other than the one that keyed it."""


class AuditError(DpcovError, RuntimeError):
    """A replayed run asks the noise door for something else, or runs have other answers."""


class EngineError(DpcovError, RuntimeError):
    """The workers of an engine died, or cannot work together. Nothing was released."""


class InexactArithmeticError(DpcovError, ArithmeticError):
    """The check of the integer matrix product failed."""


class MissingExtraError(DpcovError, ImportError):
    """A part of dpcov needs a package that is not installed."""


class LeftoverWarning(UserWarning):
    """A run that was killed left files beside a folder, or something of a folder is left."""


class NothingDetectableWarning(UserWarning):
    """No correlation, however large, could be seen in a release."""


class SaturationWarning(UserWarning):
    """Nearly all rows were clipped to the stated norm."""


class LargeEpsilonWarning(UserWarning):
    """Epsilon is above 3: what is concluded about one person may change a lot."""


class UncoveredStepWarning(UserWarning):
    """Something that scikit-learn does before, or again, is not covered by the promise."""


class WeakPromiseWarning(UserWarning):
    """Delta is so large that the promise protects nobody in particular."""
