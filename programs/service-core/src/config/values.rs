//! The types of values. Each rejects a wrong text with a message that says why.

use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::net::SocketAddr;
use std::path::PathBuf;
use wellspring::{MinEntropy, Mode, Prf};

/// A whole number from `LEAST` to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bounded<const LEAST: u64, const MOST: u64, const DEFAULT: u64 = LEAST>(u64);

impl<const LEAST: u64, const MOST: u64, const DEFAULT: u64> Bounded<LEAST, MOST, DEFAULT> {
    /// The number within its bounds that is nearest to `value`.
    pub const fn clamped(value: u64) -> Self {
        if value < LEAST {
            Self(LEAST)
        } else if value > MOST {
            Self(MOST)
        } else {
            Self(value)
        }
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const LEAST: u64, const MOST: u64, const DEFAULT: u64> Default
    for Bounded<LEAST, MOST, DEFAULT>
{
    fn default() -> Self {
        Self::clamped(DEFAULT)
    }
}

impl<'de, const LEAST: u64, const MOST: u64, const DEFAULT: u64> Deserialize<'de>
    for Bounded<LEAST, MOST, DEFAULT>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = i64::deserialize(deserializer)?;
        match u64::try_from(value) {
            Ok(value) if (LEAST..=MOST).contains(&value) => Ok(Self(value)),
            _ => Err(de::Error::custom(format!(
                "{value} is out of range: {LEAST} to {MOST} is allowed"
            ))),
        }
    }
}

/// The mode of a file: in the configuration a text in octal, `"0660"`, or a number of TOML, `0o660`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMode<const DEFAULT: u32>(u32);

impl<const DEFAULT: u32> FileMode<DEFAULT> {
    /// The bits.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<const DEFAULT: u32> Default for FileMode<DEFAULT> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<const DEFAULT: u32> Serialize for FileMode<DEFAULT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:04o}", self.0))
    }
}

impl<'de, const DEFAULT: u32> Deserialize<'de> for FileMode<DEFAULT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ModeVisitor).map(Self)
    }
}

/// Reads a mode.
struct ModeVisitor;

impl de::Visitor<'_> for ModeVisitor {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mode in octal from \"0000\" to \"0777\", such as \"0660\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u32, E> {
        let is_octal = text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
        let mode = u32::from_str_radix(text, 8).ok();
        mode.filter(|mode| is_octal && *mode <= 0o777)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u32, E> {
        let mode = u32::try_from(number).ok();
        mode.filter(|mode| *mode <= 0o777)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
    }
}

/// The most noise files: an engine has room for 16 sources, and six are its own.
const MAX_NOISE_FILES: usize = 10;

/// Reads the list of noise files, and refuses a list with which the engine would not start.
pub(super) fn noise_files<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
    let files = Vec::deserialize(from)?;
    if files.len() > MAX_NOISE_FILES {
        return Err(de::Error::custom(format!(
            "{} noise files: at most {MAX_NOISE_FILES} are allowed",
            files.len()
        )));
    }
    Ok(files)
}

/// An operator's claim for a noise file: 0 to 8 bits of min-entropy a byte, kept in 256ths, rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct NoiseCredit(u16);

impl NoiseCredit {
    /// The claim.
    pub const fn get(self) -> MinEntropy {
        MinEntropy::per_byte_256ths(self.0)
    }
}

impl TryFrom<f64> for NoiseCredit {
    type Error = String;

    fn try_from(bits: f64) -> Result<Self, String> {
        if (0.0..=8.0).contains(&bits) {
            Ok(Self((bits * 256.0) as u16))
        } else {
            Err(format!(
                "{bits} is out of range: 0 to 8 bits a byte are allowed"
            ))
        }
    }
}

impl From<NoiseCredit> for f64 {
    fn from(credit: NoiseCredit) -> Self {
        Self::from(credit.0) / 256.0
    }
}

