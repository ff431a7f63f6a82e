//! The library as C and C++ programs see it, also harsh ones.

use crate::{
    compile, has_header, is_installed, is_long, library_folder, run, run_script, scratch, succeeds,
    text,
};
use sha2::{Digest, Sha256};
use std::process::Command;

/// The first 16 bytes of the stream chacha8, seed 2026, path 3/0/17, as the Rust crate gives them.
fn stream_of_rust() -> Vec<u8> {
    use wellspring_pseudo::{Algorithm, Stream};
    let mut bytes = vec![0; 16];
    Stream::new(Algorithm::ChaCha8, 2026, &[3, 0, 17]).fill(&mut bytes);
    bytes
}

#[test]
fn every_function_and_every_error_is_as_the_header_says() {
    let Some(program) = compile("api.c", &[]) else {
        return;
    };
    let output = succeeds(&run(&program, &[]));
    let hex: String = stream_of_rust()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(output, format!("{hex}\n{}\n", env!("CARGO_PKG_VERSION")));
}

fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(' ')
        .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}

/// The distributions that C does not have.
const NOT_IN_C: &str = "laplace gumbel logistic rayleigh pareto power triangular vonmises wald f noncentral_chisquare \
     noncentral_f negative_binomial hypergeometric logseries zipf multivariate_hypergeometric";

/// The line that `answers.c` reads for a line of known answers; `None` for what C does not have: some types of integers, some
/// distributions.
fn question(line: &str) -> Option<String> {
    let kind = match line.split(' ').next()? {
        "" | "#" => return None,
        "array" => field(line, "kind")?,
        "integers" if field(line, "type") != Some("i64") => return None,
        kind if NOT_IN_C.split(' ').any(|one| one == kind) => return None,
        kind => kind,
    };
    let seed = u128::from_str_radix(field(line, "seed")?, 16).unwrap();
    let path = field(line, "path")?.split('/');
    let path: Vec<&str> = path.filter(|key| !key.is_empty()).collect();
    let zeros = " 0".repeat(3 - path.len());
    let names = ["parameters", "low", "high", "length"];
    let parameters = names.iter().filter_map(|name| field(line, name));
    let parameters: Vec<&str> = parameters
        .flat_map(|text| text.split_terminator(','))
        .collect();
    Some(format!(
        "{kind} {} {} {} {} {}{zeros} {} {} {} {}\n",
        field(line, "algorithm")?,
        seed as u64,
        seed >> 64,
        path.len(),
        path.join(" "),
        field(line, "first")?,
        field(line, "n")?,
        parameters.len(),
        parameters.join(" "),
    ))
}

