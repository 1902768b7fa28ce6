"""A table whose rows are made when they are asked for: objects for all would take too much."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Lazy(Sequence[T_co]):
    """Give ``__len__`` and ``row``."""

    @abstractmethod
    def row(self, place: int) -> T_co:
        """The row at a place; negative ones count from the end, as in a list."""

    @overload
    def __getitem__(self, place: int) -> T_co: ...
    @overload
    def __getitem__(self, place: slice) -> list[T_co]: ...
    def __getitem__(self, place: int | slice) -> T_co | list[T_co]:
        if isinstance(place, slice):
            return [self.row(n) for n in range(*place.indices(len(self)))]
        return self.row(place)