/// Where a socket listens: a path, a loopback address with a port, or a vsock port. Bytes on a network could be read by
/// others, so no other address is allowed; use a tunnel. No network carries the bytes of vsock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Address {
    /// A Unix socket, below the runtime folder if it is relative.
    Unix(PathBuf),
    /// TCP on a loopback address.
    Tcp(SocketAddr),
    /// vsock, between this machine and its virtual machines, or its host.
    Vsock {
        /// The number of this machine under which connections are accepted. `None`: under any.
        machine: Option<u32>,
        /// The port.
        port: u32,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Vsock {
                machine: Some(machine),
                port,
            } => write!(f, "vsock:{machine}:{port}"),
            Self::Vsock {
                machine: None,
                port,
            } => write!(f, "vsock::{port}"),
        }
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// The longest path of a Unix socket, with the zero at its end: sun_path of unix(7).
const MAX_PATH_BYTES: usize = 108;

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return if address.ip().is_loopback() {
                Ok(Self::Tcp(address))
            } else {
                Err(format!(
                    "{address} is no loopback address: others on the network could read the bytes"
                ))
            };
        }
        if let Some(rest) = text.strip_prefix("vsock:") {
            return vsock(rest).ok_or_else(|| {
                format!("'{text}' is no vsock address, such as vsock::9464 or vsock:2:9464")
            });
        }
        let is_path = text.contains('/') || text.ends_with(".sock");
        if !is_path || text.contains('\0') {
            return Err(format!(
                "'{text}' is neither a path nor an address with a port, such as 127.0.0.1:9464 or [::1]:9464"
            ));
        }
        if text.len() >= MAX_PATH_BYTES {
            return Err(format!(
                "a path of {} bytes: Unix sockets take less than {MAX_PATH_BYTES}",
                text.len()
            ));
        }
        Ok(Self::Unix(text.into()))
    }
}

/// Parses `MACHINE:PORT`. Without a number, connections to any number of this machine are accepted. The highest number
/// is no machine and no port: the kernel takes it for "any".
fn vsock(text: &str) -> Option<Address> {
    let number = |text: &str| text.parse().ok().filter(|number| *number < u32::MAX);
    let (machine, port) = text.split_once(':')?;
    let machine = if machine.is_empty() {
        None
    } else {
        Some(number(machine)?)
    };
    let port = number(port)?;
    Some(Address::Vsock { machine, port })
}

/// The least level of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Faults, such as a socket that cannot be opened.
    Error,
    /// Problems that the service works around, such as a source that fails a health test.
    Warn,
    /// Everything that the service opens, and events such as a reload.
    #[default]
    Info,
    /// Each connection as well.
    Debug,
}

/// The names of the engine's read modes.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Mode", rename_all = "kebab-case")]
pub(super) enum ReadMode {
    Canonical,
    Concurrent,
    PerNode,
    PerThread,
}

/// The pseudo-random function of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrfName {
    /// The best on this CPU.
    #[default]
    Auto,
    /// AES-256.
    Aes256,
    /// ChaCha20.
    ChaCha20,
}

impl PrfName {
    /// The function. `None`: the best on this CPU.
    pub fn prf(self) -> Option<Prf> {
        match self {
            Self::Auto => None,
            Self::Aes256 => Some(Prf::Aes256),
            Self::ChaCha20 => Some(Prf::ChaCha20),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_on_a_network_and_a_path_that_is_too_long_are_refused() {
        for good in [
            "127.0.0.1:80",
            "[::1]:80",
            "/run/x",
            "x.sock",
            "./x",
            "vsock::80",
            "vsock:2:4294967294",
        ] {
            let address = good.parse::<Address>();
            assert_eq!(address.unwrap().to_string(), good);
        }
        let long = format!("/{}", "x".repeat(200));
        for bad in [
            "0.0.0.0:80",
            "[::]:80",
            "10.0.0.1:1",
            "x",
            "80",
            "",
            &long,
            "/a\0",
            "vsock:80",
            "vsock::",
            "vsock:x:80",
            "vsock::4294967295",
            "vsock:4294967295:80",
            "vsock:-1:80",
        ] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_mode_is_read_as_octal_text_or_a_number_and_printed_as_octal_text() {
        #[derive(Debug, Serialize, Deserialize)]
        struct Section {
            mode: FileMode<0>,
        }
        let read = |text: &str| toml::from_str::<Section>(&format!("mode = {text}"));
        for good in ["\"0660\"", "\"660\"", "0o660", "432"] {
            let section = read(good).unwrap();
            assert_eq!(section.mode.get(), 0o660, "{good}");
            assert_eq!(toml::to_string(&section).unwrap(), "mode = \"0660\"\n");
        }
        // 660 without the letter is 0o1224.
        for bad in [
            "660",
            "-1",
            "0o1000",
            "\"1000\"",
            "\"0o660\"",
            "\"+660\"",
            "\"0680\"",
            "\"\"",
            "true",
        ] {
            let fault = read(bad).unwrap_err().to_string();
            assert!(fault.contains("such as \"0660\""), "{bad}: {fault}");
        }
    }

    #[test]
    fn a_number_outside_of_its_bounds_becomes_the_nearest_one() {
        assert_eq!(Bounded::<2, 5>::clamped(1).get(), 2);
        assert_eq!(Bounded::<2, 5>::clamped(4).get(), 4);
        assert_eq!(Bounded::<2, 5>::clamped(9).get(), 5);
    }
}
