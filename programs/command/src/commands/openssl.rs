//! `openssl`: who seeds OpenSSL's own generator in a program, and a configuration with which wellspring does.
//!
//! A configuration cannot say what happened. OpenSSL takes the system's seed, without a word, where a name is wrong or a provider
//! is missing, and under the FIPS provider also where the first draw of a program is a key. So `check` runs the program with
//! counters in the provider and before the C library's getentropy(3), by which OpenSSL takes the system's seed, and reads them.

use crate::commands::run::{Report, preload, provider_path};
use crate::streams::{Failure, Output};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use wellspring_interpose::door_counters::{Counts, Door, VARIABLE};

/// Seed OpenSSL's own generator from wellspring, and see who seeds it
///
/// For programs that must keep OpenSSL's generator, or the generator of its FIPS provider.
#[derive(Args)]
#[command(
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wellspring openssl conf --fips > /etc/ssl/wellspring-fips.cnf
  OPENSSL_CONF=/etc/ssl/wellspring-fips.cnf wellspring openssl check
  OPENSSL_CONF=/etc/ssl/wellspring-fips.cnf wellspring openssl check -- curl -sI https://example.org"
)]
pub(crate) struct OpensslRequest {
    #[command(subcommand)]
    action: Action,
}

/// The action.
#[derive(Subcommand)]
enum Action {
    /// Print a configuration by which wellspring seeds OpenSSL's own generator
    ///
    /// It has the lines that the command `openssl` here understands: OpenSSL is asked for each line that only some versions know.
    Conf {
        /// For the FIPS provider: its generator, its algorithms, and seeds from wellspring
        #[arg(long)]
        fips: bool,

        /// The file that `openssl fipsinstall` made
        #[arg(
            long,
            value_name = "FILE",
            default_value = "/etc/ssl/fipsmodule.cnf",
            requires = "fips"
        )]
        fips_module: PathBuf,
    },
    /// Say who gave each seed to OpenSSL in a program, under the present OPENSSL_CONF
    ///
    /// Without a program: in `openssl rand`, `openssl genrsa` and `openssl ecparam -genkey`, as they are, and again without a
    /// source, when each must fail. The exit status is 1 if a seed was the system's, or if a draw went on without a source. A
    /// seed counts as the system's if the program calls getentropy(3): OpenSSL does, and few programs do so themselves.
    Check {
        /// Run the program with getrandom(2) refused to wellspring, which then has no seed to give: it must fail
        #[arg(long, requires = "words")]
        without_source: bool,

        /// The program and its arguments
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "PROGRAM"
        )]
        words: Vec<OsString>,
    },
}

pub(crate) fn run(request: &OpensslRequest) -> Result<(), Failure> {
    match &request.action {
        Action::Conf { fips, fips_module } => print_conf(fips.then_some(fips_module)),
        Action::Check {
            without_source,
            words,
        } => check(words, *without_source),
    }
}

// ---- check ----

/// The draws that are looked at without a program: bytes, a key after bytes, and a key as the first draw.
const DRAWS: [&str; 3] = [
    "openssl rand -hex 16",
    "openssl genrsa 2048",
    "openssl ecparam -name P-256 -genkey -noout",
];

