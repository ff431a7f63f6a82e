//! Parameters that are arrays, beside the elements of a block: what NumPy calls broadcasting.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Mutex;
use wellspring_pseudo::ElementError;

use crate::block::{Block, Start, refused};
use crate::buffer::{Number, Source};

/// Elements that are made at a time: they and their parameters stay in the first cache.
const AT_A_TIME: usize = 1024;

/// The most parameters of a distribution.
const MAX_COLUMNS: usize = 4;

/// Checks values of all parameters.
pub(crate) type CheckColumns<'a, T> = dyn Fn(&[&[T]]) -> Result<(), ElementError> + Sync + 'a;

/// The shape of the elements.
pub(crate) struct Grid {
    shape: Vec<usize>,
}

/// A parameter of all elements: an array, and how far its index goes on from one place to the next in each dimension of the
/// grid. In the last dimension it goes on by 0 or 1.
pub(crate) struct Column<'a, T> {
    values: Values<'a, T>,
    steps: &'a [usize],
}

/// The numbers of an array that holds parameters of the type `T`.
#[derive(Clone, Copy)]
pub(crate) enum Values<'a, T> {
    Own(&'a [T]),
    /// Integers, which are rounded to `T` where they are copied.
    Integers(&'a [i64]),
}

impl<'a, T: Number> Values<'a, T> {
    /// The numbers of an array, if they are of the type or int64.
    pub(crate) fn of(source: &'a Source) -> PyResult<Self> {
        match source.numbers() {
            Ok(own) => Ok(Self::Own(own)),
            Err(_) => source.numbers().map(Self::Integers),
        }
    }

    fn len(self) -> usize {
        match self {
            Self::Own(numbers) => numbers.len(),
            Self::Integers(numbers) => numbers.len(),
        }
    }

    /// Copies as many values from place `start` on, or the one there to all places.
    #[inline]
    fn copy(self, start: usize, is_one: bool, out: &mut [T]) {
        match self {
            Self::Own(numbers) if is_one => out.fill(numbers[start]),
            Self::Own(numbers) => out.copy_from_slice(&numbers[start..][..out.len()]),
            Self::Integers(numbers) if is_one => out.fill(T::from_integer(numbers[start])),
            Self::Integers(numbers) => {
                for (place, number) in out.iter_mut().zip(&numbers[start..]) {
                    *place = T::from_integer(*number);
                }
            }
        }
    }
}

impl Grid {
    /// A grid without a dimension has one place.
    pub(crate) fn new(mut shape: Vec<usize>) -> Self {
        if shape.is_empty() {
            shape.push(1);
        }
        Self { shape }
    }

    /// The column of an array. No place of the grid is outside of it.
    pub(crate) fn column<'a, T: Number>(
        &self,
        values: Values<'a, T>,
        steps: &'a [usize],
    ) -> PyResult<Column<'a, T>> {
        let is_empty = self.shape.contains(&0);
        let ends = self.shape.iter().zip(steps);
        let last = ends.fold(0usize, |last, (length, step)| {
            last.saturating_add(length.saturating_sub(1).saturating_mul(*step))
        });
        let fits = steps.len() == self.shape.len()
            && steps.last().is_some_and(|step| *step <= 1)
            && (is_empty || last < values.len());
        if !fits {
            return Err(PyValueError::new_err("a parameter does not fit the shape"));
        }
        Ok(Column { values, steps })
    }

    /// Copies the values of a column from place `position` on.
    fn copy<T: Number>(&self, column: &Column<'_, T>, position: usize, out: &mut [T]) {
        let dimensions = self.shape.len();
        let run = self.shape[dimensions - 1];
        let step = column.steps[dimensions - 1];
        // The place in each dimension but the last, and in the last.
        let (mut row, mut skipped) = (position / run, position % run);
        let mut rest = out;
        while !rest.is_empty() {
            let (mut outer, mut start) = (row, 0);
            for axis in (0..dimensions - 1).rev() {
                start += outer % self.shape[axis] * column.steps[axis];
                outer /= self.shape[axis];
            }
            let count = rest.len().min(run - skipped);
            let (now, after) = rest.split_at_mut(count);
            let start = if step == 0 { start } else { start + skipped };
            column.values.copy(start, step == 0, now);
            (row, skipped, rest) = (row + 1, 0, after);
        }
    }

    /// The same values without a copy, if they follow each other in an array of the type.
    fn lent<'a, T: Number>(
        &self,
        column: &Column<'a, T>,
        position: usize,
        length: usize,
    ) -> Option<&'a [T]> {
        let Values::Own(numbers) = column.values else {
            return None;
        };
        let mut wanted = 1;
        for (length, step) in self.shape.iter().zip(column.steps).rev() {
            if *length > 1 && *step != wanted {
                return None;
            }
            wanted *= length;
        }
        numbers.get(position..position + length)
    }

    /// Gives `take` the values of all columns from place `position` on: the arrays themselves if it `looks_once`, and else copies
    /// in `values`.
    fn with_values<T: Number, R>(
        &self,
        columns: &[Column<'_, T>],
        values: &mut [Vec<T>; MAX_COLUMNS],
        (position, length): (usize, usize),
        looks_once: bool,
        take: impl FnOnce(&[&[T]]) -> R,
    ) -> R {
        let mut slices: [&[T]; MAX_COLUMNS] = [&[]; MAX_COLUMNS];
        for ((column, values), slice) in columns.iter().zip(values).zip(&mut slices) {
            let lent = self.lent(column, position, length);
            *slice = lent.filter(|_| looks_once).unwrap_or_else(|| {
                values.resize(length, T::default());
                self.copy(column, position, values);
                values
            });
        }
        take(&slices[..columns.len()])
    }
}

