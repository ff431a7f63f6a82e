//! The list of backends and the choice among them.

use crate::model::{self, COUNTER, KEY};
use std::collections::HashSet;
use std::panic::catch_unwind;
use wellspring_cipher::{Backend, Keystream, Prf};

#[test]
fn detect_gives_the_first_available_backend_of_its_function() {
    for prf in Prf::ALL {
        let detected = Backend::detect(prf);
        assert_eq!(detected.prf(), prf);
        let first = model::backends().find(|backend| backend.prf() == prf);
        assert_eq!(Some(detected), first);
    }
}

#[test]
fn every_function_has_a_backend_for_every_machine() {
    assert!(Backend::Aes256Portable.is_available());
    assert!(Backend::ChaCha20Portable.is_available());
}

#[test]
fn every_backend_has_its_own_name_that_begins_with_its_function() {
    let names: HashSet<_> = Backend::ALL.iter().map(|backend| backend.name()).collect();
    assert_eq!(names.len(), Backend::ALL.len());
    for backend in Backend::ALL {
        let function = backend.name().split('-').next();
        assert_eq!(function, Some(backend.prf().name()), "{backend}");
    }
}

#[test]
fn a_backend_the_cpu_lacks_is_refused_before_it_runs() {
    for backend in Backend::ALL
        .iter()
        .filter(|backend| !backend.is_available())
    {
        let made = catch_unwind(|| Keystream::new(*backend, &KEY, COUNTER));
        assert!(made.is_err(), "{backend} was set up on a CPU that lacks it");
    }
}

#[test]
fn debug_output_shows_neither_key_nor_counter() {
    for backend in model::backends() {
        let text = format!("{:?}", Keystream::new(backend, &KEY, COUNTER));
        assert_eq!(text, "Keystream { .. }", "{backend}");
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
