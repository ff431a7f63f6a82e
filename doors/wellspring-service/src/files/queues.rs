//! Requests by io_uring: the kernel has a queue of requests for each CPU, and a thread on that CPU answers it. So a reader
//! and the thread that answers it share a CPU, and no sleeping CPU must be woken.
//!
//! No bytes are made ahead here. A long answer is overwritten by the next one, or wiped [`KEPT_FOR`] after it was given.

use super::ahead::{Ahead, KEPT_FOR, MEMORY_KEPT_FOR};
use super::io_ring::Ring;
use super::random_files::RandomFiles;
use super::relay::Relay;
use super::slot::{Request, Slot};
use crate::process::panics::isolated;
use rustix::fd::AsFd;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

/// Whether the kernel offers it. Root decides.
const PARAMETER: &str = "/sys/module/fuse/parameters/enable_uring";
/// The CPUs that this machine may have.
const POSSIBLE: &str = "/sys/devices/system/cpu/possible";

/// Operations of linux/fuse.h.
const READ: u32 = 15;
const WRITE: u32 = 16;

/// The queues of one thread.
#[derive(Debug)]
struct Station {
    cpu: usize,
    /// Declared first so that drop closes it before the memory of its commands goes.
    ring: Ring,
    slots: Vec<Slot>,
}

/// Queues that no thread serves yet.
#[derive(Debug)]
pub(super) struct Queues(Vec<Station>);

/// Queues that threads serve. They end when the files are unmounted.
#[derive(Debug, Default)]
pub(super) struct ServedQueues {
    pub(super) threads: Vec<JoinHandle<()>>,
    /// Why the kernel did not take the queues. It sends all requests by /dev/fuse then.
    pub(super) refusal: Option<io::Error>,
}

impl ServedQueues {
    /// How requests come. None if the files cannot be served.
    pub(super) fn by(&self) -> Option<&'static str> {
        if let Some(refusal) = &self.refusal {
            tracing::warn!("files: the kernel refused io_uring: {refusal}");
            return Some("/dev/fuse");
        }
        (!self.threads.is_empty()).then_some("io_uring")
    }
}

/// Called when a thread has failed, whose readers would wait without end.
pub(super) type OnFailure = Arc<dyn Fn(io::Error) + Send + Sync>;

impl Queues {
    /// Makes the rings, if the kernel offers them.
    pub(super) fn prepare() -> Option<Self> {
        if fs::read_to_string(PARAMETER).ok()?.trim() != "Y" {
            return None;
        }
        let made = Self::make();
        let explain = |error: &io::Error| tracing::warn!("files: without io_uring: {error}");
        made.inspect_err(explain).ok()
    }

    fn make() -> io::Result<Self> {
        // The kernel has as many queues as CPUs are possible, but the number of a CPU is that of its queue. With gaps
        // between the numbers some CPUs have no queue, and the kernel warns.
        let gaps = || io::Error::other("the numbers of the CPUs have gaps");
        let all = possible_cpus(&fs::read_to_string(POSSIBLE)?).ok_or_else(gaps)?;
        let allowed = sched_getaffinity(None)?;
        let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        let cpus: Vec<_> = cpus.filter(|cpu| *cpu < usize::from(all)).collect();
        let mut slots: Vec<Vec<Slot>> = cpus.iter().map(|_| Vec::new()).collect();
        for queue in 0..all {
            // The queue of a CPU that no thread may use goes to another thread.
            let own = cpus.iter().position(|cpu| *cpu == usize::from(queue));
            let place = own.unwrap_or(usize::from(queue) % cpus.len().max(1));
            let slots = slots.get_mut(place).ok_or(ErrorKind::NotFound)?;
            slots.push(Slot::new(queue)?);
        }
        let station = |(cpu, slots): (usize, Vec<Slot>)| {
            let ring = Ring::new(slots.len() as u32)?;
            Ok(Station { cpu, ring, slots })
        };
        let stations: io::Result<_> = cpus.into_iter().zip(slots).map(station).collect();
        stations.map(Self)
    }

    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// When the system has no thread, or a ring cannot be used.
    pub(super) fn serve(
        self,
        device: &OwnedFd,
        files: &RandomFiles,
        relay: &Arc<Relay>,
        on_failure: &OnFailure,
    ) -> io::Result<ServedQueues> {
        let (told, tells) = channel();
        let mut threads = Vec::with_capacity(self.0.len());
        for station in self.0 {
            let server = Server {
                station,
                device: device.try_clone()?,
                files: files.clone(),
                relay: relay.clone(),
            };
            let (told, on_failure) = (told.clone(), on_failure.clone());
            let work = move || work(server, &told, &on_failure);
            threads.push(thread::Builder::new().name("files".into()).spawn(work)?);
        }
        drop(told);
        let mut refusal = None;
        for _ in &threads {
            // Each thread says once whether the kernel has taken its commands.
            let told = tells
                .recv()
                .map_err(|_| io::Error::other("a thread ended"))??;
            refusal = refusal.or(told);
        }
        Ok(ServedQueues { threads, refusal })
    }
}

