//! The list of kernels and the choice among them.

mod model;

use model::{COUNTER, KEY};
use std::collections::HashSet;
use std::panic::catch_unwind;
use wellspring_cipher::{Kernel, Keystream, Prf};

#[test]
fn detect_gives_the_first_available_kernel_of_its_function() {
    for prf in Prf::ALL {
        let detected = Kernel::detect(prf);
        assert_eq!(detected.prf(), prf);
        let first = model::kernels().find(|kernel| kernel.prf() == prf);
        assert_eq!(Some(detected), first);
    }
}

#[test]
fn every_function_has_a_kernel_for_every_machine() {
    assert!(Kernel::Aes256Portable.is_available());
    assert!(Kernel::ChaCha20Portable.is_available());
}

#[test]
fn every_kernel_has_its_own_name_that_begins_with_its_function() {
    let names: HashSet<_> = Kernel::ALL.iter().map(|kernel| kernel.name()).collect();
    assert_eq!(names.len(), Kernel::ALL.len());
    for kernel in Kernel::ALL {
        let function = kernel.name().split('-').next();
        assert_eq!(function, Some(kernel.prf().name()), "{kernel}");
    }
}

#[test]
fn a_kernel_the_cpu_lacks_is_refused_before_it_runs() {
    for kernel in Kernel::ALL.iter().filter(|kernel| !kernel.is_available()) {
        let made = catch_unwind(|| Keystream::new(*kernel, &KEY, COUNTER));
        assert!(made.is_err(), "{kernel} was set up on a CPU that lacks it");
    }
}

#[test]
fn debug_output_shows_neither_key_nor_counter() {
    for kernel in model::kernels() {
        let text = format!("{:?}", Keystream::new(kernel, &KEY, COUNTER));
        assert_eq!(text, "Keystream { .. }", "{kernel}");
    }
}

#[test]
fn function_names_are_read_back() {
    for prf in Prf::ALL {
        assert_eq!(prf.name().parse(), Ok(prf));
    }
    assert_eq!("aes".parse(), Ok(Prf::Aes256));
    assert_eq!("chacha".parse(), Ok(Prf::ChaCha20));
    assert!("aes128".parse::<Prf>().is_err());
}