fn check(words: &[OsString], without_source: bool) -> Result<(), Failure> {
    let mut output = Output::standard()?;
    let mut is_good = true;
    let mut look = |words: &[OsString], without_source, is_shown| {
        let seen = Seen::of(words, without_source, is_shown)?;
        let judged = if without_source {
            seen.judge_without_source()
        } else {
            seen.judge()
        };
        is_good &= judged.is_ok();
        let name: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let name = name.join(" ");
        let without = if without_source {
            ", without a source"
        } else {
            ""
        };
        output.print(&match judged {
            Ok(found) => format!("ok {name}{without}: {found}\n"),
            Err(fault) => format!("FAILED {name}{without}: {fault}\n"),
        })
    };
    if words.is_empty() {
        for draw in DRAWS {
            let words: Vec<OsString> = draw.split(' ').map(OsString::from).collect();
            look(&words, false, false)?;
            look(&words, true, false)?;
        }
    } else {
        look(words, without_source, true)?;
    }
    if is_good {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// The outcome of a program and its draws.
struct Seen {
    status: ExitStatus,
    is_counted: bool,
    /// From the seed source of the provider, from the system, and bytes of the provider's generator.
    seeds: Counts,
    systems: Counts,
    generator: Counts,
}

impl Seen {
    fn of(words: &[OsString], without_source: bool, is_shown: bool) -> Result<Self, Failure> {
        let (name, arguments) = words
            .split_first()
            .ok_or_else(|| Failure::input("no program is named"))?;
        let mut command = Command::new(name);
        command.args(arguments);
        preload(&mut command)?;
        let report = Report::start()?;
        command.env(VARIABLE, report.path());
        if !is_shown {
            command.stdin(Stdio::null()).stdout(Stdio::null());
            command.stderr(Stdio::null());
        }
        if without_source {
            // SAFETY: between fork and exec it makes two system calls.
            unsafe { command.pre_exec(refuse_getrandom) };
        }
        let status = command
            .status()
            .map_err(|error| Failure::input(format!("{}: {error}", Path::new(name).display())))?;
        let counters = report.counters();
        Ok(Self {
            status,
            is_counted: counters.programs() > 0,
            seeds: counters.counts(Door::ProviderSeed),
            systems: counters.counts(Door::Getentropy),
            generator: counters.counts(Door::Provider),
        })
    }

    /// Whether wellspring gave all seeds: who gave them.
    fn judge(&self) -> Result<String, String> {
        if !self.is_counted {
            return Err("it loads no library, so nothing is seen (static, or set-user-ID?)".into());
        }
        let system_calls = self.systems.calls + self.systems.failures;
        if system_calls > 0 {
            let (bytes, ours) = (self.systems.bytes, self.seeds.calls);
            return Err(format!(
                "seeds of the system: {system_calls} ({bytes} bytes); of wellspring: {ours}"
            ));
        }
        if self.seeds.failures + self.generator.failures > 0 {
            return Err("wellspring had no seed to give".into());
        }
        if !self.status.success() {
            return Err(format!("it failed, {}", self.status));
        }
        match (self.seeds, self.generator) {
            (seeds, _) if seeds.calls > 0 => Ok(format!(
                "seeds of wellspring: {} ({} bytes); of the system: none",
                seeds.calls, seeds.bytes
            )),
            (_, generator) if generator.calls > 0 => Ok(format!(
                "no seed; {} bytes from the generator WELLSPRING",
                generator.bytes
            )),
            _ => Err("it drew nothing by an OpenSSL that reads this configuration".into()),
        }
    }

    /// Whether the program failed, as it must where wellspring has no seed.
    fn judge_without_source(&self) -> Result<String, String> {
        if self.status.success() {
            return Err("it went on with a seed from elsewhere".into());
        }
        if self.seeds.failures + self.generator.failures == 0 {
            return Err("it failed, but did not ask wellspring for a seed".into());
        }
        Ok("it failed, as it must".into())
    }
}

/// Has getrandom(2) fail in this process and its children from now on where it is called without waiting, as engines call it:
/// OpenSSL would still get the system's seed.
fn refuse_getrandom() -> std::io::Result<()> {
    /// The places of the number and of the third argument in the kernel's `struct seccomp_data`.
    const NUMBER_OFFSET: u32 = 0;
    const FLAGS_OFFSET: u32 = 32 + if cfg!(target_endian = "big") { 4 } else { 0 };
    let step = |code: u32, otherwise, value| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: otherwise,
        k: value,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut steps = [
        step(load, 0, NUMBER_OFFSET),
        step(equal, 3, libc::SYS_getrandom as u32),
        step(load, 0, FLAGS_OFFSET),
        step(equal, 1, libc::GRND_NONBLOCK),
        step(answer, 0, refuse),
        step(answer, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: numbers, and a filter that lives for the call.
    let is_set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    };
    is_set
        .then_some(())
        .ok_or_else(std::io::Error::last_os_error)
}

// ---- conf ----

fn print_conf(fips_module: Option<&PathBuf>) -> Result<(), Failure> {
    let version = Command::new("openssl").arg("version").output();
    let version = version.map_err(|error| Failure::work(format!("openssl: {error}")))?;
    let version = String::from_utf8_lossy(&version.stdout);
    let version = version.split(" (").next().unwrap_or_default().trim();
    if let Some(file) = fips_module
        && !file.is_file()
    {
        return Err(Failure::input(format!(
            "{}: there is no such file: make it by `openssl fipsinstall -out {} -module .../ossl-modules/fips.so`",
            file.display(),
            file.display()
        )));
    }
    if is_known("wellspring_asks = yes")? {
        let reason = "openssl reads no configuration from /dev/stdin, so it cannot be asked what it knows (is /proc mounted?)";
        return Err(Failure::work(reason));
    }
    let mut random = String::new();
    // Without it the FIPS provider answers RAND_bytes by itself, from the system's seed: it names what is never loaded.
    for line in ["random_provider = none", "seed_strict = yes"] {
        let is_for_fips = line.starts_with("random_provider");
        if (fips_module.is_some() || !is_for_fips) && is_known(line)? {
            random += &format!("{line}\n");
        }
    }
    let text = conf(version, &provider_path()?, fips_module, &random);
    Output::standard()?.print(&text)
}

/// Whether OpenSSL here knows a line of the section of random numbers: others take it for an error of the whole section.
fn is_known(line: &str) -> Result<bool, Failure> {
    let mut openssl = Command::new("openssl")
        .arg("version")
        .env("OPENSSL_CONF", "/dev/stdin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Failure::work(format!("openssl: {error}")))?;
    let text = format!("config_diagnostics = 1\nopenssl_conf = s\n[s]\nrandom = r\n[r]\n{line}\n");
    if let Some(mut pipe) = openssl.stdin.take() {
        // An OpenSSL that does not read it all has found a fault.
        let _ = pipe.write_all(text.as_bytes());
    }
    Ok(openssl.wait().map_err(Failure::work)?.success())
}

/// The configuration. In OpenSSL 3.5 and later `random_provider` has an effect only if `random` comes before `providers`.
fn conf(version: &str, module: &Path, fips_module: Option<&PathBuf>, random: &str) -> String {
    let (kind, algorithms, providers, properties) = match fips_module {
        Some(_) => (
            " --fips",
            "alg_section = wellspring_algorithms\n",
            "fips = fips_sect\nbase = wellspring_on\n",
            "provider=wellspring,-fips",
        ),
        None => ("", "", "default = wellspring_on\n", "provider=wellspring"),
    };
    let mut text = format!(
        "\
# Made by `wellspring openssl conf{kind}`: wellspring seeds OpenSSL's own generator. For {version}:
# make it again for another version. `OPENSSL_CONF=this-file wellspring openssl check` shows who gives the seeds.
config_diagnostics = 1
openssl_conf = wellspring_openssl

[wellspring_openssl]
random = wellspring_random
providers = wellspring_providers
{algorithms}
[wellspring_providers]
{providers}wellspring = wellspring_provider

[wellspring_on]
activate = 1

[wellspring_provider]
module = {}
activate = 1

[wellspring_random]
seed = WELLSPRING-SEED
seed_properties = {properties}
{random}",
        module.display()
    );
    if let Some(file) = fips_module {
        text += &format!(
            "\n[wellspring_algorithms]\ndefault_properties = fips=yes\n\n.include {}\n",
            file.display()
        );
    }
    text
}
