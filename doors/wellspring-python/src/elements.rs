//! Arrays whose element i depends on the name and on i alone.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ops::{Add, Mul};
use wellspring_pseudo::{Algorithm, ElementError, Float, Integer, Path};

use crate::block::{Block, fill_in_pieces};
use crate::buffer::{Buffer, Elements as Out, new_bytes};
use crate::straight::Straight;

/// Elements that are made before they are scaled: they stay in the first cache.
const SCALED_AT_A_TIME: usize = 2048;

/// The outer dimensions of a block: see [`Block`].
type Outer = Vec<(usize, u64)>;

/// The arrays of a name.
#[pyclass(frozen, module = "wellspring._native")]
pub(crate) struct Elements {
    elements: wellspring_pseudo::Elements,
}

/// A number `low + step * x`, for x of a distribution's standard form.
#[derive(Clone, Copy)]
struct Scale<T> {
    low: T,
    step: T,
}

/// Makes the standard form from an index on. It cannot fail: a block's indices are below 2^64.
type Standard<'a, T> = &'a (dyn Fn(u64, &mut [T]) -> Result<(), ElementError> + Sync);

impl Elements {
    fn open(elements: Result<wellspring_pseudo::Elements, ElementError>) -> PyResult<Self> {
        let elements = elements.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { elements })
    }

    fn fill_bytes(&self, py: Python<'_>, bytes: &mut [u8], first: u128, threads: usize) {
        py.detach(|| {
            fill_in_pieces(bytes, threads, &|start, piece| {
                let position = first.wrapping_add(start as u128);
                self.elements.bytes(position, piece);
            });
        });
    }
}

fn algorithm_of(name: &str) -> PyResult<Algorithm> {
    name.parse()
        .map_err(|error| PyValueError::new_err(format!("unknown algorithm '{name}': {error}")))
}

/// Fills a block with scaled numbers.
fn fill_scaled<T>(
    block: &Block,
    out: &mut [T],
    threads: usize,
    scale: Option<Scale<T>>,
    standard: Standard<'_, T>,
) where
    T: Float + Copy + Send + Sync + Add<Output = T> + Mul<Output = T>,
{
    block.fill(out, threads, |first, piece| {
        let Some(Scale { low, step }) = scale else {
            return expect_made(standard(first, piece));
        };
        let mut index = first;
        for chunk in piece.chunks_mut(SCALED_AT_A_TIME) {
            expect_made(standard(index, chunk));
            for number in &mut *chunk {
                *number = low + step * *number;
            }
            index = index.wrapping_add(chunk.len() as u64);
        }
    });
}

fn expect_made(result: Result<(), ElementError>) {
    result.expect("the indices of a block were checked");
}

/// The methods for the three distributions of floats, all alike.
macro_rules! floats {
    (
        $self:ident, $py:ident, $out:ident, $first:ident, $outer:ident, $scale:ident, $threads:ident,
        $method:ident, $names:expr
    ) => {{
        let buffer = Buffer::get($out, "out")?;
        let elements = &$self.elements;
        match buffer.elements("out")? {
            Out::F64(out) => {
                let block = Block::new($first, $outer, out.len())?;
                let scale = $scale.map(|(low, step)| Scale { low, step });
                $py.detach(|| {
                    fill_scaled(&block, out, $threads, scale, &|i, out| {
                        elements.$method(i, out)
                    })
                });
            }
            Out::F32(out) => {
                let block = Block::new($first, $outer, out.len())?;
                let scale = $scale.map(|scale| in_f32(scale, $names)).transpose()?;
                $py.detach(|| {
                    fill_scaled(&block, out, $threads, scale, &|i, out| {
                        elements.$method(i, out)
                    })
                });
            }
            _ => {
                return Err(PyTypeError::new_err(
                    "out must have elements of float64 or float32",
                ));
            }
        }
        Ok(())
    }};
}