/// Said by a thread at its start: nothing, or why the kernel took no commands, or why it could not be asked.
type Start = io::Result<Option<io::Error>>;

fn work(server: Server, told: &Sender<Start>, on_failure: &OnFailure) {
    // The ring is closed when this returns or panics: the kernel can then end all requests.
    let ended = isolated(|| server.work(told));
    let ended = ended.unwrap_or_else(|| Err(io::Error::other("a thread panicked")));
    if let Err(error) = ended {
        on_failure(error);
    }
}

struct Server {
    station: Station,
    device: OwnedFd,
    files: RandomFiles,
    relay: Arc<Relay>,
}

impl Server {
    fn work(mut self, told: &Sender<Start>) -> io::Result<()> {
        let mut only = CpuSet::new();
        only.set(self.station.cpu);
        // A thread on another CPU works as well, more slowly.
        let _ = sched_setaffinity(None, &only);
        let offered = self.offer();
        let (early, start) = match offered {
            Ok(Ok(early)) => (Some(early), Ok(None)),
            Ok(Err(refusal)) => (None, Ok(Some(refusal))),
            Err(error) => (None, Err(error)),
        };
        let _ = told.send(start);
        early.map_or(Ok(()), |early| self.serve(early))
    }

    /// Offers all slots to the kernel, and returns those in which a request came at once, or why the kernel refused.
    fn offer(&mut self) -> io::Result<io::Result<Vec<usize>>> {
        let Station { ring, slots, .. } = &mut self.station;
        ring.enable()?;
        for (place, slot) in slots.iter().enumerate() {
            ring.offer(self.device.as_fd(), place, slot);
        }
        ring.submit()?;
        let mut early = Vec::new();
        while let Some((place, result)) = ring.completed() {
            if result < 0 {
                return Ok(Err(io::Error::from_raw_os_error(-result)));
            }
            early.push(place);
        }
        Ok(Ok(early))
    }

    /// Answers requests until the kernel takes back all slots.
    fn serve(&mut self, early: Vec<usize>) -> io::Result<()> {
        let mut is_resident = false;
        for place in early {
            is_resident |= self.answer(place)?;
        }
        let mut open = self.station.slots.len();
        while open > 0 {
            match self.station.ring.completed() {
                Some((_, result)) if is_unmounted(result) => open -= 1,
                Some((_, result)) if result < 0 => {
                    return Err(io::Error::from_raw_os_error(-result));
                }
                Some((place, _)) => is_resident |= self.answer(place)?,
                None => is_resident = self.wait(is_resident)?,
            }
        }
        Ok(())
    }