#[test]
fn arrays_are_the_known_answers() {
    let Some(program) = compile("answers.c", &[]) else {
        return;
    };
    let files = [
        include_str!("../../../../vectors/pseudo-elements.txt"),
        include_str!("../../../../vectors/pseudo-distributions.txt"),
    ];
    let lines = files.iter().flat_map(|file| file.lines());
    let asked: Vec<_> = lines
        .filter_map(|line| Some((line, question(line)?)))
        .collect();
    // The files have 1024 lines. The integers of five other types are left out, and 160 lines of distributions.
    assert_eq!(asked.len(), 504);
    let questions: String = asked
        .iter()
        .map(|(_, question)| question.as_str())
        .collect();
    let path = scratch("elements").join("questions");
    std::fs::write(&path, questions).unwrap();
    let output = run(&program, &[path.to_str().unwrap()]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {errors}", output.status);
    let mut rest = &output.stdout[..];
    for (line, _) in asked {
        let (length, after) = rest.split_first_chunk().unwrap();
        let (numbers, after) = after.split_at(u64::from_le_bytes(*length) as usize);
        let digest = Sha256::digest(numbers);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(Some(&digest[..]), field(line, "sha256"), "{line}");
        rest = after;
    }
    assert!(rest.is_empty());
}

#[test]
fn arrays_refuse_bad_parameters_and_can_be_cut_and_scaled() {
    // Without products and sums that are rounded once, which the program would compare with two roundings.
    if let Some(program) = compile("elements.c", &["-ffp-contract=off"]) {
        succeeds(&run(&program, &[]));
    }
}

#[test]
fn a_null_generator_ends_the_process_and_does_not_unwind_into_c() {
    use std::os::unix::process::ExitStatusExt;
    let Some(program) = compile("api.c", &[]) else {
        return;
    };
    // Without `timeout` around it, which would turn the signal into a status.
    let output = Command::new(program)
        .arg("null")
        .env("LD_LIBRARY_PATH", library_folder())
        .output()
        .unwrap();
    assert_eq!(
        output.status.signal(),
        Some(libc::SIGABRT),
        "{}",
        text(&output)
    );
    assert!(text(&output).contains("the generator is a null pointer"));
}

#[test]
fn behind_a_filter_that_allows_write_and_exit_alone_every_read_goes_on() {
    let Some(program) = compile("sandbox.c", &[]) else {
        return;
    };
    let output = succeeds(&run(&program, &[]));
    if output == "no filter\n" {
        return testkit::skipped("no seccomp filter can be installed here");
    }
    assert_eq!(output, "alive\n");
    let output = succeeds(&run(&program, &["clone"]));
    assert!(
        output.contains("refused\n") && output.contains("alive\n"),
        "{output}"
    );
}

#[test]
fn the_first_call_of_a_program_takes_no_more_stack_than_is_promised() {
    const MAX_BYTES: usize = if cfg!(debug_assertions) {
        16 << 10
    } else {
        4 << 10
    };
    // Bound at start: else the binding of ws_fill would count too.
    let Some(program) = compile("stack.c", &["-Wl,-z,now"]) else {
        return;
    };
    for function in [
        "ws_fill",
        "long",
        "ws_u64",
        "ws_rng_new",
        "ws_stats",
        "ws_reseed",
    ] {
        let bytes = succeeds(&run(&program, &[function]));
        println!("{function}: {bytes}");
        assert!(
            bytes.trim().parse::<usize>().unwrap() < MAX_BYTES,
            "{function}: {bytes}"
        );
    }
}

#[test]
fn no_function_ends_the_process_for_want_of_memory() {
    if let Some(program) = compile("nomem.c", &[]) {
        succeeds(&run(&program, &[]));
    }
}

#[test]
fn the_static_library_links_and_works() {
    let archive = library_folder().join("libwellspring.a");
    let words = [archive.to_str().unwrap(), "-lgcc_s", "-ldl", "-lm"];
    if let Some(program) = compile("api.c", &words) {
        let output = Command::new(&program).output().unwrap();
        succeeds(&output);
        let needed = Command::new("ldd").arg(&program).output().unwrap();
        assert!(!text(&needed).contains("libwellspring"));
    }
}

/// As docs/start/c.md says, for programs with a static library of another Rust compiler.
#[test]
fn the_static_library_becomes_one_object_that_keeps_its_names_to_itself() {
    if !is_installed("ld") || !is_installed("objcopy") || !is_installed("readelf") {
        return;
    }
    let folder = scratch("object");
    let script = "ld -r --force-group-allocation --whole-archive \"$ARCHIVE\" -o wellspring.o && \
        objcopy --wildcard --keep-global-symbol='ws_*' wellspring.o && readelf -sW wellspring.o";
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(&folder)
        .env("ARCHIVE", library_folder().join("libwellspring.a"))
        .output()
        .unwrap();
    let symbols = succeeds(&output);
    let is_global = |line: &&str| line.contains(" GLOBAL ") || line.contains(" WEAK ");
    let global = symbols.lines().filter(is_global);
    let defined = global.filter(|line| !line.contains(" UND "));
    let names: Vec<&str> = defined
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    assert!(names.contains(&"ws_fill"), "{names:?}");
    let is_ours = |name: &&str| name.starts_with("ws_");
    assert!(names.iter().all(is_ours), "{names:?}");
    let object = folder.join("wellspring.o");
    // `-ldl` says that the words name the whole library.
    let words = [object.to_str().unwrap(), "-lgcc_s", "-ldl", "-lm"];
    if let Some(program) = compile("api.c", &words) {
        succeeds(&Command::new(&program).output().unwrap());
    }
}

#[test]
fn address_sanitizer_finds_nothing() {
    if !is_long("it takes seconds") || !is_installed("cc") {
        return;
    }
    let words = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    for source in ["api.c", "elements.c"] {
        if let Some(program) = compile(source, &words) {
            succeeds(&run(&program, &[]));
        }
    }
    if let Some(program) = compile("torture.c", &words) {
        // Without forks: the allocator of GCC 12's AddressSanitizer holds its own lock in a child if another thread
        // was in it during the fork, and the child waits without end.
        for step in ["timer", "cancels", "destructors"] {
            succeeds(&run(&program, &[step]));
        }
    }
}

#[test]
fn valgrind_finds_nothing() {
    if !is_long("it takes seconds") || !is_installed("valgrind") {
        return;
    }
    for (source, step) in [
        ("standard.cpp", ""),
        ("api.c", ""),
        ("elements.c", ""),
        ("torture.c", "destructors"),
    ] {
        if let Some(program) = compile(source, &[]) {
            let script = format!("valgrind --quiet --error-exitcode=9 \"$PROGRAM\" {step}");
            succeeds(&run_script(&program, &script));
        }
    }
}

#[test]
fn cpp_generators_fit_the_standard_library() {
    let Some(program) = compile("standard.cpp", &[]) else {
        return;
    };
    let output = succeeds(&run(&program, &[]));
    let first = u64::from_le_bytes(stream_of_rust()[..8].try_into().unwrap());
    assert_eq!(output, format!("{first:016x}\n"));
}

#[test]
fn libsodium_gsl_and_mbedtls_draw_on_the_library() {
    for (header, adapter, library) in [
        ("sodium.h", "-DUSE_SODIUM", "-lsodium"),
        ("gsl/gsl_rng.h", "-DUSE_GSL", "-lgsl"),
        ("mbedtls/ecp.h", "-DUSE_MBEDTLS", "-lmbedcrypto"),
    ] {
        if !has_header(header) {
            continue;
        }
        // GSL's matrices are in another library, which these programs do not use.
        let more = if library == "-lgsl" {
            "-lgslcblas"
        } else {
            "-lm"
        };
        if let Some(program) = compile("adapters.c", &[adapter, library, more, "-lm"]) {
            succeeds(&run(&program, &[]));
        }
    }
}

/// As version 4 does.
#[test]
fn psa_draws_on_the_library_where_its_generator_is_external() {
    if has_header("psa/crypto_extra.h") && has_header("mbedtls/ecp.h") {
        let external = "-DMBEDTLS_PSA_CRYPTO_EXTERNAL_RNG";
        let words = ["-DUSE_MBEDTLS", external, "-lmbedcrypto", "-lm"];
        if let Some(program) = compile("adapters.c", &words) {
            succeeds(&run(&program, &[]));
        }
    }
}

// In harsh programs: forks, signals, cancelled threads, unloading, tight limits.

/// Runs one step of `torture.c`.
fn torture(step: &str) {
    if let Some(program) = compile("torture.c", &[]) {
        succeeds(&run(&program, &[step]));
    }
}

#[test]
fn children_never_repeat_their_parent_while_8_threads_draw() {
    torture("forks");
}

#[test]
fn identifiers_repeat_in_no_child_thread_or_handler() {
    if let Some(program) = compile("torture.c", &["-DDOOR_IDENTIFIERS"]) {
        for step in ["forks", "spawns", "timer", "cancels", "destructors"] {
            succeeds(&run(&program, &[step]));
        }
    }
}

#[test]
fn vfork_and_posix_spawn_do_no_harm() {
    torture("spawns");
}

#[test]
fn a_handler_of_a_10_khz_timer_draws_and_repeats_nothing() {
    torture("timer");
}

#[test]
fn cancelled_threads_leave_no_lock_and_no_tap_behind() {
    torture("cancels");
}

#[test]
fn no_function_is_a_cancellation_point() {
    torture("cancelled_before");
}

#[test]
fn destructors_of_threads_and_of_the_process_draw() {
    torture("destructors");
}

#[test]
fn stacks_of_16_kib_are_enough() {
    torture("small_stacks");
}

#[test]
fn without_memory_there_is_an_error_and_afterwards_bytes() {
    torture("no_memory");
}

#[test]
fn loading_and_unloading_while_threads_draw_does_no_harm() {
    let Some(program) = compile("reload.c", &["-ldl"]) else {
        return;
    };
    let library = library_folder().join("libwellspring.so.0");
    succeeds(&run(&program, &[library.to_str().unwrap(), "ws_fill"]));
}

#[test]
fn what_threads_drew_is_nowhere_in_the_process_in_a_child_and_after_unloading() {
    // Bound at start: the linker's lazy binding writes all registers to the stack, with the last output in some of them.
    let Some(program) = compile("residue.c", &["-ldl", "-Wl,-z,now"]) else {
        return;
    };
    let library = library_folder().join("libwellspring.so.0");
    succeeds(&run(&program, &[library.to_str().unwrap()]));
}

#[test]
fn tight_limits_do_no_harm() {
    let Some(program) = compile("api.c", &[]) else {
        return;
    };
    for limit in ["-l 0", "-v 131072", "-s 128"] {
        succeeds(&run_script(
            &program,
            &format!("ulimit {limit} && exec \"$PROGRAM\""),
        ));
    }
    succeeds(&run(&program, &["descriptors"]));
}

/// As in gVisor, and on Linux before 4.14: threads, children and handlers, which draw meanwhile.
#[test]
fn a_kernel_that_does_not_wipe_a_child_does_no_harm() {
    use testkit::filter::{is_possible, without_wipes};
    if !is_possible() {
        return;
    }
    for (source, steps) in [
        ("api.c", &[""][..]),
        ("torture.c", &["forks", "timer", "cancels", "destructors"]),
    ] {
        let Some(program) = compile(source, &[]) else {
            return;
        };
        for step in steps {
            let mut command = Command::new("timeout");
            command
                .args(["--signal=KILL", "300"])
                .arg(&program)
                .args(step.split_whitespace())
                .env("LD_LIBRARY_PATH", library_folder());
            succeeds(&without_wipes(&mut command).output().unwrap());
        }
    }
}

#[test]
fn a_system_without_proc_and_sys_does_no_harm() {
    let Some(program) = compile("api.c", &[]) else {
        return;
    };
    let enter = "unshare --mount --map-root-user sh -c";
    let hide = "mount -t tmpfs none /proc && mount -t tmpfs none /sys";
    if !run_script(&program, &format!("{enter} '{hide}'"))
        .status
        .success()
    {
        eprintln!("SKIPPED: no file system can be mounted here");
        return;
    }
    let output = run_script(&program, &format!("{enter} '{hide} && exec \"$PROGRAM\"'"));
    assert!(output.status.success(), "{}", text(&output));
}
