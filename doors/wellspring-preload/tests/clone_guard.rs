//! The guard of a copied process: OpenSSL without a provider, and the C library's generators.

mod common;

use common::{compile, compile_linked, is_installed, library, run, scratch};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};
use testkit::programs::has_header;
use wellspring::clone_detection::bump;
use wellspring_os::door_counters::{Door, DoorCounters, VARIABLE};

/// The names of the values that two copies have in common, and of all values.
fn copies(settings: &str, how: &str) -> Option<[BTreeSet<String>; 2]> {
    if !has_header("openssl/rand.h") {
        return None;
    }
    let program = compile_linked("clone_guard.c", &["-lcrypto", "-ldl"])?;
    let page = scratch("page").join("generation");
    bump(&page).unwrap();
    let page = page.display();
    let script =
        format!("export WELLSPRING_PAGE={page} {settings}; exec \"$PROGRAM\" {page} {how}");
    let run = run(&script, &program).succeeds();
    let text = String::from_utf8_lossy(&run.output.stdout).into_owned();
    let lines: Vec<BTreeSet<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    let name = |value: &&str| value.split('=').next().unwrap().to_owned();
    let common = lines[0].intersection(&lines[1]).map(name).collect();
    Some([common, lines[0].iter().map(name).collect()])
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.into()).collect()
}

#[test]
fn copies_draw_the_same_without_the_guard() {
    if let Some([common, all]) = copies("", "alone") {
        assert_eq!(common, all);
    }
}

#[test]
fn openssl_differs_after_a_notice_and_generators_with_a_seed_go_on() {
    if let Some([common, _]) = copies("WELLSPRING_CLONE_GUARD=1", "guarded") {
        assert_eq!(common, set(&["rand", "random", "drand48"]));
    }
}

#[test]
fn the_c_librarys_generators_differ_on_request() {
    if let Some([common, _]) = copies("WELLSPRING_CLONE_GUARD=rand", "guarded") {
        assert_eq!(common, set(&[]));
    }
}

/// A configuration by which OpenSSL's own generator takes its seed from the provider.
fn seeded_by_provider() -> String {
    let folder = scratch("provider");
    let provider = library().with_file_name("libwellspring_openssl.so");
    let text = format!(
        "openssl_conf = start\n[start]\nproviders = list\nrandom = generator\n[list]\ndefault = builtin\n\
         wellspring = ours\n[builtin]\nactivate = 1\n[ours]\nmodule = {}\nactivate = 1\n\
         [generator]\nseed = WELLSPRING-SEED\nseed_properties = provider=wellspring\n",
        provider.display()
    );
    let path = folder.join("openssl.cnf");
    fs::write(&path, text).unwrap();
    format!("OPENSSL_CONF={}", path.display())
}

#[test]
fn openssls_own_generator_on_our_seed_differs_only_with_the_guard() {
    let settings = seeded_by_provider();
    if let Some([common, all]) = copies(&settings, "alone") {
        assert_eq!(common, all);
    }
    let settings = format!("{settings} WELLSPRING_CLONE_GUARD=1");
    if let Some([common, _]) = copies(&settings, "guarded") {
        assert_eq!(common, set(&["rand", "random", "drand48"]));
    }
}

#[test]
fn an_unknown_word_starts_no_guard() {
    if let Some([common, all]) = copies("WELLSPRING_CLONE_GUARD=all", "alone") {
        assert_eq!(common, all);
    }
}

#[test]
fn a_process_with_the_guard_and_its_child_set_their_user() {
    if let Some(program) = compile("set_user.c") {
        let script = "export WELLSPRING_CLONE_GUARD=1; exec \"$PROGRAM\"";
        let _ = run(script, &program).succeeds();
    }
}

/// Waits for at most two minutes: only a failed test takes as long.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < limit, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_idle_nginx_takes_entropy_at_a_notice() {
    if !is_installed("nginx") {
        return;
    }
    let folder = scratch("nginx");
    let (page, counts) = (folder.join("page"), folder.join("counts"));
    bump(&page).unwrap();
    fs::write(&counts, [0; 4096]).unwrap();
    let counters = CString::new(counts.as_os_str().as_bytes()).unwrap();
    let counters = DoorCounters::open(&counters).unwrap();
    let socket = folder.join("s");
    let settings = format!(
        "daemon off; master_process off; pid n.pid; error_log stderr; events {{}} http {{ access_log off; \
         client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5; \
         server {{ listen unix:{}; return 200 $request_id; }} }}",
        socket.display()
    );
    fs::write(folder.join("nginx.conf"), settings).unwrap();
    let mut nginx = Command::new("timeout");
    nginx.args(["120", "env"]);
    nginx.arg(format!("LD_PRELOAD={}", library().display()));
    nginx.args(["nginx", "-p"]).arg(&folder);
    nginx.args(["-c", "nginx.conf"]);
    nginx.env("WELLSPRING_CLONE_GUARD", "1");
    nginx.env("WELLSPRING_PAGE", &page).env(VARIABLE, &counts);
    let mut nginx = nginx.stderr(Stdio::null()).spawn().unwrap();
    until("nginx does not listen", || {
        UnixStream::connect(&socket).is_ok()
    });
    let drawn = || counters.counts(Door::Getrandom).bytes + counters.counts(Door::Getentropy).bytes;
    let before = drawn();
    bump(&page).unwrap();
    until("OpenSSL took nothing", || drawn() > before);
    // timeout(1) passes the signal on.
    let killed = Command::new("kill").arg(nginx.id().to_string()).status();
    assert!(killed.unwrap().success());
    nginx.wait().unwrap();
}
