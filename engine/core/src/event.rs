//! An event: some noise and a time stamp, on their way to one pool.

use crate::wipe;
use core::fmt;
use zeroize::Zeroize;

/// The number of pools: at ten reseeds a second the last is used once in 6.8 years (FS&K 9.5.2).
pub const POOLS: usize = 32;

/// Up to 32 bytes of noise and a time stamp. Filled in place, and wiped on drop.
#[derive(PartialEq, Eq)]
#[repr(C)]
pub struct Event {
    counter: u32,
    pool: u8,
    length_bytes: u8,
    credit_bits: u16,
    data: [u8; Self::MAX_BYTES],
}

impl Event {
    /// The most data an event carries, in bytes (FS&K 9.5.3.1).
    pub const MAX_BYTES: usize = 32;

    /// The value of zeroed memory: an event without data, for pool 0.
    pub const ZERO: Self = Self {
        counter: 0,
        pool: 0,
        length_bytes: 0,
        credit_bits: 0,
        data: [0; Self::MAX_BYTES],
    };

    /// Makes this an event for pool `destination` modulo 32, with the low 32 bits of a cycle counter.
    ///
    /// Data beyond [`MAX_BYTES`](Self::MAX_BYTES) is cut off; credit is at most 8 bits for each byte of data.
    pub fn set(&mut self, counter: u32, destination: usize, data: &[u8], credit_bits: u32) {
        let length = data.len().min(Self::MAX_BYTES);
        self.zeroize();
        self.counter = counter;
        self.pool = (destination % POOLS) as u8;
        self.length_bytes = length as u8;
        self.credit_bits = credit_bits.min(8 * length as u32) as u16;
        self.data[..length].copy_from_slice(&data[..length]);
    }

    /// The time stamp.
    #[must_use]
    pub const fn counter(&self) -> u32 {
        self.counter
    }

    /// The number of the pool it goes to.
    #[must_use]
    pub const fn pool(&self) -> usize {
        self.pool as usize
    }

    /// The noise.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data[..usize::from(self.length_bytes)]
    }

    /// The min-entropy it is credited, in bits.
    #[must_use]
    pub const fn credit_bits(&self) -> u32 {
        self.credit_bits as u32
    }

    /// All but time stamp and data, in a word for a queue.
    pub(crate) const fn head(&self) -> u32 {
        self.pool as u32 | (self.length_bytes as u32) << 8 | (self.credit_bits as u32) << 16
    }

    /// Sets time stamp and [`head`](Self::head), and returns the place of all 32 bytes of data.
    #[inline]
    pub(crate) fn set_head(&mut self, counter: u32, head: u32) -> &mut [u8; Self::MAX_BYTES] {
        self.counter = counter;
        self.pool = (head % POOLS as u32) as u8;
        self.length_bytes = ((head >> 8) as u8).min(Self::MAX_BYTES as u8);
        self.credit_bits = (head >> 16) as u16;
        &mut self.data
    }

    /// All 32 bytes of data: zeros after the noise.
    pub(crate) const fn padded_data(&self) -> &[u8; Self::MAX_BYTES] {
        &self.data
    }
}

impl Zeroize for Event {
    fn zeroize(&mut self) {
        self.counter.zeroize();
        self.pool.zeroize();
        self.length_bytes.zeroize();
        self.credit_bits.zeroize();
        wipe(&mut self.data);
    }
}

impl Drop for Event {
    #[inline]
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl fmt::Debug for Event {
    /// Shows no noise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("counter", &self.counter)
            .field("pool", &self.pool)
            .field("length_bytes", &self.length_bytes)
            .field("credit_bits", &self.credit_bits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(destination: usize, data: &[u8], credit_bits: u32) -> Event {
        let mut event = Event::ZERO;
        event.set(0, destination, data, credit_bits);
        event
    }

    #[test]
    fn an_event_is_credited_at_most_the_bits_it_has() {
        assert_eq!(event(0, &[1, 2], 1000).credit_bits(), 16);
        assert_eq!(event(0, &[1; 40], 1000).data().len(), 32);
        assert_eq!(event(32 * 8 + 5, &[], 0).pool(), 5);
    }

    #[test]
    fn nothing_of_the_last_event_stays_behind_a_shorter_one() {
        let mut event = event(0, &[0xab; 32], 9);
        event.set(1, 2, &[1], 0);
        assert_eq!(event.data(), [1]);
        assert_eq!(event.padded_data()[1..], [0; 31]);
    }
}
