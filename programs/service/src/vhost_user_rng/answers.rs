//! Answers to hypervisors, without sendmsg(2).
//!
//! The crate `vhost` answers by sendmsg(2), also where no descriptor goes with an answer. The sandbox refuses that call: its
//! arguments are in memory, where a filter does not see them. An attacker inside could hand out the listening sockets, send
//! to any socket that has a name, and connect by TCP (MSG_FASTOPEN). So the program has a sendmsg of its own, which the
//! linker prefers to the C library's. It uses writev(2) where that is enough; the rest is the kernel's to refuse.

use libc::{c_int, msghdr, ssize_t};

/// sendmsg(2). A broken connection raises no SIGPIPE: Rust's runtime ignores that signal.
///
/// # Safety
///
/// The message and all that it points to are valid, as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    let parts = unsafe { &*message };
    let is_plain = parts.msg_name.is_null() && parts.msg_control.is_null();
    if is_plain && flags == libc::MSG_NOSIGNAL {
        // SAFETY: the caller's promise for the parts. C libraries have their number as an int or as a size.
        return unsafe { libc::writev(socket, parts.msg_iov, parts.msg_iovlen as c_int) };
    }
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_sendmsg, socket, message, flags) as ssize_t }
}

#[cfg(test)]
mod tests {
    use crate::process::sandbox::restrict_calls;
    use std::io::{ErrorKind, Read};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use vmm_sys_util::sock_ctrl_msg::ScmSocket;

    /// By the trait that the crate `vhost` uses.
    #[test]
    fn in_the_sandbox_answers_arrive_and_descriptors_do_not() {
        let (mut client, service) = UnixStream::pair().unwrap();
        let sent = std::thread::spawn(move || {
            restrict_calls().unwrap();
            let parts: [&[u8]; 2] = [b"head", b"body"];
            let sent = service.send_with_fds(&parts, &[]).unwrap();
            let refused = service.send_with_fds(&parts, &[service.as_raw_fd()]);
            (sent, std::io::Error::from(refused.unwrap_err()).kind())
        });
        assert_eq!(sent.join().unwrap(), (8, ErrorKind::PermissionDenied));
        let mut bytes = Vec::new();
        client.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"headbody");
    }
}
