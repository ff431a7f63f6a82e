//! The configuration of the service from any text: no panic, every fault has a place in the text, and what is right is
//! printed and read again as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use wellspring_service_core::config::parse;

fuzz_target!(|text: &str| {
    match parse(Path::new("x"), text) {
        Ok(config) => {
            let printed = toml::to_string_pretty(&config).expect("it can be printed");
            assert_eq!(
                parse(Path::new("x"), &printed).expect("it is right"),
                config
            );
        }
        Err(fault) => {
            let (line, _) = fault.place().expect("a place");
            assert!(line <= text.matches('\n').count() + 1);
            assert!(!fault.to_string().contains('\n'));
        }
    }
});
