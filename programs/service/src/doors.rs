//! The doors: their meters, and which of them are open.

use crate::meters::DoorMeter;
use core::fmt;
use parking_lot::Mutex;

/// A kind of door that hands out bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Door {
    /// The file `random`.
    Random,
    /// The file `urandom`.
    Urandom,
    /// The file `pseudo`: the statistical tier, no secrets.
    Pseudo,
    /// The sockets for EGD.
    Egd,
    /// The sockets for the bulk protocol.
    Bulk,
    /// The sockets for status and metrics.
    Web,
    /// The sockets for virtual machines: virtio-rng by vhost-user.
    VhostUser,
}

impl Door {
    /// All doors, in the order of their numbers.
    pub(crate) const ALL: [Self; 7] = [
        Self::Random,
        Self::Urandom,
        Self::Pseudo,
        Self::Egd,
        Self::Bulk,
        Self::Web,
        Self::VhostUser,
    ];

    /// The name in reports and metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Urandom => "urandom",
            Self::Pseudo => "pseudo",
            Self::Egd => "egd",
            Self::Bulk => "bulk",
            Self::Web => "web",
            Self::VhostUser => "vhost-user",
        }
    }
}

/// The result of one attempt to open something that the configuration asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    /// `files`, `egd`, `bulk`, `web`, `vhost-user`, `page`, `noise`, `kernel-pool` or `kernel-module`.
    pub(crate) name: &'static str,
    /// The path or the address.
    pub(crate) place: String,
    /// The reason why it is not open. `None` if it is open.
    pub(crate) fault: Option<String>,
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            None => write!(f, "{}: open: {}", self.name, self.place),
            Some(fault) => write!(f, "{}: not open: {}: {fault}", self.name, self.place),
        }
    }
}

/// Meters and openings of all doors.
#[derive(Debug, Default)]
pub struct Doors {
    meters: [DoorMeter; Door::ALL.len()],
    openings: Mutex<Vec<Opening>>,
}

impl Doors {
    /// The meter of a door.
    pub(crate) fn meter(&self, door: Door) -> &DoorMeter {
        &self.meters[door as usize]
    }

    /// Notes and logs whether something could be opened, and returns it. If it could not, the service opens the others.
    pub(crate) fn tried<T, E: fmt::Display>(
        &self,
        name: &'static str,
        place: impl fmt::Display,
        result: Result<T, E>,
    ) -> Option<T> {
        let opening = Opening {
            name,
            place: place.to_string(),
            fault: result.as_ref().err().map(E::to_string),
        };
        if opening.fault.is_none() {
            log::info!("{opening}");
        } else {
            log::error!("{opening}");
        }
        let mut openings = self.openings.lock();
        openings.retain(|old| (old.name, &old.place) != (name, &opening.place));
        openings.push(opening);
        result.ok()
    }

    /// Notes that something that was open is not any more, and logs it. Without effect on what is not open.
    pub(crate) fn lost(
        &self,
        name: &'static str,
        place: impl fmt::Display,
        fault: impl fmt::Display,
    ) {
        let place = place.to_string();
        let is_this = |opening: &Opening| (opening.name, &opening.place) == (name, &place);
        let is_open = |opening: &Opening| is_this(opening) && opening.fault.is_none();
        if self.openings().iter().any(is_open) {
            self.tried::<(), _>(name, place, Err(fault));
        }
    }

    /// All attempts to open something, successful or not.
    pub(crate) fn openings(&self) -> Vec<Opening> {
        let openings = self.openings.lock();
        openings.clone()
    }
}
