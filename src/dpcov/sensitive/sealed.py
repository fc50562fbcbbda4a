"""Values that have no noise yet: they can be used here, and not be stored or converted.

Owns the refusals that exact sums share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dpcov.errors import SensitiveDataError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Sealed"]


class Sealed:
    """A frozen value that refuses to become an array, a pickle or a copy on disk."""

    __slots__ = ()

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
            "multiprocessing and Dask only."
        )
