//! Arrays whose element i depends on the name and on i alone: distributions of the table, integers, orders, points.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::fmt::Display;
use std::ops::Bound as StdBound;
use std::sync::Mutex;
use wellspring_pseudo::distributions::table::{
    self, Entry, Kind, Made, Number, Numbers, TABLE, Value,
};
use wellspring_pseudo::{Algorithm, ElementError, Halton, Integer, Path, Sobol, UnknownAlgorithm};

use crate::block::{Block, Start, fill_in_pieces, refused};
use crate::buffer::{Buffer, Elements as Out, Source, new_bytes};
use crate::columns::{CheckColumns, Grid, Values, fill_by_columns};

/// Numbers of a permutation that are made at a time.
const PERMUTED_AT_A_TIME: usize = 1024;

/// The arrays of a name.
#[pyclass(frozen, module = "wellspring._native")]
pub(crate) struct Elements {
    elements: wellspring_pseudo::Elements,
}

impl Elements {
    fn open(
        algorithm: &str,
        open: impl FnOnce(Algorithm) -> Result<wellspring_pseudo::Elements, ElementError>,
    ) -> PyResult<Self> {
        let refused = |reason: &dyn Display| {
            PyValueError::new_err(format!("algorithm '{algorithm}': {reason}"))
        };
        let known = algorithm
            .parse()
            .map_err(|error: UnknownAlgorithm| refused(&error))?;
        let elements = open(known).map_err(|error| refused(&error))?;
        Ok(Self { elements })
    }

    fn fill_bytes(&self, py: Python<'_>, bytes: &mut [u8], first: u128, threads: usize) {
        py.detach(|| {
            fill_in_pieces(bytes, 1, threads, &|start, piece| {
                let position = first.wrapping_add(start as u128);
                self.elements.bytes(position, piece);
            });
        });
    }
}

/// Cannot fail: a block's indices are below 2^64.
fn expect_made(result: Result<(), ElementError>) {
    result.expect("the indices of a block were checked");
}

/// A key of words of 32 bits, as devices have it.
pub(crate) fn from_halves(words: [u32; 8]) -> [u64; 4] {
    std::array::from_fn(|i| u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32)
}

/// Fills a block with words of the stream, in the byte order of the machine.
pub(crate) fn fill_words<const BYTES: usize>(
    elements: &wellspring_pseudo::Elements,
    block: &Block,
    out: &mut [[u8; BYTES]],
    threads: usize,
) {
    block.fill(out, threads, |_, first, piece| {
        elements.bytes(u128::from(first) * BYTES as u128, piece.as_flattened_mut());
        if cfg!(target_endian = "big") {
            piece.iter_mut().for_each(|word| word.reverse());
        }
    });
}

/// Fills a block with integers from `low` to `high`.
fn fill_integers<T>(
    py: Python<'_>,
    elements: &wellspring_pseudo::Elements,
    start: Start,
    threads: usize,
    (low, high): (i128, i128),
    out: &mut [T],
) -> PyResult<()>
where
    T: Integer + Copy + Send + Sync + TryFrom<i128>,
{
    let in_type = |bound: i128, name: &str| {
        T::try_from(bound).map_err(|_| {
            let type_name = std::any::type_name::<T>()
                .replace('i', "int")
                .replace('u', "uint");
            PyValueError::new_err(format!("{name} is out of bounds for {type_name}"))
        })
    };
    if low > high {
        return Err(PyValueError::new_err("low >= high"));
    }
    let (low, high) = (in_type(low, "low")?, in_type(high, "high")?);
    let block = Block::new(start, out.len())?;
    py.detach(|| {
        block.fill(out, threads, |_, first, piece| {
            expect_made(elements.integers(low..=high, first, piece));
        });
    });
    Ok(())
}

#[pymethods]
impl Elements {
    /// The arrays of a seed and a path.
    #[new]
    fn new(algorithm: &str, seed: u128, path: Vec<u32>) -> PyResult<Self> {
        Self::open(algorithm, |algorithm| {
            wellspring_pseudo::Elements::new(algorithm, seed, &path)
        })
    }

    /// The arrays of a key.
    #[staticmethod]
    fn from_words(algorithm: &str, words: [u64; 4]) -> PyResult<Self> {
        Self::open(algorithm, |algorithm| {
            wellspring_pseudo::Elements::from_words(algorithm, words)
        })
    }

    /// The arrays of chacha8 whose key is these words of 32 bits, the lower halves first.
    #[staticmethod]
    fn from_halves(words: [u32; 8]) -> PyResult<Self> {
        Self::from_words("chacha8", from_halves(words))
    }

