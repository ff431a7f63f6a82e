//! The processors of virtual machines.

/// A virtual machine's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processor {
    X86_64,
    Arm64,
}

impl Processor {
    /// Debian's name of the architecture.
    pub(super) fn architecture(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Debian's package with QEMU for this processor, and the program in it.
    pub(super) fn qemu(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("qemu-system-x86", "qemu-system-x86_64"),
            Self::Arm64 => ("qemu-system-arm", "qemu-system-aarch64"),
        }
    }

    /// QEMU's machine.
    pub(super) fn machine(self) -> &'static str {
        match self {
            Self::X86_64 => "pc",
            Self::Arm64 => "virt",
        }
    }

    /// Rust's name of the target, and the start of the names of Debian's compilers and linkers for it.
    pub(super) fn target(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("x86_64-unknown-linux-gnu", ""),
            Self::Arm64 => ("aarch64-unknown-linux-gnu", "aarch64-linux-gnu-"),
        }
    }

    /// QEMU's model of an old one: without AES and AVX, or without RNDR and the atomic instructions of Armv8.1.
    pub(crate) fn oldest_model(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu64",
            Self::Arm64 => "cortex-a57",
        }
    }

    /// The kernel's name of a serial line, without its number.
    pub(super) fn serial_line(self) -> &'static str {
        match self {
            Self::X86_64 => "ttyS",
            Self::Arm64 => "ttyAMA",
        }
    }
}