/// The scale of numbers of 32 bits. `names` are those of the two arguments that it was made from.
fn in_f32((low, step): (f64, f64), names: [&str; 2]) -> PyResult<Scale<f32>> {
    let in_type = |number: f64, name: &str| {
        let single = number as f32;
        single
            .is_finite()
            .then_some(single)
            .ok_or_else(|| PyValueError::new_err(format!("{name} is out of bounds for float32")))
    };
    let (low, step) = (in_type(low, names[0])?, in_type(step, names[1])?);
    Ok(Scale { low, step })
}

/// Fills a block with integers from `low` to `high`.
fn fill_integers<T>(
    py: Python<'_>,
    elements: &wellspring_pseudo::Elements,
    block: (u64, Outer),
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
    let block = Block::new(block.0, block.1, out.len())?;
    py.detach(|| {
        block.fill(out, threads, |first, piece| {
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
        let algorithm = algorithm_of(algorithm)?;
        let elements = wellspring_pseudo::Elements::new(algorithm, seed, &path);
        Self::open(elements)
    }

    /// The arrays of a key.
    #[staticmethod]
    fn from_words(algorithm: &str, words: [u64; 4]) -> PyResult<Self> {
        let algorithm = algorithm_of(algorithm)?;
        let elements = wellspring_pseudo::Elements::from_words(algorithm, words);
        Self::open(elements)
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

    /// `low + step * x`, x uniform in [0, 1); without a scale x alone.
    fn uniform(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        first: u64,
        outer: Outer,
        scale: Option<(f64, f64)>,
        threads: usize,
    ) -> PyResult<()> {
        let names = ["low", "high - low"];
        floats!(
            self,
            py,
            out,
            first,
            outer,
            scale,
            threads,
            uniform_straight,
            names
        )
    }

    /// `low + step * x`, x normal with mean 0 and variance 1.
    fn normal(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        first: u64,
        outer: Outer,
        scale: Option<(f64, f64)>,
        threads: usize,
    ) -> PyResult<()> {
        let names = ["loc", "scale"];
        floats!(
            self,
            py,
            out,
            first,
            outer,
            scale,
            threads,
            standard_normal,
            names
        )
    }

    /// `low + step * x`, x exponential with mean 1.
    fn exponential(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        first: u64,
        outer: Outer,
        scale: Option<(f64, f64)>,
        threads: usize,
    ) -> PyResult<()> {
        let names = ["loc", "scale"];
        floats!(
            self,
            py,
            out,
            first,
            outer,
            scale,
            threads,
            standard_exponential,
            names
        )
    }

    /// Integers from `bounds.0` to `bounds.1`, both included.
    fn integers(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        first: u64,
        outer: Outer,
        bounds: (i128, i128),
        threads: usize,
    ) -> PyResult<()> {
        let buffer = Buffer::get(out, "out")?;
        let (elements, block) = (&self.elements, (first, outer));
        match buffer.elements("out")? {
            Out::I8(out) => fill_integers(py, elements, block, threads, bounds, out),
            Out::I16(out) => fill_integers(py, elements, block, threads, bounds, out),
            Out::I32(out) => fill_integers(py, elements, block, threads, bounds, out),
            Out::I64(out) => fill_integers(py, elements, block, threads, bounds, out),
            Out::U8(out) => fill_integers(py, elements, block, threads, bounds, out),
            Out::U16(out) => fill_integers(py, elements, block, threads, bounds, out),
            Out::U32(out) => fill_integers(py, elements, block, threads, bounds, out),
            Out::U64(out) => fill_integers(py, elements, block, threads, bounds, out),
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
            fill_in_pieces(out, threads, &|start, piece| {
                for (place, index) in piece.iter_mut().zip(first + start as u64..) {
                    // Below `length`, which is below 2^63.
                    *place = permutation.at(index).map_or(0, |number| number as i64);
                }
            });
        });
        Ok(())
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

fn past_the_end_of(length: u64) -> PyErr {
    PyValueError::new_err(format!("x has only {length} places"))
}
