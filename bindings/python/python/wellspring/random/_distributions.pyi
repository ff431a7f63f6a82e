# mypy: disable-error-code="overload-overlap"
# Made by bindings/python/stubs.py from the table of distributions. A test compares it with the table. A number is an array
# too, of no dimension: the first overload that fits counts.

from collections.abc import Iterable
from typing import Any, Literal, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Size = SupportsIndex | Iterable[SupportsIndex]
_Float = float | np.floating[Any] | np.integer[Any]
_Int = int | np.integer[Any]
_Vector = Iterable[_Float] | Iterable[Iterable[_Float]] | NDArray[Any]
_Matrix = Iterable[_Vector] | NDArray[Any]
_At = Iterable[SupportsIndex] | SupportsIndex | None
_Out = TypeVar("_Out")
_Integer = TypeVar("_Integer", bound=np.integer[Any])
_F64 = type[float] | type[np.float64] | np.dtype[np.float64] | Literal["float64", "f8", "d"]
_F32 = type[np.float32] | np.dtype[np.float32] | Literal["float32", "f4", "f"]

TABLE: dict[str, Any]

def described(method: _Out) -> _Out: ...

class Distributions:
    """The methods of `Elements` that are in the table."""

    _native: Any
    def _draw(
        self, name: str, given: tuple[Any, ...], size: Any, dtype: Any, out: Any, first: Any, at: Any = None, of: Any = None
    ) -> Any: ...
    @overload
    def random(
        self, size: None = ..., dtype: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def random(
        self, size: _Size, dtype: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def random(
        self, size: None, dtype: _F64, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.float64: ...
    @overload
    def random(
        self, size: None = ..., *, dtype: _F64, out: None = ..., first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> np.float64: ...
    @overload
    def random(
        self, size: _Size, dtype: _F64, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def random(
        self, size: None, dtype: _F32, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.float32: ...
    @overload
    def random(
        self, size: None = ..., *, dtype: _F32, out: None = ..., first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> np.float32: ...
    @overload
    def random(
        self, size: _Size, dtype: _F32, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def random(
        self, size: _Size | None, dtype: Any, out: _Out, *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def random(
        self, size: _Size | None = ..., dtype: Any = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def uniform(
        self, low: _Float = ..., high: _Float = ..., size: None = ..., dtype: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def uniform(
        self, low: ArrayLike, high: ArrayLike, size: _Size, dtype: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def uniform(
        self, low: ArrayLike = ..., high: ArrayLike = ..., *, size: _Size, dtype: None = ..., out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def uniform(
        self, low: ArrayLike = ..., high: ArrayLike = ..., size: None = ..., dtype: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def uniform(
        self, low: _Float, high: _Float, size: None, dtype: _F64, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> np.float64: ...
    @overload
    def uniform(
        self, low: _Float = ..., high: _Float = ..., size: None = ..., *, dtype: _F64, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.float64: ...
    @overload
    def uniform(
        self, low: ArrayLike, high: ArrayLike, size: _Size, dtype: _F64, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def uniform(
        self, low: ArrayLike = ..., high: ArrayLike = ..., *, size: _Size, dtype: _F64, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def uniform(
        self, low: ArrayLike, high: ArrayLike, size: None, dtype: _F64, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def uniform(
        self, low: ArrayLike = ..., high: ArrayLike = ..., size: None = ..., *, dtype: _F64, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def uniform(
        self, low: _Float, high: _Float, size: None, dtype: _F32, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> np.float32: ...
    @overload
    def uniform(
        self, low: _Float = ..., high: _Float = ..., size: None = ..., *, dtype: _F32, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.float32: ...
    @overload
    def uniform(
        self, low: ArrayLike, high: ArrayLike, size: _Size, dtype: _F32, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def uniform(
        self, low: ArrayLike = ..., high: ArrayLike = ..., *, size: _Size, dtype: _F32, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def uniform(
        self, low: ArrayLike, high: ArrayLike, size: None, dtype: _F32, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def uniform(
        self, low: ArrayLike = ..., high: ArrayLike = ..., size: None = ..., *, dtype: _F32, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def uniform(
        self, low: ArrayLike, high: ArrayLike, size: _Size | None, dtype: Any, out: _Out, *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def uniform(
        self, low: ArrayLike = ..., high: ArrayLike = ..., size: _Size | None = ..., dtype: Any = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def standard_normal(
        self, size: None = ..., dtype: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def standard_normal(
        self, size: _Size, dtype: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def standard_normal(
        self, size: None, dtype: _F64, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.float64: ...
    @overload
    def standard_normal(
        self, size: None = ..., *, dtype: _F64, out: None = ..., first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> np.float64: ...
    @overload
    def standard_normal(
        self, size: _Size, dtype: _F64, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def standard_normal(
        self, size: None, dtype: _F32, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.float32: ...
    @overload
    def standard_normal(
        self, size: None = ..., *, dtype: _F32, out: None = ..., first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> np.float32: ...
    @overload
    def standard_normal(
        self, size: _Size, dtype: _F32, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def standard_normal(
        self, size: _Size | None, dtype: Any, out: _Out, *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def standard_normal(
        self, size: _Size | None = ..., dtype: Any = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def normal(
        self, loc: _Float = ..., scale: _Float = ..., size: None = ..., dtype: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def normal(
        self, loc: ArrayLike, scale: ArrayLike, size: _Size, dtype: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def normal(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., *, size: _Size, dtype: None = ..., out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def normal(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., size: None = ..., dtype: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def normal(
        self, loc: _Float, scale: _Float, size: None, dtype: _F64, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> np.float64: ...
    @overload
    def normal(
        self, loc: _Float = ..., scale: _Float = ..., size: None = ..., *, dtype: _F64, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.float64: ...
    @overload
    def normal(
        self, loc: ArrayLike, scale: ArrayLike, size: _Size, dtype: _F64, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def normal(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., *, size: _Size, dtype: _F64, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def normal(
        self, loc: ArrayLike, scale: ArrayLike, size: None, dtype: _F64, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def normal(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., size: None = ..., *, dtype: _F64, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def normal(
        self, loc: _Float, scale: _Float, size: None, dtype: _F32, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> np.float32: ...
    @overload
    def normal(
        self, loc: _Float = ..., scale: _Float = ..., size: None = ..., *, dtype: _F32, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.float32: ...
    @overload
    def normal(
        self, loc: ArrayLike, scale: ArrayLike, size: _Size, dtype: _F32, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def normal(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., *, size: _Size, dtype: _F32, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def normal(
        self, loc: ArrayLike, scale: ArrayLike, size: None, dtype: _F32, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def normal(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., size: None = ..., *, dtype: _F32, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def normal(
        self, loc: ArrayLike, scale: ArrayLike, size: _Size | None, dtype: Any, out: _Out, *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def normal(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., size: _Size | None = ..., dtype: Any = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def standard_exponential(
        self, size: None = ..., dtype: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def standard_exponential(
        self, size: _Size, dtype: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def standard_exponential(
        self, size: None, dtype: _F64, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.float64: ...
    @overload
    def standard_exponential(
        self, size: None = ..., *, dtype: _F64, out: None = ..., first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> np.float64: ...
    @overload
    def standard_exponential(
        self, size: _Size, dtype: _F64, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def standard_exponential(
        self, size: None, dtype: _F32, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.float32: ...
    @overload
    def standard_exponential(
        self, size: None = ..., *, dtype: _F32, out: None = ..., first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> np.float32: ...
    @overload
    def standard_exponential(
        self, size: _Size, dtype: _F32, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def standard_exponential(
        self, size: _Size | None, dtype: Any, out: _Out, *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def standard_exponential(
        self, size: _Size | None = ..., dtype: Any = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def exponential(
        self, scale: _Float = ..., size: None = ..., dtype: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def exponential(
        self, scale: ArrayLike, size: _Size, dtype: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def exponential(
        self, scale: ArrayLike = ..., *, size: _Size, dtype: None = ..., out: None = ..., first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def exponential(
        self, scale: ArrayLike = ..., size: None = ..., dtype: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def exponential(
        self, scale: _Float, size: None, dtype: _F64, out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> np.float64: ...
    @overload
    def exponential(
        self, scale: _Float = ..., size: None = ..., *, dtype: _F64, out: None = ..., first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> np.float64: ...
    @overload
    def exponential(
        self, scale: ArrayLike, size: _Size, dtype: _F64, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def exponential(
        self, scale: ArrayLike = ..., *, size: _Size, dtype: _F64, out: None = ..., first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def exponential(
        self, scale: ArrayLike, size: None, dtype: _F64, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def exponential(
        self, scale: ArrayLike = ..., size: None = ..., *, dtype: _F64, out: None = ..., first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def exponential(
        self, scale: _Float, size: None, dtype: _F32, out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> np.float32: ...
    @overload
    def exponential(
        self, scale: _Float = ..., size: None = ..., *, dtype: _F32, out: None = ..., first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> np.float32: ...
    @overload
    def exponential(
        self, scale: ArrayLike, size: _Size, dtype: _F32, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def exponential(
        self, scale: ArrayLike = ..., *, size: _Size, dtype: _F32, out: None = ..., first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def exponential(
        self, scale: ArrayLike, size: None, dtype: _F32, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def exponential(
        self, scale: ArrayLike = ..., size: None = ..., *, dtype: _F32, out: None = ..., first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float32]: ...
    @overload
    def exponential(
        self, scale: ArrayLike, size: _Size | None, dtype: Any, out: _Out, *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def exponential(
        self, scale: ArrayLike = ..., size: _Size | None = ..., dtype: Any = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def truncated_normal(
        self, low: _Float, high: _Float, loc: _Float = ..., scale: _Float = ..., size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def truncated_normal(
        self, low: ArrayLike, high: ArrayLike, loc: ArrayLike, scale: ArrayLike, size: _Size, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def truncated_normal(
        self, low: ArrayLike, high: ArrayLike, loc: ArrayLike = ..., scale: ArrayLike = ..., *, size: _Size,
        out: None = ..., first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def truncated_normal(
        self, low: ArrayLike, high: ArrayLike, loc: ArrayLike = ..., scale: ArrayLike = ..., size: None = ...,
        out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def truncated_normal(
        self, low: ArrayLike, high: ArrayLike, loc: ArrayLike, scale: ArrayLike, size: _Size | None, out: _Out, *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def truncated_normal(
        self, low: ArrayLike, high: ArrayLike, loc: ArrayLike = ..., scale: ArrayLike = ..., size: _Size | None = ...,
        *, out: _Out, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def lognormal(
        self, mean: _Float = ..., sigma: _Float = ..., size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def lognormal(
        self, mean: ArrayLike, sigma: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def lognormal(
        self, mean: ArrayLike = ..., sigma: ArrayLike = ..., *, size: _Size, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def lognormal(
        self, mean: ArrayLike = ..., sigma: ArrayLike = ..., size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def lognormal(
        self, mean: ArrayLike, sigma: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def lognormal(
        self, mean: ArrayLike = ..., sigma: ArrayLike = ..., size: _Size | None = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def weibull(
        self, a: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def weibull(
        self, a: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def weibull(
        self, a: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def weibull(
        self, a: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def weibull(
        self, a: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def standard_cauchy(
        self, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def standard_cauchy(
        self, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def standard_cauchy(
        self, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def standard_cauchy(
        self, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def standard_gamma(
        self, shape: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def standard_gamma(
        self, shape: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def standard_gamma(
        self, shape: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def standard_gamma(
        self, shape: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def standard_gamma(
        self, shape: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def gamma(
        self, shape: _Float, scale: _Float = ..., size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def gamma(
        self, shape: ArrayLike, scale: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def gamma(
        self, shape: ArrayLike, scale: ArrayLike = ..., *, size: _Size, out: None = ..., first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def gamma(
        self, shape: ArrayLike, scale: ArrayLike = ..., size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def gamma(
        self, shape: ArrayLike, scale: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def gamma(
        self, shape: ArrayLike, scale: ArrayLike = ..., size: _Size | None = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def chisquare(
        self, df: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def chisquare(
        self, df: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def chisquare(
        self, df: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def chisquare(
        self, df: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def chisquare(
        self, df: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def noncentral_chisquare(
        self, df: _Float, nonc: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def noncentral_chisquare(
        self, df: ArrayLike, nonc: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def noncentral_chisquare(
        self, df: ArrayLike, nonc: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def noncentral_chisquare(
        self, df: ArrayLike, nonc: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def noncentral_chisquare(
        self, df: ArrayLike, nonc: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def beta(
        self, a: _Float, b: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def beta(
        self, a: ArrayLike, b: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def beta(
        self, a: ArrayLike, b: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def beta(
        self, a: ArrayLike, b: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def beta(
        self, a: ArrayLike, b: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def f(
        self, dfnum: _Float, dfden: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def f(
        self, dfnum: ArrayLike, dfden: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def f(
        self, dfnum: ArrayLike, dfden: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def f(
        self, dfnum: ArrayLike, dfden: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def f(
        self, dfnum: ArrayLike, dfden: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def noncentral_f(
        self, dfnum: _Float, dfden: _Float, nonc: _Float, size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def noncentral_f(
        self, dfnum: ArrayLike, dfden: ArrayLike, nonc: ArrayLike, size: _Size, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def noncentral_f(
        self, dfnum: ArrayLike, dfden: ArrayLike, nonc: ArrayLike, size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def noncentral_f(
        self, dfnum: ArrayLike, dfden: ArrayLike, nonc: ArrayLike, size: _Size | None, out: _Out, *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def noncentral_f(
        self, dfnum: ArrayLike, dfden: ArrayLike, nonc: ArrayLike, size: _Size | None = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def standard_t(
        self, df: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def standard_t(
        self, df: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def standard_t(
        self, df: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def standard_t(
        self, df: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def standard_t(
        self, df: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def laplace(
        self, loc: _Float = ..., scale: _Float = ..., size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def laplace(
        self, loc: ArrayLike, scale: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def laplace(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., *, size: _Size, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def laplace(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def laplace(
        self, loc: ArrayLike, scale: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def laplace(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., size: _Size | None = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def gumbel(
        self, loc: _Float = ..., scale: _Float = ..., size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def gumbel(
        self, loc: ArrayLike, scale: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def gumbel(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., *, size: _Size, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def gumbel(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def gumbel(
        self, loc: ArrayLike, scale: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def gumbel(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., size: _Size | None = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def logistic(
        self, loc: _Float = ..., scale: _Float = ..., size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def logistic(
        self, loc: ArrayLike, scale: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def logistic(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., *, size: _Size, out: None = ...,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def logistic(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def logistic(
        self, loc: ArrayLike, scale: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def logistic(
        self, loc: ArrayLike = ..., scale: ArrayLike = ..., size: _Size | None = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def rayleigh(
        self, scale: _Float = ..., size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def rayleigh(
        self, scale: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def rayleigh(
        self, scale: ArrayLike = ..., *, size: _Size, out: None = ..., first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def rayleigh(
        self, scale: ArrayLike = ..., size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def rayleigh(
        self, scale: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def rayleigh(
        self, scale: ArrayLike = ..., size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def pareto(
        self, a: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def pareto(
        self, a: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def pareto(
        self, a: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def pareto(
        self, a: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def pareto(
        self, a: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def power(
        self, a: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> float: ...
    @overload
    def power(
        self, a: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def power(
        self, a: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def power(
        self, a: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def power(
        self, a: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def triangular(
        self, left: _Float, mode: _Float, right: _Float, size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def triangular(
        self, left: ArrayLike, mode: ArrayLike, right: ArrayLike, size: _Size, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def triangular(
        self, left: ArrayLike, mode: ArrayLike, right: ArrayLike, size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def triangular(
        self, left: ArrayLike, mode: ArrayLike, right: ArrayLike, size: _Size | None, out: _Out, *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def triangular(
        self, left: ArrayLike, mode: ArrayLike, right: ArrayLike, size: _Size | None = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def vonmises(
        self, mu: _Float, kappa: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def vonmises(
        self, mu: ArrayLike, kappa: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def vonmises(
        self, mu: ArrayLike, kappa: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def vonmises(
        self, mu: ArrayLike, kappa: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def vonmises(
        self, mu: ArrayLike, kappa: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def wald(
        self, mean: _Float, scale: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> float: ...
    @overload
    def wald(
        self, mean: ArrayLike, scale: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def wald(
        self, mean: ArrayLike, scale: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def wald(
        self, mean: ArrayLike, scale: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def wald(
        self, mean: ArrayLike, scale: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def geometric(
        self, p: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> int: ...
    @overload
    def geometric(
        self, p: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def geometric(
        self, p: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def geometric(
        self, p: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def geometric(
        self, p: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def binomial(
        self, n: _Int, p: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> int: ...
    @overload
    def binomial(
        self, n: ArrayLike, p: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def binomial(
        self, n: ArrayLike, p: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def binomial(
        self, n: ArrayLike, p: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def binomial(
        self, n: ArrayLike, p: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def negative_binomial(
        self, n: _Float, p: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> int: ...
    @overload
    def negative_binomial(
        self, n: ArrayLike, p: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def negative_binomial(
        self, n: ArrayLike, p: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def negative_binomial(
        self, n: ArrayLike, p: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def negative_binomial(
        self, n: ArrayLike, p: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def hypergeometric(
        self, ngood: _Int, nbad: _Int, nsample: _Int, size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> int: ...
    @overload
    def hypergeometric(
        self, ngood: ArrayLike, nbad: ArrayLike, nsample: ArrayLike, size: _Size, out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def hypergeometric(
        self, ngood: ArrayLike, nbad: ArrayLike, nsample: ArrayLike, size: None = ..., out: None = ..., *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def hypergeometric(
        self, ngood: ArrayLike, nbad: ArrayLike, nsample: ArrayLike, size: _Size | None, out: _Out, *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def hypergeometric(
        self, ngood: ArrayLike, nbad: ArrayLike, nsample: ArrayLike, size: _Size | None = ..., *, out: _Out,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def logseries(
        self, p: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> int: ...
    @overload
    def logseries(
        self, p: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def logseries(
        self, p: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def logseries(
        self, p: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def logseries(
        self, p: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def zipf(
        self, a: _Float, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> int: ...
    @overload
    def zipf(
        self, a: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def zipf(
        self, a: ArrayLike, size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def zipf(
        self, a: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def zipf(
        self, a: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def poisson(
        self, lam: _Float = ..., size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> int: ...
    @overload
    def poisson(
        self, lam: ArrayLike, size: _Size, out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def poisson(
        self, lam: ArrayLike = ..., *, size: _Size, out: None = ..., first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def poisson(
        self, lam: ArrayLike = ..., size: None = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def poisson(
        self, lam: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def poisson(
        self, lam: ArrayLike = ..., size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ...,
        of: _At = ...,
    ) -> _Out: ...
    @overload
    def integers(
        self, low: _Int, high: _Int | None = ..., size: None = ..., dtype: None = ..., endpoint: bool = ...,
        out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> int: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None, size: _Size, dtype: None = ..., endpoint: bool = ...,
        out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None = ..., *, size: _Size, dtype: None = ..., endpoint: bool = ...,
        out: None = ..., first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None = ..., size: None = ..., dtype: None = ..., endpoint: bool = ...,
        out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def integers(
        self, low: _Int, high: _Int | None, size: None, dtype: type[_Integer] | np.dtype[_Integer],
        endpoint: bool = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Integer: ...
    @overload
    def integers(
        self, low: _Int, high: _Int | None = ..., size: None = ..., *, dtype: type[_Integer] | np.dtype[_Integer],
        endpoint: bool = ..., out: None = ..., first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Integer: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None, size: _Size, dtype: type[_Integer] | np.dtype[_Integer],
        endpoint: bool = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[_Integer]: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None = ..., *, size: _Size,
        dtype: type[_Integer] | np.dtype[_Integer], endpoint: bool = ..., out: None = ..., first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[_Integer]: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None, size: None, dtype: type[_Integer] | np.dtype[_Integer],
        endpoint: bool = ..., out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[_Integer]: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None = ..., size: None = ..., *,
        dtype: type[_Integer] | np.dtype[_Integer], endpoint: bool = ..., out: None = ..., first: SupportsIndex = ...,
        at: _At = ..., of: _At = ...,
    ) -> NDArray[_Integer]: ...
    @overload
    def integers(
        self, low: _Int, high: _Int | None, size: None, dtype: type[int] | str, endpoint: bool = ..., out: None = ...,
        *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.integer[Any]: ...
    @overload
    def integers(
        self, low: _Int, high: _Int | None = ..., size: None = ..., *, dtype: type[int] | str, endpoint: bool = ...,
        out: None = ..., first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> np.integer[Any]: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None, size: _Size, dtype: type[int] | str, endpoint: bool = ...,
        out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.integer[Any]]: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None = ..., *, size: _Size, dtype: type[int] | str,
        endpoint: bool = ..., out: None = ..., first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.integer[Any]]: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None, size: None, dtype: type[int] | str, endpoint: bool = ...,
        out: None = ..., *, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.integer[Any]]: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None = ..., size: None = ..., *, dtype: type[int] | str,
        endpoint: bool = ..., out: None = ..., first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> NDArray[np.integer[Any]]: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None, size: _Size | None, dtype: Any, endpoint: bool, out: _Out, *,
        first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def integers(
        self, low: ArrayLike, high: ArrayLike | None = ..., size: _Size | None = ..., dtype: Any = ...,
        endpoint: bool = ..., *, out: _Out, first: SupportsIndex = ..., at: _At = ..., of: _At = ...,
    ) -> _Out: ...
    @overload
    def subsets(
        self, n: ArrayLike, k: _Int, size: _Size | None = ..., out: None = ..., *, first: SupportsIndex = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def subsets(
        self, n: ArrayLike, k: _Int, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def subsets(
        self, n: ArrayLike, k: _Int, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def dirichlet(
        self, alpha: _Vector, size: _Size | None = ..., out: None = ..., *, first: SupportsIndex = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def dirichlet(
        self, alpha: _Vector, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def dirichlet(
        self, alpha: _Vector, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def multinomial(
        self, n: ArrayLike, pvals: _Vector, size: _Size | None = ..., out: None = ..., *, first: SupportsIndex = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def multinomial(
        self, n: ArrayLike, pvals: _Vector, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def multinomial(
        self, n: ArrayLike, pvals: _Vector, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def multivariate_hypergeometric(
        self, colors: _Vector, nsample: ArrayLike, size: _Size | None = ..., out: None = ..., *,
        first: SupportsIndex = ...,
    ) -> NDArray[np.int64]: ...
    @overload
    def multivariate_hypergeometric(
        self, colors: _Vector, nsample: ArrayLike, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def multivariate_hypergeometric(
        self, colors: _Vector, nsample: ArrayLike, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def multivariate_normal(
        self, mean: _Vector, cov: _Matrix, size: _Size | None = ..., out: None = ..., *, first: SupportsIndex = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def multivariate_normal(
        self, mean: _Vector, cov: _Matrix, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def multivariate_normal(
        self, mean: _Vector, cov: _Matrix, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def sphere(
        self, dimensions: _Int, size: _Size | None = ..., out: None = ..., *, first: SupportsIndex = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def sphere(
        self, dimensions: _Int, size: _Size | None, out: _Out, *, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def sphere(
        self, dimensions: _Int, size: _Size | None = ..., *, out: _Out, first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def sobol(
        self, dimensions: _Int, size: _Size | None = ..., out: None = ..., *, scramble: bool = ...,
        first: SupportsIndex = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def sobol(
        self, dimensions: _Int, size: _Size | None, out: _Out, *, scramble: bool = ..., first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def sobol(
        self, dimensions: _Int, size: _Size | None = ..., *, out: _Out, scramble: bool = ...,
        first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def halton(
        self, dimensions: _Int, size: _Size | None = ..., out: None = ..., *, scramble: bool = ...,
        first: SupportsIndex = ...,
    ) -> NDArray[np.float64]: ...
    @overload
    def halton(
        self, dimensions: _Int, size: _Size | None, out: _Out, *, scramble: bool = ..., first: SupportsIndex = ...,
    ) -> _Out: ...
    @overload
    def halton(
        self, dimensions: _Int, size: _Size | None = ..., *, out: _Out, scramble: bool = ...,
        first: SupportsIndex = ...,
    ) -> _Out: ...
