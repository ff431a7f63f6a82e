//! A stream for serde: its name and position, and not the state, which follows from them.
//!
//! ```
//! use wellspring_pseudo::{Algorithm, Stream};
//!
//! let mut stream = Stream::new(Algorithm::ChaCha8, 12345, &[3, 17]);
//! stream.next_u64();
//! let saved = serde_json::to_string(&stream)?;
//! assert_eq!(
//!     saved,
//!     r#"{"algorithm":"chacha8","root":{"seed":"12345"},"path":"3/17","jumps":0,"position":"8"}"#
//! );
//! let mut again: Stream = serde_json::from_str(&saved)?;
//! assert_eq!(again.next_u64(), stream.next_u64());
//! # Ok::<(), serde_json::Error>(())
//! ```

use crate::name::Root;
use crate::{MAX_DEPTH, Path, Stream};
use alloc::string::String;
use core::fmt::Display;
use core::str::FromStr;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The saved fields. Algorithm and path are their text, and numbers of 128 bits are decimal text, so that every format has them.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Stream", deny_unknown_fields)]
struct Saved {
    algorithm: String,
    root: Root,
    path: String,
    jumps: u64,
    #[serde(with = "decimal")]
    position: u128,
}

impl Serialize for Stream {
    /// # Errors
    ///
    /// The path of the stream has more than 32 numbers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let path = self.name().path.as_ref().ok_or_else(|| {
            S::Error::custom(format_args!("the path has more than {MAX_DEPTH} elements"))
        })?;
        let saved = Saved {
            algorithm: text(&self.algorithm()),
            root: self.name().root,
            path: text(path),
            jumps: self.jumps(),
            position: self.position(),
        };
        saved.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Stream {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = Saved::deserialize(deserializer)?;
        let algorithm = saved.algorithm.parse().map_err(D::Error::custom)?;
        let path: Path = saved.path.parse().map_err(D::Error::custom)?;
        let stream = match saved.root {
            Root::Seed(seed) => Self::new(algorithm, seed, &path),
            Root::Words(words) => {
                let root = Self::from_words(algorithm, words);
                path.iter().fold(root, |parent, &key| parent.child(key))
            }
        };
        let jumped = stream.jumped(saved.jumps).map_err(D::Error::custom)?;
        Ok(jumped.at(saved.position))
    }
}

fn text(value: &impl Display) -> String {
    alloc::format!("{value}")
}

/// Numbers as decimal text.
pub(crate) mod decimal {
    use super::{Display, FromStr, String};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        number: &u128,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Algorithm;

    #[test]
    fn every_stream_goes_on_where_it_was_saved() {
        for algorithm in Algorithm::ALL {
            let named = Stream::new(algorithm, u128::MAX, &[3, u32::MAX]);
            let worded = Stream::from_words(algorithm, [1, 2, 3, u64::MAX]).child(5);
            for stream in [named, worded] {
                for position in [0, 13, u128::MAX] {
                    let mut stream = stream.jumped(3).unwrap().at(position);
                    let saved = serde_json::to_string(&stream).unwrap();
                    let mut again: Stream = serde_json::from_str(&saved).unwrap();
                    let mut bytes = [[0; 100]; 2];
                    stream.fill(&mut bytes[0]);
                    again.fill(&mut bytes[1]);
                    assert_eq!(bytes[0], bytes[1], "{saved}");
                    assert_eq!(stream.child(1).next_u64(), again.child(1).next_u64());
                }
            }
        }
    }

    #[test]
    fn what_is_no_stream_is_refused() {
        let right =
            r#"{"algorithm":"chacha8","root":{"seed":"1"},"path":"/","jumps":0,"position":"0"}"#;
        assert!(serde_json::from_str::<Stream>(right).is_ok());
        for (part, wrong) in [
            ("chacha8", "chacha9"),
            (r#""1""#, r#""-1""#),
            (r#""1""#, "1"),
            (r#""/""#, r#""""#),
            ("0,", "9223372036854775808,"),
            (r#""0""#, r#""340282366920938463463374607431768211456""#),
            ("}}", "},}"),
            (r#""0"}"#, r#""0","more":0}"#),
        ] {
            let wrong = right.replace(part, wrong);
            assert!(
                wrong == right || serde_json::from_str::<Stream>(&wrong).is_err(),
                "{wrong}"
            );
        }
        let deep = Stream::new(Algorithm::ChaCha8, 1, &[1; 33]);
        assert!(serde_json::to_string(&deep).is_err());
    }
}
