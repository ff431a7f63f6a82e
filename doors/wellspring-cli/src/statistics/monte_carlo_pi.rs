//! Pi from points in a square: the share of those inside the circle, as `ent` counts them.

/// A point: 24 bits for each coordinate.
pub(super) const POINT_BYTES: usize = 6;

/// The largest coordinate, and the radius of the circle.
const RADIUS: u64 = (1 << 24) - 1;

/// The points so far, and the bytes of the next one.
#[derive(Default)]
pub(super) struct MonteCarloPi {
    next: [u8; POINT_BYTES],
    filled: usize,
    points: u64,
    inside: u64,
}

impl MonteCarloPi {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        if self.filled > 0 {
            let taken = bytes.len().min(POINT_BYTES - self.filled);
            let (start, rest) = bytes.split_at(taken);
            self.next[self.filled..][..taken].copy_from_slice(start);
            self.filled += taken;
            bytes = rest;
            if self.filled < POINT_BYTES {
                return;
            }
            self.add(self.next);
        }
        let (points, rest) = bytes.as_chunks::<POINT_BYTES>();
        for &point in points {
            self.add(point);
        }
        self.next[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
    }

    fn add(&mut self, [a, b, c, d, e, f]: [u8; POINT_BYTES]) {
        let coordinate = |bytes| u64::from(u32::from_be_bytes(bytes));
        let (x, y) = (coordinate([0, a, b, c]), coordinate([0, d, e, f]));
        self.points += 1;
        self.inside += u64::from(x * x + y * y <= RADIUS * RADIUS);
    }

    pub(super) fn points(&self) -> u64 {
        self.points
    }

    pub(super) fn inside(&self) -> u64 {
        self.inside
    }

    /// The probability that a random point is inside: pi / 4, less a correction of 3.4e-8 because coordinates are
    /// whole numbers. (Points with coordinates 0 to r, by Gauss: pi r^2 / 4 + r, of (r + 1)^2.)
    pub(super) fn probability_of_inside() -> f64 {
        let pi = std::f64::consts::PI;
        pi / 4.0 + (1.0 - pi / 2.0) / RADIUS as f64
    }
}
