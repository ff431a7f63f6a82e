//! Passes requests of the queues on to the library `fuser`, as if they had come from /dev/fuse: all but reads and writes,
//! so that every request has one handler.

use super::random_files::RandomFiles;
use super::slot::{AnswerHead, Request, RequestHead};
use fuser::{BackgroundSession, Config, Session, SessionACL};
use rustix::io::{Errno, IoSlice};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, recv,
    sendmsg, socketpair,
};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

/// `FUSE_INIT` of version 7.31, with no capability.
const INIT: u32 = 26;
const VERSION: [u32; 2] = [7, 31];

/// The most bytes of a request. Only writes are longer. The system lets a socket hold more.
const MOST_BYTES: usize = 128 << 10;

#[derive(Debug)]
pub(super) struct Relay {
    /// The lock is held from a request to its answer.
    line: Mutex<Line>,
    /// Its thread ends when the socket is closed.
    _session: BackgroundSession,
}

/// A socket, of which one message is one request or one answer.
#[derive(Debug)]
struct Line {
    socket: OwnedFd,
    /// Memory for answers. All threads share it: each would keep as much otherwise.
    answer: Vec<u8>,
}

impl Relay {
    /// Starts the thread that answers.
    pub(super) fn start(files: RandomFiles) -> io::Result<Self> {
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None)?;
        let mut arguments = [0; 64];
        for (bytes, word) in arguments.chunks_exact_mut(4).zip(VERSION) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        let head = RequestHead {
            length: (size_of::<RequestHead>() + arguments.len()) as u32,
            operation: INIT,
            unique: 1,
            ..RequestHead::default()
        };
        send(&ours, &head, &arguments, &[])?;
        // It reads this request and answers it.
        let session = Session::from_fd(files, theirs, SessionACL::All, Config::default())?;
        let (read, _) = recv(&ours, &mut [0; 128][..], RecvFlags::empty())?;
        if read < size_of::<AnswerHead>() {
            return Err(ErrorKind::InvalidData.into());
        }
        let line = Mutex::new(Line {
            socket: ours,
            answer: vec![0; MOST_BYTES],
        });
        Ok(Self {
            line,
            _session: session.spawn()?,
        })
    }

    /// Passes a request and its payload on, and returns the payload of the answer or its error number.
    pub(super) fn ask(&self, request: &Request, payload: &[u8]) -> Result<Vec<u8>, i32> {
        let answered = self.exchange(request, payload);
        let (error, answer) = answered.map_err(Errno::raw_os_error)?;
        if error == 0 { Ok(answer) } else { Err(error) }
    }

    fn exchange(&self, request: &Request, payload: &[u8]) -> Result<(i32, Vec<u8>), Errno> {
        let known = size_of::<RequestHead>() + payload.len();
        let arguments = (request.head.length as usize).checked_sub(known);
        let arguments = arguments.and_then(|length| request.arguments.get(..length));
        let arguments = arguments.filter(|_| payload.len() <= MOST_BYTES);
        let arguments = arguments.ok_or(Errno::INVAL)?;
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let Line { socket, answer } = &mut *line;
        send(socket, &request.head, arguments, payload)?;
        let (length, _) = recv(&*socket, &mut answer[..], RecvFlags::empty())?;
        let (head, payload) = answer[..length]
            .split_at_checked(size_of::<AnswerHead>())
            .ok_or(Errno::IO)?;
        let error = head[4..8].try_into().map(i32::from_ne_bytes);
        Ok((error.map_err(|_| Errno::IO)?, payload.to_vec()))
    }
}

fn send(
    socket: &OwnedFd,
    head: &RequestHead,
    arguments: &[u8],
    payload: &[u8],
) -> Result<(), Errno> {
    let head = head.bytes();
    let parts = [&head, arguments, payload].map(IoSlice::new);
    let flags = SendFlags::NOSIGNAL;
    sendmsg(socket, &parts, &mut SendAncillaryBuffer::default(), flags).map(drop)
}
