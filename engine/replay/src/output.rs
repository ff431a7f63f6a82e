//! The output of a read, in the form that a line asks for.

use crate::fields::Fields;
use crate::hex;
use wellspring_core::sha256::Sha256;

/// Reads up to this length are shown whole, unless the file asks for a digest.
const MAX_SHOWN_BYTES: usize = 300;

/// The output of a read.
pub(crate) struct Output(pub(crate) Vec<u8>);

impl Output {
    /// The bytes in the form that a line asks for; otherwise in the form that suits their number.
    pub(crate) fn describe(&self, asked: Fields<'_>) -> String {
        let bytes = &self.0;
        let asked = |names: &[&str]| names.iter().any(|name| asked.get(name).is_some());
        let (whole, digest) = (asked(&["out"]), asked(&["sha256", "first", "last"]));
        let is_short = bytes.len() <= MAX_SHOWN_BYTES;
        let mut text = format!("n={}", bytes.len());
        if whole || !digest && is_short {
            text += &format!(" out={}", hex::encode(bytes));
        }
        if digest || !whole && !is_short {
            let end = bytes.len().min(32);
            let digest = hex::encode(&Sha256::digest(bytes));
            let (first, last) = (&bytes[..end], &bytes[bytes.len() - end..]);
            text += &format!(
                " sha256={digest} first={} last={}",
                hex::encode(first),
                hex::encode(last)
            );
        }
        text
    }
}
