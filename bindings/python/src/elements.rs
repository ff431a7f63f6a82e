//! Arrays whose element i depends on the name and on i alone.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fmt::Display;
use std::ops::{Add, Mul};
use wellspring_pseudo::{Algorithm, ElementError, Float, Integer, Path, UnknownAlgorithm};

use crate::block::{Block, Start, fill_in_pieces};
use crate::buffer::{Buffer, Elements as Out, new_bytes};
use crate::distributions::{Place, draw, points};

/// Elements that are made before they are scaled: they stay in the first cache.
const SCALED_AT_A_TIME: usize = 2048;

/// The arrays of a name.
#[pyclass(frozen, module = "wellspring._native")]
pub(crate) struct Elements {
    elements: wellspring_pseudo::Elements,
}

/// Floats that a call asks for: `low + step * x`, x of a distribution's standard form; without a scale x alone.
struct Floats<'a> {
    elements: &'a wellspring_pseudo::Elements,
    distribution: &'a str,
    start: Start,
    scale: Option<(f64, f64)>,
    threads: usize,
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

impl Floats<'_> {
    /// Fills `out`. `round` rounds to the nearest number of its type.
    fn fill<T>(self, py: Python<'_>, out: &mut [T], round: fn(f64) -> T) -> PyResult<()>
    where
        T: Float + Copy + Send + Sync + Into<f64> + Add<Output = T> + Mul<Output = T>,
    {
        let elements = self.elements;
        let (names, standard): (_, fn(_, _, &mut [T]) -> _) = match self.distribution {
            "uniform" => (["low", "high - low"], wellspring_pseudo::Elements::uniform),
            "normal" => (
                ["loc", "scale"],
                wellspring_pseudo::Elements::standard_normal,
            ),
            "exponential" => (
                ["loc", "scale"],
                wellspring_pseudo::Elements::standard_exponential,
            ),
            other => {
                return Err(PyValueError::new_err(format!(
                    "unknown distribution '{other}'"
                )));
            }
        };
        let in_type = |number: f64, name: &str| {
            let rounded = round(number);
            if rounded.into().is_finite() {
                return Ok(rounded);
            }
            let type_name = std::any::type_name::<T>().replace('f', "float");
            Err(PyValueError::new_err(format!(
                "{name} is out of bounds for {type_name}"
            )))
        };
        let scale = match self.scale {
            Some((low, step)) => Some((in_type(low, names[0])?, in_type(step, names[1])?)),
            None => None,
        };
        let block = Block::new(self.start, out.len())?;
        py.detach(|| {
            block.fill(out, self.threads, |first, piece| {
                let Some((low, step)) = scale else {
                    return expect_made(standard(elements, first, piece));
                };
                let mut index = first;
                for chunk in piece.chunks_mut(SCALED_AT_A_TIME) {
                    expect_made(standard(elements, index, chunk));
                    for number in &mut *chunk {
                        *number = low + step * *number;
                    }
                    index = index.wrapping_add(chunk.len() as u64);
                }
            });
        });
        Ok(())
    }
}

/// Cannot fail: a block's indices are below 2^64.
fn expect_made(result: Result<(), ElementError>) {
    result.expect("the indices of a block were checked");
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

    /// `low + step * x`, x uniform in [0, 1), normal with mean 0 and variance 1, or exponential with mean 1; without a
    /// scale x alone.
    fn floats(
        &self,
        distribution: &str,
        out: &Bound<'_, PyAny>,
        start: Start,
        scale: Option<(f64, f64)>,
        threads: usize,
    ) -> PyResult<()> {
        let floats = Floats {
            elements: &self.elements,
            distribution,
            start,
            scale,
            threads,
        };
        let buffer = Buffer::get(out, "out")?;
        match buffer.elements("out")? {
            Out::F64(numbers) => floats.fill(out.py(), numbers, |number| number),
            Out::F32(numbers) => floats.fill(out.py(), numbers, |number| number as f32),
            _ => Err(PyTypeError::new_err(
                "out must have elements of float64 or float32",
            )),
        }
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
                for (place, index) in piece.iter_mut().zip(first + start as u64..) {
                    // Below `length`, which is below 2^63.
                    *place = permutation.at(index).map_or(0, |number| number as i64);
                }
            });
        });
        Ok(())
    }

    /// Elements of a distribution, which has these integers and these floats as parameters.
    fn draw(
        &self,
        distribution: &str,
        parameters: (Vec<i64>, Vec<f64>),
        out: &Bound<'_, PyAny>,
        start: Start,
        threads: usize,
    ) -> PyResult<()> {
        let buffer = Buffer::get(out, "out")?;
        let place = Place {
            py: out.py(),
            elements: &self.elements,
            out: buffer.elements("out")?,
            start,
            threads,
        };
        draw(distribution, &parameters.0, &parameters.1, place)
    }

    /// Points of a sequence from number `first` on, scrambled by this name or not.
    fn points(
        &self,
        sequence: &str,
        dimensions: usize,
        scramble: bool,
        out: &Bound<'_, PyAny>,
        first: u64,
        threads: usize,
    ) -> PyResult<()> {
        let buffer = Buffer::get(out, "out")?;
        let place = Place {
            py: out.py(),
            elements: &self.elements,
            out: buffer.elements("out")?,
            start: (first, Vec::new()),
            threads,
        };
        points(sequence, dimensions, scramble, place)
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