    /// The numbers in a path that is written as text, such as 3/0/17.
    #[staticmethod]
    fn parse_path(text: &str) -> PyResult<Vec<u32>> {
        let path: Path = text
            .parse()
            .map_err(|error| PyValueError::new_err(format!("path '{text}': {error}")))?;
        Ok(path.to_vec())
    }

    /// The bytes of the stream of this name, from byte `first` on.
    fn fill(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        first: u128,
        threads: usize,
    ) -> PyResult<()> {
        let buffer = Buffer::get(out, "out")?;
        self.fill_bytes(py, buffer.bytes("out")?, first, threads);
        Ok(())
    }

    /// As many bytes of the stream of this name, from byte `first` on.
    fn bytes<'py>(
        &self,
        py: Python<'py>,
        length: usize,
        first: u128,
        threads: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        new_bytes(py, length, |bytes| {
            self.fill_bytes(py, bytes, first, threads)
        })
    }

    /// The words of the stream of this name, as integers of 32 or 64 bits.
    fn words(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        start: Start,
        threads: usize,
    ) -> PyResult<()> {
        let buffer = Buffer::get(out, "out")?;
        let (bytes, width) = (buffer.bytes("out")?, buffer.item_size());
        let block = Block::new(start, bytes.len() / width.max(1))?;
        let elements = &self.elements;
        py.detach(|| {
            match width {
                4 => fill_words(elements, &block, bytes.as_chunks_mut::<4>().0, threads),
                8 => fill_words(elements, &block, bytes.as_chunks_mut::<8>().0, threads),
                _ => return Err(PyTypeError::new_err("out must have words of 32 or 64 bits")),
            }
            Ok(())
        })
    }

    /// Integers from `bounds.0` to `bounds.1`, both included.
    fn integers(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        start: Start,
        bounds: (i128, i128),
        threads: usize,
    ) -> PyResult<()> {
        let buffer = Buffer::get(out, "out")?;
        let elements = &self.elements;
        match buffer.elements("out")? {
            Out::I8(out) => fill_integers(py, elements, start, threads, bounds, out),
            Out::I16(out) => fill_integers(py, elements, start, threads, bounds, out),
            Out::I32(out) => fill_integers(py, elements, start, threads, bounds, out),
            Out::I64(out) => fill_integers(py, elements, start, threads, bounds, out),
            Out::U8(out) => fill_integers(py, elements, start, threads, bounds, out),
            Out::U16(out) => fill_integers(py, elements, start, threads, bounds, out),
            Out::U32(out) => fill_integers(py, elements, start, threads, bounds, out),
            Out::U64(out) => fill_integers(py, elements, start, threads, bounds, out),
            Out::F32(_) | Out::F64(_) => Err(PyTypeError::new_err(
                "out must have elements of an integer type",
            )),
        }
    }

    /// The places `first` and on of a permutation of 0 to `length` - 1, as int64.
    fn permutation(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        first: u64,
        length: u64,
        threads: usize,
    ) -> PyResult<()> {
        let buffer = Buffer::get(out, "out")?;
        let Out::I64(out) = buffer.elements("out")? else {
            return Err(PyTypeError::new_err("out must have elements of int64"));
        };
        if i64::try_from(length).is_err() {
            return Err(PyValueError::new_err("x must be below 2^63"));
        }
        if u128::from(first) + out.len() as u128 > u128::from(length) {
            return Err(past_the_end_of(length));
        }
        let permutation = self.elements.permutation(length);
        py.detach(|| {
            fill_in_pieces(out, 1, threads, &|start, piece| {
                let mut numbers = [0; PERMUTED_AT_A_TIME];
                let first = first + start as u64;
                for (number, piece) in piece.chunks_mut(PERMUTED_AT_A_TIME).enumerate() {
                    let numbers = &mut numbers[..piece.len()];
                    let first = first + (number * PERMUTED_AT_A_TIME) as u64;
                    expect_made(permutation.fill(first, numbers));
                    for (place, number) in piece.iter_mut().zip(numbers) {
                        // Below `length`, which is below 2^63.
                        *place = number.cast_signed();
                    }
                }
            });
        });
        Ok(())
    }

    /// Elements of a distribution whose parameters differ. `columns` has for each parameter an array of float64 or int64, and how
    /// far its index goes on from one place to the next in each dimension of `shape`, which is the shape of `out`.
    ///
    /// A refused call leaves `out` as it was if `is_kept`; without that the parameters are looked at once and not twice.
    #[allow(
        clippy::too_many_arguments,
        reason = "the parameters come before what every call takes"
    )]
    fn draw_each(
        &self,
        distribution: &Distribution,
        columns: Vec<(Bound<'_, PyAny>, Vec<usize>)>,
        shape: Vec<usize>,
        is_kept: bool,
        out: &Bound<'_, PyAny>,
        start: Start,
        threads: usize,
    ) -> PyResult<()> {
        let (py, entry) = (out.py(), distribution.entry);
        let sources = columns
            .iter()
            .map(|(column, _)| Source::get(column))
            .collect::<PyResult<Vec<_>>>()?;
        let grid = Grid::new(shape);
        let columns = sources
            .iter()
            .zip(columns.iter())
            .map(|(source, (_, steps))| grid.column(Values::<f64>::of(source)?, steps))
            .collect::<PyResult<Vec<_>>>()?;
        let buffer = Buffer::get(out, "out")?;
        let elements = &self.elements;
        let check = |columns: &[&[f64]]| entry.check_columns(elements, columns);
        let check: Option<&CheckColumns<f64>> = if is_kept { Some(&check) } else { None };
        macro_rules! fill {
            ($kind:ident, $out:ident) => {
                fill_by_columns(
                    py,
                    $out,
                    start,
                    threads,
                    &grid,
                    &columns,
                    check,
                    entry.looks_once(),
                    |first, columns, out| {
                        entry.fill_each(elements, columns, first, Numbers::$kind(out))
                    },
                )
            };
        }
        match buffer.elements("out")? {
            Out::F64(out) => fill!(F64, out),
            Out::F32(out) => fill!(F32, out),
            Out::I64(out) => fill!(I64, out),
            _ => Err(not_of(entry)),
        }
    }

    /// Rows of a distribution whose parameters differ. `columns` has for each parameter an array of float64, or of int64 if the
    /// parameter is an integer; how many of its numbers belong to a row; and how far its index goes on from a row to the next.
    fn draw_rows(
        &self,
        distribution: &Distribution,
        columns: Vec<(Bound<'_, PyAny>, usize, usize)>,
        out: &Bound<'_, PyAny>,
        width: usize,
        first: u64,
        threads: usize,
    ) -> PyResult<()> {
        let (py, entry) = (out.py(), distribution.entry);
        let sources = columns
            .iter()
            .map(|(column, ..)| Source::get(column))
            .collect::<PyResult<Vec<_>>>()?;
        let columns = sources
            .iter()
            .zip(columns.iter())
            .map(|(source, &(_, count, step))| {
                let values = Values::of(source)?;
                Ok(RowColumn {
                    values,
                    count,
                    step,
                })
            })
            .collect::<PyResult<Vec<_>>>()?;
        let buffer = Buffer::get(out, "out")?;
        let elements = &self.elements;
        macro_rules! fill {
            ($kind:ident, $out:ident) => {
                draw_each_row(
                    py,
                    $out,
                    width,
                    first,
                    threads,
                    |row, index, out| match made_row(entry, &columns, row, Number::$kind)? {
                        Made::$kind(drawn) if drawn.width() == width => {
                            elements.draw(&*drawn, index, out)
                        }
                        _ => Err(WRONG_ROW),
                    },
                )
            };
        }
        match buffer.elements("out")? {
            Out::F64(out) => fill!(F64, out),
            Out::I64(out) => fill!(I64, out),
            _ => Err(not_of(entry)),
        }
    }

    /// Integers whose ranges differ: two arrays of the type of `out`, as in `draw_each`. The second one is in the range if
    /// `has_high`.
    #[allow(
        clippy::too_many_arguments,
        reason = "the ranges come before what every call takes"
    )]
    fn integers_each(
        &self,
        low: (Bound<'_, PyAny>, Vec<usize>),
        high: (Bound<'_, PyAny>, Vec<usize>),
        has_high: bool,
        shape: Vec<usize>,
        is_kept: bool,
        out: &Bound<'_, PyAny>,
        start: Start,
        threads: usize,
    ) -> PyResult<()> {
        let py = out.py();
        let (low_source, high_source) = (Source::get(&low.0)?, Source::get(&high.0)?);
        let grid = Grid::new(shape);
        let buffer = Buffer::get(out, "out")?;
        macro_rules! fill {
            ($type:ident, $out:ident) => {{
                let columns = [
                    grid.column(Values::Own(low_source.numbers::<$type>()?), &low.1)?,
                    grid.column(Values::Own(high_source.numbers::<$type>()?), &high.1)?,
                ];
                let check = |columns: &[&[$type]]| check_ranges(columns, has_high);
                let check: Option<&CheckColumns<$type>> = if is_kept { Some(&check) } else { None };
                fill_by_columns(
                    py,
                    $out,
                    start,
                    threads,
                    &grid,
                    &columns,
                    check,
                    false,
                    |first, columns, out| match self
                        .elements
                        .integers_each(columns[0], columns[1], has_high, first, out)
                    {
                        Err(ElementError::EmptyRange) => check_ranges(columns, has_high),
                        other => other,
                    },
                )
            }};
        }
        match buffer.elements("out")? {
            Out::I8(out) => fill!(i8, out),
            Out::I16(out) => fill!(i16, out),
            Out::I32(out) => fill!(i32, out),
            Out::I64(out) => fill!(i64, out),
            Out::U8(out) => fill!(u8, out),
            Out::U16(out) => fill!(u16, out),
            Out::U32(out) => fill!(u32, out),
            Out::U64(out) => fill!(u64, out),
            Out::F32(_) | Out::F64(_) => Err(PyTypeError::new_err(
                "out must have elements of an integer type",
            )),
        }
    }

    /// Elements of a distribution with these values of its parameters.
    fn draw(
        &self,
        distribution: &Distribution,
        values: &Bound<'_, PyList>,
        out: &Bound<'_, PyAny>,
        start: Start,
        threads: usize,
    ) -> PyResult<()> {
        let entry = distribution.entry;
        let values: Vec<Value> = entry
            .parameters
            .iter()
            .zip(values)
            .map(|(parameter, value)| value_of(parameter.kind, &value))
            .collect::<PyResult<_>>()?;
        let buffer = Buffer::get(out, "out")?;
        let out_elements = buffer.elements("out")?;
        let number = match &out_elements {
            Out::F64(_) => Number::F64,
            Out::F32(_) => Number::F32,
            Out::I64(_) => Number::I64,
            _ => return Err(not_of(entry)),
        };
        let Some(made) = entry.make(&values, number) else {
            let reason = format!("{} has a method of its own", entry.python);
            return Err(PyTypeError::new_err(reason));
        };
        let made = made.map_err(refused)?;
        let (py, width, elements) = (out.py(), made.width(), &self.elements);
        match (&made, out_elements) {
            (Made::F64(drawn), Out::F64(out)) => {
                let fill = |first, out: &mut [f64]| elements.draw(&**drawn, first, out);
                fill_rows(py, out, width, start, threads, fill)
            }
            (Made::F32(drawn), Out::F32(out)) => {
                let fill = |first, out: &mut [f32]| elements.draw(&**drawn, first, out);
                fill_rows(py, out, width, start, threads, fill)
            }
            (Made::I64(drawn), Out::I64(out)) => {
                let fill = |first, out: &mut [i64]| elements.draw(&**drawn, first, out);
                fill_rows(py, out, width, start, threads, fill)
            }
            _ => Err(not_of(entry)),
        }
    }

    /// Points of Sobol's sequence from number `first` on, scrambled by this name or not.
    fn sobol(
        &self,
        dimensions: usize,
        scramble: bool,
        out: &Bound<'_, PyAny>,
        first: u64,
        threads: usize,
    ) -> PyResult<()> {
        let sobol = if scramble {
            self.elements.sobol(dimensions)
        } else {
            Sobol::plain(dimensions)
        };
        let sobol = sobol.map_err(refused)?;
        points(out, dimensions, first, threads, |first, out| {
            sobol.fill(first, out)
        })
    }

    /// Points of Halton's sequence, likewise.
    fn halton(
        &self,
        dimensions: usize,
        scramble: bool,
        out: &Bound<'_, PyAny>,
        first: u64,
        threads: usize,
    ) -> PyResult<()> {
        let halton = if scramble {
            self.elements.halton(dimensions)
        } else {
            Halton::plain(dimensions)
        };
        let halton = halton.map_err(refused)?;
        points(out, dimensions, first, threads, |first, out| {
            halton.fill(first, out)
        })
    }

    /// Brings the elements of a contiguous buffer into a random order, which depends on their number only. They are
    /// numbers, or bytes, of 1, 2, 4, 8 or 16 bytes each.
    fn shuffle(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<()> {
        let buffer = Buffer::get(x, "x")?;
        let bytes = buffer.bytes("x")?;
        let elements = &self.elements;
        let item_bytes = buffer.item_size();
        py.detach(|| {
            match item_bytes {
                1 => elements.shuffle(bytes),
                2 => elements.shuffle(bytes.as_chunks_mut::<2>().0),
                4 => elements.shuffle(bytes.as_chunks_mut::<4>().0),
                8 => elements.shuffle(bytes.as_chunks_mut::<8>().0),
                16 => elements.shuffle(bytes.as_chunks_mut::<16>().0),
                _ => return Err(PyTypeError::new_err("x has elements of another length")),
            }
            Ok(())
        })
    }
}

/// A parameter of all rows: `count` numbers for each, and how far the index goes on from one to the next.
struct RowColumn<'a> {
    values: Values<'a, f64>,
    count: usize,
    step: usize,
}

const WRONG_ROW: ElementError = ElementError::Parameter("the parameters do not fit the rows");

/// The distribution of a row.
fn made_row(
    entry: &Entry,
    columns: &[RowColumn<'_>],
    row: usize,
    number: Number,
) -> Result<Made, ElementError> {
    let value = |(parameter, column): (&table::Parameter, &RowColumn<'_>)| {
        let start = row.checked_mul(column.step)?;
        let end = start.checked_add(column.count)?;
        match (parameter.kind, column.values) {
            (Kind::Vector | Kind::Matrix, Values::Own(numbers)) => {
                Some(Value::Vector(numbers.get(start..end)?.to_vec()))
            }
            (Kind::Float, Values::Own(numbers)) => Some(Value::Float(*numbers.get(start)?)),
            (Kind::I64 | Kind::U64 | Kind::Size, Values::Integers(numbers)) => {
                Some(Value::Integer(*numbers.get(start)?))
            }
            _ => None,
        }
    };
    let values = entry.parameters.iter().zip(columns).map(value);
    let values: Vec<Value> = values.collect::<Option<_>>().ok_or(WRONG_ROW)?;
    entry.make(&values, number).unwrap_or(Err(WRONG_ROW))
}

/// Fills `out` with rows, from index `first` on. `draw` gets the number of a row in `out`, its index and its place.
fn draw_each_row<T: Send>(
    py: Python<'_>,
    out: &mut [T],
    width: usize,
    first: u64,
    threads: usize,
    draw: impl Fn(usize, u64, &mut [T]) -> Result<(), ElementError> + Sync,
) -> PyResult<()> {
    check_rows(out.len(), width, first)?;
    let fault = Mutex::new(None);
    py.detach(|| {
        fill_in_pieces(out, width, threads, &|start, piece: &mut [T]| {
            for (row, place) in piece.chunks_mut(width).enumerate() {
                let row = start / width + row;
                if let Err(error) = draw(row, first + row as u64, place) {
                    if let Ok(mut fault) = fault.lock() {
                        *fault = Some(error);
                    }
                    return;
                }
            }
        });
    });
    match fault.into_inner().ok().flatten() {
        Some(error) => Err(refused(error)),
        None => Ok(()),
    }
}

/// Checks that so many numbers are whole rows, whose numbers all have indices.
fn check_rows(length: usize, width: usize, first: u64) -> PyResult<()> {
    if width == 0 || !length.is_multiple_of(width) {
        return Err(PyValueError::new_err("out does not hold whole rows"));
    }
    // As many rows have indices of their own.
    let end = u128::from(first) * width as u128 + length as u128;
    if end > 1 << 64 {
        let reason = format!("first: {}", ElementError::PastTheEnd);
        return Err(PyValueError::new_err(reason));
    }
    Ok(())
}

/// Whether each range has an integer. The second end is in it if `has_high`.
fn check_ranges<T: PartialOrd>(columns: &[&[T]], has_high: bool) -> Result<(), ElementError> {
    let ranges = || columns[0].iter().zip(columns[1]);
    let are_right = if has_high {
        ranges().fold(true, |all, (low, high)| all & (low <= high))
    } else {
        ranges().fold(true, |all, (low, high)| all & (low < high))
    };
    if are_right {
        Ok(())
    } else {
        Err(ElementError::Parameter(if has_high {
            "low > high"
        } else {
            "low >= high"
        }))
    }
}

fn past_the_end_of(length: u64) -> PyErr {
    PyValueError::new_err(format!("x has only {length} places"))
}

/// The value of a parameter. A distribution that does not have it refuses.
fn value_of(kind: Kind, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    Ok(match kind {
        Kind::Float => Value::Float(value.extract()?),
        Kind::I64 | Kind::U64 | Kind::Size => Value::Integer(value.extract()?),
        Kind::Vector | Kind::Matrix => Value::Vector(value.extract()?),
    })
}

fn not_of(entry: &Entry) -> PyErr {
    let types: Vec<_> = entry.numbers.iter().map(|number| number.dtype()).collect();
    PyTypeError::new_err(format!("out must have elements of {}", types.join(" or ")))
}

/// Fills `out` with points.
fn points(
    out: &Bound<'_, PyAny>,
    dimensions: usize,
    first: u64,
    threads: usize,
    fill: impl Fn(u64, &mut [f64]) -> Result<(), ElementError> + Sync,
) -> PyResult<()> {
    let buffer = Buffer::get(out, "out")?;
    let Out::F64(numbers) = buffer.elements("out")? else {
        return Err(PyTypeError::new_err("out must have elements of float64"));
    };
    let start = (first, Vec::new());
    fill_rows(out.py(), numbers, dimensions, start, threads, fill)
}

/// Fills `out` with rows of `width` numbers; rows of one number may be in a block.
fn fill_rows<T: Send + Copy>(
    py: Python<'_>,
    out: &mut [T],
    width: usize,
    start: Start,
    threads: usize,
    fill: impl Fn(u64, &mut [T]) -> Result<(), ElementError> + Sync,
) -> PyResult<()> {
    let expect_made = |result: Result<(), ElementError>| {
        result.expect("the indices of a block and the rows were checked");
    };
    if width == 1 {
        let block = Block::new(start, out.len())?;
        py.detach(|| {
            block.fill(out, threads, |_, first, piece| {
                expect_made(fill(first, piece))
            })
        });
        return Ok(());
    }
    let (first, outer) = start;
    if !outer.is_empty() {
        return Err(PyValueError::new_err("rows have no blocks"));
    }
    check_rows(out.len(), width, first)?;
    if out.is_empty() {
        return Ok(());
    }
    py.detach(|| {
        fill_in_pieces(out, width, threads, &|start, piece| {
            expect_made(fill(first + (start / width) as u64, piece));
        });
    });
    Ok(())
}

/// A line of the table of distributions.
#[pyclass(frozen, module = "wellspring._native")]
pub(crate) struct Distribution {
    entry: &'static Entry,
}

/// A parameter of a distribution. The bounds of a vector hold for each of its numbers.
#[pyclass(frozen, get_all, module = "wellspring._native")]
pub(crate) struct Parameter {
    name: &'static str,
    /// float, int, vector or matrix.
    kind: &'static str,
    default: Option<f64>,
    low: f64,
    high: f64,
    has_low: bool,
    has_high: bool,
}

/// All distributions by their names in Python.
#[pyfunction]
pub(crate) fn distributions(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for entry in TABLE {
        all.set_item(entry.python, Distribution { entry })?;
    }
    Ok(all)
}

#[pymethods]
impl Distribution {
    /// The method of `Elements`.
    #[getter]
    fn name(&self) -> &'static str {
        self.entry.python
    }

    /// The parameters, in the order in which `draw` takes their values.
    #[getter]
    fn parameters(&self) -> Vec<Parameter> {
        self.entry.parameters.iter().map(Parameter::of).collect()
    }

    /// The types of numbers, the default first.
    #[getter]
    fn dtypes(&self) -> Vec<&'static str> {
        let numbers = self.entry.numbers.iter();
        numbers.map(|number| number.dtype()).collect()
    }

    /// Whether parameters may be arrays: `draw_each`.
    #[getter]
    fn takes_columns(&self) -> bool {
        self.entry.takes_columns()
    }

    /// If an element is a row: the parameter that says how many numbers it has.
    #[getter]
    fn row(&self) -> Option<usize> {
        self.entry.row
    }
}

impl Parameter {
    fn of(parameter: &table::Parameter) -> Self {
        let end = |bound| match bound {
            StdBound::Included(end) => (end, true),
            StdBound::Excluded(end) => (end, false),
            StdBound::Unbounded => (f64::NAN, false),
        };
        let ((low, has_low), (high, has_high)) = (end(parameter.bounds.0), end(parameter.bounds.1));
        Self {
            name: parameter.python,
            kind: match parameter.kind {
                Kind::Float => "float",
                Kind::I64 | Kind::U64 | Kind::Size => "int",
                Kind::Vector => "vector",
                Kind::Matrix => "matrix",
            },
            default: parameter.default,
            low,
            high,
            has_low,
            has_high,
        }
    }
}
