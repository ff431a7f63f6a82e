//! Neighbours: the serial correlation of bytes, and the runs of bits.

/// Sums over neighbouring bytes and bits.
#[derive(Default)]
pub(super) struct Serial {
    first: Option<u8>,
    last: u8,
    products: u128,
    changes: u64,
}

impl Serial {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        // At most 2^32 products of 16 bits go into 64 bits.
        for piece in bytes.chunks(1 << 30) {
            self.update_piece(piece);
        }
    }

    fn update_piece(&mut self, bytes: &[u8]) {
        let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else {
            return;
        };
        let mut products = 0u64;
        let mut changes = 0;
        if self.first.is_none() {
            self.first = Some(first);
            changes += changes_in(first);
        } else {
            products += product(self.last, first);
            changes += changes_between(self.last, first);
        }
        for pair in bytes.windows(2) {
            products += product(pair[0], pair[1]);
            changes += changes_between(pair[0], pair[1]);
        }
        self.last = last;
        self.products += u128::from(products);
        self.changes += changes;
    }

    /// How often a bit differs from the bit before. There is one more run than that.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The sum of the products of neighbouring bytes, where the first follows the last, as in `ent`.
    pub(super) fn products(&self) -> u128 {
        self.products + u128::from(product(self.last, self.first.unwrap_or(0)))
    }
}

fn product(one: u8, other: u8) -> u64 {
    u64::from(one) * u64::from(other)
}

/// The changes from bit to bit within a byte.
fn changes_in(byte: u8) -> u64 {
    u64::from(((byte ^ (byte >> 1)) & 0x7f).count_ones())
}

/// The changes within `byte` and from the last bit before it to its first.
fn changes_between(before: u8, byte: u8) -> u64 {
    let shifted = byte >> 1 | before << 7;
    u64::from((byte ^ shifted).count_ones())
}