/// Fills `out`, whose elements have the parameters of their places in `columns`. With `check`, all are checked first, and a
/// refused call leaves `out` as it was. `fill` checks what it uses, since another thread of Python may have written to the
/// arrays. If it does so at its only look at a value, it gets the arrays themselves, and else copies, which stay as they are.
#[allow(clippy::too_many_arguments, reason = "two checks and two arrays")]
pub(crate) fn fill_by_columns<T: Send, P: Number>(
    py: Python<'_>,
    out: &mut [T],
    start: Start,
    threads: usize,
    grid: &Grid,
    columns: &[Column<'_, P>],
    check: Option<&CheckColumns<'_, P>>,
    looks_once: bool,
    fill: impl Fn(u64, &[&[P]], &mut [T]) -> Result<(), ElementError> + Sync,
) -> PyResult<()> {
    let places = grid
        .shape
        .iter()
        .try_fold(1usize, |all, length| all.checked_mul(*length));
    if places != Some(out.len()) || columns.len() > MAX_COLUMNS {
        return Err(PyValueError::new_err(
            "out does not have the shape of the parameters",
        ));
    }
    let block = Block::new(start, out.len())?;
    let fault = Mutex::new(None);
    py.detach(|| {
        if let Some(check) = check {
            let mut values = Default::default();
            for position in (0..out.len()).step_by(AT_A_TIME) {
                let length = AT_A_TIME.min(out.len() - position);
                grid.with_values(columns, &mut values, (position, length), true, check)?;
            }
        }
        block.fill(out, threads, |position, first, piece| {
            let mut values = Default::default();
            for (number, piece) in piece.chunks_mut(AT_A_TIME).enumerate() {
                let offset = number * AT_A_TIME;
                let length = piece.len();
                let place = (position + offset, length);
                let made = grid.with_values(columns, &mut values, place, looks_once, |values| {
                    fill(first + offset as u64, values, piece)
                });
                if let Err(error) = made {
                    if let Ok(mut fault) = fault.lock() {
                        *fault = Some(error);
                    }
                    return;
                }
            }
        });
        fault.into_inner().ok().flatten().map_or(Ok(()), Err)
    })
    .map_err(refused)
}
