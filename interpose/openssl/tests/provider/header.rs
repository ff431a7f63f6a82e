//! OpenSSL's own header has the numbers and layouts in src/abi.rs. OpenSSL says nothing about a wrong one.

use std::process::{Command, Stdio};

/// Each constant of src/abi.rs that has a name in the header.
fn assertions() -> String {
    let source = include_str!("../../src/abi.rs");
    let mut lines = Vec::new();
    for line in source.lines() {
        let Some((name, value)) = line
            .strip_prefix("pub(crate) const ")
            .and_then(|rest| rest.split_once(": c_"))
            .and_then(|(name, rest)| Some((name, rest.split_once(" = ")?.1)))
        else {
            continue;
        };
        let value = value.trim_end_matches(';');
        let header_name = match name {
            "INTEGER" | "UNSIGNED_INTEGER" => format!("OSSL_PARAM_{name}"),
            "UTF8_POINTER" => "OSSL_PARAM_UTF8_PTR".into(),
            "OP_RAND" => "OSSL_OP_RAND".into(),
            "STATE_UNINITIALISED" | "STATE_READY" | "STATE_ERROR" => format!("EVP_RAND_{name}"),
            "TEARDOWN" | "GETTABLE_PARAMS" | "GET_PARAMS" | "QUERY_OPERATION" | "RANDOM_BYTES" => {
                format!("OSSL_FUNC_PROVIDER_{name}")
            }
            "YES" | "NO" => continue,
            _ => format!("OSSL_FUNC_{name}"),
        };
        // Headers of other versions have fewer.
        let guard = |name| match name {
            "RANDOM_BYTES" => ["#ifdef OSSL_FUNC_PROVIDER_RANDOM_BYTES\n", "\n#endif"],
            _ => [""; 2],
        };
        let [before, after] = guard(name);
        lines.push(format!(
            "{before}_Static_assert({header_name} == {value}, \"{name}\");{after}"
        ));
    }
    assert!(lines.len() > 25, "{lines:?}");
    lines.join("\n")
}

/// Sizes and places of the structs, as the Rust compiler lays out the same fields.
const LAYOUTS: &str = "
#include <stddef.h>
#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/evp.h>
#include <openssl/params.h>
_Static_assert(sizeof(OSSL_PARAM) == 40 && offsetof(OSSL_PARAM, return_size) == 32, \"Param\");
_Static_assert(offsetof(OSSL_PARAM, data) == 16 && offsetof(OSSL_PARAM, data_size) == 24, \"Param\");
_Static_assert(sizeof(OSSL_DISPATCH) == 16 && offsetof(OSSL_DISPATCH, function) == 8, \"Dispatch\");
_Static_assert(sizeof(OSSL_ALGORITHM) == 32 && offsetof(OSSL_ALGORITHM, implementation) == 16, \"Algorithm\");
";

fn compiles(source: &str) -> Result<(), String> {
    let mut compiler = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cc: {error}"))?;
    std::io::Write::write_all(&mut compiler.stdin.take().unwrap(), source.as_bytes()).unwrap();
    let output = compiler.wait_with_output().unwrap();
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn every_number_and_layout_is_that_of_the_header() {
    if compiles("#include <openssl/core_dispatch.h>\n").is_err() {
        eprintln!("SKIPPED: no C compiler, or no headers of OpenSSL 3");
        return;
    }
    let source = format!("{LAYOUTS}{}\n", assertions());
    compiles(&source).unwrap();
    // The test can fail: a wrong number does not compile.
    let wrong = source.replace(
        "OSSL_FUNC_RAND_GET_SEED == 18",
        "OSSL_FUNC_RAND_GET_SEED == 17",
    );
    assert_ne!(wrong, source);
    assert!(compiles(&wrong).is_err());
}
