//! How far a run is, for a program that shows it.

/// Told of every step of a run.
pub trait Progress {
    /// Called once before the run, with its number of steps.
    fn begin(&mut self, steps: usize);

    /// A step is done, of the measurement of `what`.
    fn step(&mut self, what: &str);
}

/// Shows nothing.
impl Progress for () {
    fn begin(&mut self, _: usize) {}
    fn step(&mut self, _: &str) {}
}
