"""Makes `_distributions.pyi`, the types of the methods of `Elements` that the table of distributions has.

    python bindings/python/stubs.py            # with the package installed; writes the file
"""

import inspect
import pathlib
import textwrap

FILE = pathlib.Path(__file__).parent / "python/wellspring/random/_distributions.pyi"

HEAD = '''\
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
'''

SINGLE = {"float": "_Float", "int": "_Int"}
ROWS = {"vector": "_Vector", "matrix": "_Matrix", **SINGLE}


class Method:
    """A method, and the overloads of its calls."""

    def __init__(self, line, method):
        self.name, self.line = line.name, line
        self.kinds = {parameter.name: parameter.kind for parameter in line.parameters}
        self.parameters = list(inspect.signature(method).parameters.values())[1:]

    def overload(self, returned, given, types):
        """The overloads of a call that must have the arguments `given`: by position, and by name if others come before."""
        positions = [parameter.name for parameter in self.parameters if parameter.kind is not parameter.KEYWORD_ONLY]
        last = max((positions.index(name) for name in given), default=-1)
        is_open = any(self.default(name) and name not in given for name in positions[: max(last, 0)])
        text = self.signature(returned, {*given, *positions[: last + 1]}, types)
        return text + self.signature(returned, set(given), types) if is_open else text

    def default(self, name):
        return next(own.default is not own.empty for own in self.parameters if own.name == name)

    def signature(self, returned, given, types):
        """One overload. Of what a call must have, all behind what it may leave out is by name."""
        parts = ["self"]
        for parameter in self.parameters:
            must = parameter.name in given or parameter.default is parameter.empty
            is_behind = parameter.kind is parameter.KEYWORD_ONLY or must and parts[-1].endswith("...")
            if is_behind and "*" not in parts:
                parts.append("*")
            text = f"{parameter.name}: {types[parameter.name]}"
            parts.append(text if must else f"{text} = ...")
        # The spaces inside of a parameter stay on its line.
        joined = ", ".join(part.replace(" ", "\0") for part in parts)
        indent = " " * 8
        lines = textwrap.fill(joined, 118, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        lines = lines.replace("\0", " ")
        return f"    @overload\n    def {self.name}(\n{lines},\n    ) -> {returned}: ...\n"

    def overloads(self):
        """All overloads: a number, an array by its size or by its parameters, and what was given to fill."""
        own = {name: ROWS[kind] for name, kind in self.kinds.items()}
        common = {"first": "SupportsIndex", "at": "_At", "of": "_At", "scramble": "bool", "endpoint": "bool"}
        takes_arrays = self.line.takes_columns and own or self.name == "integers"
        arrays = dict.fromkeys(own, "ArrayLike") if takes_arrays else own
        if self.name == "integers":
            own, arrays = own | {"high": "_Int | None"}, arrays | {"high": "ArrayLike | None"}
        one = "float" if self.line.dtypes[0] == "float64" else "int"
        default = f"NDArray[np.{self.line.dtypes[0]}]"
        none = {"size": "None", "out": "None", "dtype": "None"}
        if self.line.row is not None:
            # Integers may be arrays, but for the length of all rows.
            width = list(own)[self.line.row]
            own = {name: "ArrayLike" if kind == "_Int" and name != width else kind for name, kind in own.items()}
            yield self.overload(default, (), common | own | {"size": "_Size | None", "out": "None"})
            yield self.overload("_Out", ("out",), common | own | {"size": "_Size | None", "out": "_Out"})
            return
        dtypes = {None: ("None", one, default)}
        if len(self.line.dtypes) == 2:
            dtypes = {
                None: ("None", "float", default),
                "float64": ("_F64", "np.float64", default),
                "float32": ("_F32", "np.float32", "NDArray[np.float32]"),
            }
        elif self.name == "integers":
            dtypes["integer"] = ("type[_Integer] | np.dtype[_Integer]", "_Integer", "NDArray[_Integer]")
            dtypes["other"] = ("type[int] | str", "np.integer[Any]", "NDArray[np.integer[Any]]")
        for dtype, (kind, single, array) in dtypes.items():
            given = ("dtype",) if dtype else ()
            yield self.overload(single, given, none | common | own | {"dtype": kind})
            with_size = none | common | arrays | {"size": "_Size", "dtype": kind}
            yield self.overload(array, (*given, "size"), with_size)
            if takes_arrays:
                yield self.overload(array, given, none | common | arrays | {"size": "None", "dtype": kind})
        filled = none | common | arrays | {"size": "_Size | None", "out": "_Out", "dtype": "Any"}
        yield self.overload("_Out", ("out",), filled)


def made():
    """The text of the file."""
    from wellspring import _native
    from wellspring.random import Elements

    parts = [HEAD]
    for name, line in _native.distributions().items():
        if name != "choice":
            overloads = Method(line, getattr(Elements, name)).overloads()
            parts.append("".join(overloads))
    return "".join(parts)


if __name__ == "__main__":
    FILE.write_text(made())
