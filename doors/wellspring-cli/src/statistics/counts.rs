//! How often each byte value occurs, and what follows from that alone.

/// 4 tables, because a count must wait for the one before if both are in the same place.
const TABLES: usize = 4;

/// The counts of byte values.
pub(super) struct Counts {
    tables: [[u64; 256]; TABLES],
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            tables: [[0; 256]; TABLES],
        }
    }
}

impl Counts {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        let (groups, rest) = bytes.as_chunks::<TABLES>();
        for group in groups {
            for (table, &byte) in self.tables.iter_mut().zip(group) {
                table[usize::from(byte)] += 1;
            }
        }
        for &byte in rest {
            self.tables[0][usize::from(byte)] += 1;
        }
    }

    fn count(&self, value: usize) -> u64 {
        self.tables.iter().map(|table| table[value]).sum()
    }

    /// The counts of the values 0 to 255.
    fn all(&self) -> impl Iterator<Item = u64> {
        (0..256).map(|value| self.count(value))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.all().sum()
    }

    /// The number of one bits.
    pub(super) fn ones(&self) -> u64 {
        let ones = |(value, count): (u8, u64)| u64::from(value.count_ones()) * count;
        (0..=255).zip(self.all()).map(ones).sum()
    }

    /// The sum of the bytes, and the sum of their squares.
    pub(super) fn sums(&self) -> (u128, u128) {
        let add = |(sum, squares), (value, count): (u128, u64)| {
            let weighted = value * u128::from(count);
            (sum + weighted, squares + value * weighted)
        };
        (0..).zip(self.all()).fold((0, 0), add)
    }

    /// Pearson's chi-square of the 256 counts, against equal ones.
    pub(super) fn chi_square(&self) -> f64 {
        let expected = self.bytes() as f64 / 256.0;
        let square = |count: u64| (count as f64 - expected).powi(2) / expected;
        self.all().map(square).sum()
    }

    /// Shannon's entropy of the counts, in bits per byte, as `ent` prints it.
    pub(super) fn entropy(&self) -> f64 {
        let bytes = self.bytes() as f64;
        let share = |count: u64| {
            let share = count as f64 / bytes;
            -share * share.log2()
        };
        // Adding to 0 makes a sum of -0 positive.
        0.0 + self
            .all()
            .filter(|&count| count > 0)
            .map(share)
            .sum::<f64>()
    }

    /// The min-entropy in bits per byte by SP 800-90B 6.3.1, the estimate of the most common value: from the upper
    /// end of the 99 % confidence interval of its probability.
    pub(super) fn min_entropy(&self) -> f64 {
        let bytes = self.bytes() as f64;
        let share = self.all().max().unwrap_or(0) as f64 / bytes;
        // There is no interval for one byte: 0 / 0.
        let margin = 2.576 * (share * (1.0 - share) / (bytes - 1.0)).sqrt();
        let bound = if margin.is_nan() { 1.0 } else { share + margin };
        // Adding to 0 makes -0 positive.
        0.0 - bound.min(1.0).log2()
    }
}
