//! Commands for the guest, and their answers, on a second serial line that the kernel does not write to.

use super::cache::last_lines;
use super::outcome::{Result, at, failed};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Comes after each answer, before the exit status.
pub(super) const END: &str = "=ended ";

/// How often a wait checks its time limit.
const TICK: Duration = Duration::from_millis(100);

/// A byte stream to and from QEMU.
pub(super) struct Line {
    stream: UnixStream,
    /// Bytes that arrived and were not consumed.
    pending: Vec<u8>,
}

impl Line {
    /// Connects to a socket that QEMU opens within the time limit.
    pub(super) fn connect(path: &Path, limit: Duration) -> Result<Self> {
        let deadline = Instant::now() + limit;
        loop {
            match UnixStream::connect(path) {
                Ok(stream) => {
                    stream
                        .set_read_timeout(Some(TICK))
                        .map_err(at("a socket"))?;
                    return Ok(Self {
                        stream,
                        pending: Vec::new(),
                    });
                }
                Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(10)),
                Err(error) => return failed(format!("{}: {error}", path.display())),
            }
        }
    }

    /// Sends a line.
    pub(super) fn send(&mut self, text: &str) -> Result {
        self.stream
            .write_all(format!("{text}\n").as_bytes())
            .map_err(at("a command for the guest"))
    }

    /// Waits for `end` and returns what came before it.
    pub(super) fn until(&mut self, end: &str, limit: Duration) -> Result<String> {
        let deadline = Instant::now() + limit;
        let end = end.as_bytes();
        let mut looked_at = 0;
        loop {
            let from = looked_at.min(self.pending.len());
            let found = self.pending[from..]
                .windows(end.len())
                .position(|window| window == end);
            if let Some(position) = found {
                let text = String::from_utf8_lossy(&self.pending[..from + position]).into_owned();
                self.pending.drain(..from + position + end.len());
                return Ok(text);
            }
            looked_at = (self.pending.len() + 1).saturating_sub(end.len());
            if Instant::now() > deadline {
                return failed(format!(
                    "no answer in {} s; so far: {}",
                    limit.as_secs(),
                    self.recent()
                ));
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    return failed(format!(
                        "QEMU ended; the last output was: {}",
                        self.recent()
                    ));
                }
                Ok(count) => self.pending.extend(&bytes[..count]),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(error) => return failed(format!("the guest: {error}")),
            }
        }
    }

    fn recent(&self) -> String {
        last_lines(&String::from_utf8_lossy(&self.pending))
    }
}

/// The output of a command of the guest, and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) status: i32,
}

impl Answer {
    /// The answer that follows a command.
    pub(super) fn receive(line: &mut Line, limit: Duration) -> Result<Self> {
        let text = line.until(END, limit)?;
        let status = line.until("\n", Duration::from_secs(10))?;
        match status.trim().parse() {
            Ok(status) => Ok(Self {
                text: text.replace('\r', ""),
                status,
            }),
            Err(_) => failed(format!("an exit status of '{status}'")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_however_it_is_cut_and_what_follows_is_kept() {
        let (stream, mut guest) = UnixStream::pair().unwrap();
        stream.set_read_timeout(Some(TICK)).unwrap();
        let mut line = Line {
            stream,
            pending: Vec::new(),
        };
        let sender = thread::spawn(move || {
            for piece in ["one\r\ntw", "o\n=end", "ed 3", "\nnext=ended 0\n"] {
                guest.write_all(piece.as_bytes()).unwrap();
                thread::sleep(Duration::from_millis(20));
            }
        });
        let limit = Duration::from_secs(5);
        let answer = Answer::receive(&mut line, limit).unwrap();
        assert_eq!(
            answer,
            Answer {
                text: "one\ntwo\n".into(),
                status: 3
            }
        );
        let answer = Answer::receive(&mut line, limit).unwrap();
        assert_eq!(
            answer,
            Answer {
                text: "next".into(),
                status: 0
            }
        );
        sender.join().unwrap();
        assert!(
            Answer::receive(&mut line, limit).is_err(),
            "the other end is gone"
        );
    }
}