    /// Waits for a request. If none comes, wipes the answers that were given, and later gives their memory back. Returns
    /// whether there is such memory.
    fn wait(&mut self, is_resident: bool) -> io::Result<bool> {
        let Station { ring, slots, .. } = &mut self.station;
        let is_used = slots.iter().any(Slot::is_used);
        let time = if is_used {
            Some(KEPT_FOR)
        } else {
            is_resident.then_some(MEMORY_KEPT_FOR)
        };
        ring.wait(time)?;
        if !ring.is_empty() {
            return Ok(is_resident);
        }
        for slot in slots {
            slot.wipe_from(0);
            if !is_used {
                slot.give_back();
            }
        }
        Ok(is_used)
    }

    /// Answers the request in a slot, and returns whether the answer is long.
    fn answer(&mut self, place: usize) -> io::Result<bool> {
        let Station { ring, slots, .. } = &mut self.station;
        // Of the queues of a thread, one may be busy while another is idle.
        let others = slots
            .iter_mut()
            .enumerate()
            .filter(|(other, _)| *other != place);
        others.for_each(|(_, slot)| slot.wipe_from(0));
        let slot = slots.get_mut(place).ok_or(ErrorKind::InvalidData)?;
        let request = slot.request();
        let answer = match request.head.operation {
            READ => read(&self.files, &request, slot),
            WRITE => write(&self.files, &request, slot),
            _ => pass_on(&self.relay, &request, slot),
        };
        let length = answer.unwrap_or_default();
        let is_long = request.head.operation == READ && Ahead::is_long(length);
        slot.set_answer(&request, answer);
        ring.answer(self.device.as_fd(), place, slot, request.commit_id);
        ring.submit()?;
        slot.wipe_from(if is_long { length } else { 0 });
        Ok(is_long)
    }
}

/// Whether the kernel took a slot back because the files are unmounted, or the connection is ended in another way.
fn is_unmounted(result: i32) -> bool {
    matches!(
        -result,
        libc::ENOTCONN | libc::ECONNABORTED | libc::ECANCELED
    )
}

/// Answers a `struct fuse_read_in`: the size is behind the handle and the offset.
fn read(files: &RandomFiles, request: &Request, slot: &mut Slot) -> Result<usize, i32> {
    let bytes = slot.payload(word(&request.arguments, 16) as usize);
    let made = files.make(request.head.user, request.head.node, bytes);
    made.map(|()| bytes.len()).map_err(|error| error.code())
}

/// Answers a write by a `struct fuse_write_out`: the size, and four bytes.
fn write(files: &RandomFiles, request: &Request, slot: &mut Slot) -> Result<usize, i32> {
    let data = slot.payload(request.payload_bytes as usize);
    let (length, mixed) = (data.len() as u32, files.mix(request.head.node, data));
    mixed.map_err(|error| error.code())?;
    let answer = slot.payload(8);
    let [size, padding] = [length, 0].map(u32::to_ne_bytes);
    answer.copy_from_slice(&[size, padding].concat());
    Ok(answer.len())
}

fn pass_on(relay: &Relay, request: &Request, slot: &mut Slot) -> Result<usize, i32> {
    let answer = relay.ask(request, slot.payload(request.payload_bytes as usize))?;
    let payload = slot.payload(answer.len());
    payload.copy_from_slice(&answer);
    Ok(payload.len())
}

fn word(arguments: &[u8], at: usize) -> u32 {
    let bytes = arguments[at..at + 4].try_into();
    u32::from_ne_bytes(bytes.unwrap_or_default())
}

/// The number of CPUs in a list such as `0-3`. None if there are gaps between their numbers.
fn possible_cpus(list: &str) -> Option<u16> {
    let list = list.trim();
    let (first, last) = list.split_once('-').unwrap_or((list, list));
    let last: u16 = last.parse().ok()?;
    last.checked_add(1).filter(|_| first == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_counted_if_there_are_no_gaps_between_them() {
        assert_eq!(possible_cpus("0\n"), Some(1));
        assert_eq!(possible_cpus("0-127\n"), Some(128));
        for wrong in ["", "a", "0,4-7", "0-3,8", "1-3", "3", "0-65535", "0-1-2"] {
            assert_eq!(possible_cpus(wrong), None, "{wrong}");
        }
    }
}
