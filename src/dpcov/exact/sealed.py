"""Values that have no noise yet: they can be used here, and not be stored or converted.

Owns the refusals that exact sums share, and the one way on which they travel: the pickler
that multiprocessing uses for pipes between processes, and nothing else does.
"""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, NoReturn

from dpcov.errors import SensitiveDataError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Sealed"]


class Sealed:
    """A frozen value that refuses to become an array, a pickle or a copy on disk.

    A subclass names its fields in ``__slots__`` and sets them once, with `_hold`.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # pickle.dump, joblib.dump, np.save and shelve meet __reduce_ex__ instead.
        ForkingPickler.register(cls, _reduce_for_transport)

    def _hold(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _freeze(self) -> None:
        """Make arrays read-only; what travelled has lost that."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} is a value: it cannot be changed.")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        self._refuse_storage()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._refuse_storage()

    def _refuse_storage(self) -> NoReturn:
        raise SensitiveDataError(
            f"A {type(self).__name__} has no noise and must not be stored or converted. Release it "
            "first: dpcov.release(...).save(path). It travels between processes through "
            "multiprocessing and Dask only, and in boxes through Spark."
        )


def _reduce_for_transport(value: Sealed) -> tuple[Any, ...]:
    names: tuple[str, ...] = value.__slots__
    return _arrive, (type(value), {name: getattr(value, name) for name in names})


def _arrive(kind: type[Sealed], fields: dict[str, Any]) -> Sealed:
    value = kind.__new__(kind)
    value._hold(**fields)
    value._freeze()
    return value
