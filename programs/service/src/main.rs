//! The program `wellspringd`.

use clap::{Args, Parser, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use wellspring_command_line::{is_shown, one_line, output_was_closed};
use wellspring_device_files::unmount_at_end;
use wellspring_service::{commands, config_reader, page, service, status};
use wellspring_service_core::config::{self, Config};
use wellspring_service_core::reseeder::reseed_kernel;

/// Random numbers for a whole host
///
/// Device files, sockets, metrics and a status page, from one engine. The service needs no configuration. If there is one, it
/// reads /etc/wellspring/wellspring.toml and conf.d/*.toml beside it. It stays in the foreground, logs to stderr, and ends at
/// SIGTERM or Ctrl-C. SIGHUP: reads the configuration again. SIGUSR1: all processes take new keys.
#[derive(Parser)]
#[command(
    name = "wellspringd",
    version,
    disable_help_subcommand = true,
    after_help = "\
Exit status:
  0  ended by a signal, or the configuration is right
  1  the service could not start, or none answers
  2  wrong arguments, or a wrong configuration"
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    /// The configuration [default: /etc/wellspring/wellspring.toml, if there is one]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,

    /// Check the configuration and the users, folders and files that it names, and end
    ///
    /// Run it as the user that starts the service.
    #[arg(long)]
    check_config: bool,

    /// Print the configuration with all defaults, and end
    #[arg(long)]
    print_config: bool,

    /// Unmount a folder when standard input ends: how the service starts its own helper
    #[arg(long, hide = true, value_name = "PATH")]
    unmount_at_end: Option<PathBuf>,

    /// Print the configuration for each byte of standard input: how the service starts its own helper
    #[arg(long, hide = true)]
    read_config_again: bool,

    /// Reseed the kernel for each message of standard input: how the service starts its own helper
    #[arg(long, hide = true)]
    reseed_kernel: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Ask the service that runs
    Status(StatusRequest),
}

#[derive(Args)]
struct StatusRequest {
    /// Print JSON, in one line; units are the last part of a key
    #[arg(long)]
    json: bool,

    /// Print one page of HTML for a browser, with a picture of the last day
    #[arg(long, conflicts_with = "json")]
    html: bool,

    /// Print it again every second, until Ctrl-C
    #[arg(long, conflicts_with = "html")]
    watch: bool,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return end_without_work(&error),
    };
    if let Some(path) = &arguments.unmount_at_end {
        return finish(unmount_at_end(path).map_err(|error| error.to_string()));
    }
    if arguments.reseed_kernel {
        return finish(reseed_kernel().map_err(|error| error.to_string()));
    }
    let path = arguments.config.as_deref();
    if arguments.read_config_again {
        return finish(config_reader::read_again(path).map_err(|error| error.to_string()));
    }
    let config = match config::load(path) {
        Ok(config) => config,
        Err(fault) => {
            eprintln!("wellspringd: {fault}");
            return ExitCode::from(2);
        }
    };
    if let Some(Command::Status(request)) = arguments.command {
        return finish(status(&config, &request));
    }
    if arguments.print_config {
        let text = toml::to_string_pretty(&config).map_err(|error| error.to_string());
        return finish(text.and_then(|text| print(&text)));
    }
    if arguments.check_config {
        return report(&commands::faults(&config));
    }
    finish(service::run(path, &config))
}

/// Prints the help or the version, or says in one line what is wrong with the arguments.
fn end_without_work(error: &clap::Error) -> ExitCode {
    let message = error.render().to_string();
    if is_shown(error) {
        return finish(print(&message));
    }
    eprintln!("wellspringd: {}", one_line(&message, "wellspringd"));
    ExitCode::from(2)
}

/// Ends with status 2 if the configuration names what this machine does not have.
fn report(faults: &[String]) -> ExitCode {
    for fault in faults {
        eprintln!("wellspringd: {fault}");
    }
    let user = rustix::process::geteuid();
    if !faults.is_empty() && !user.is_root() {
        let user = user.as_raw();
        eprintln!(
            "wellspringd: user {user} would find this: if root starts the service, check the configuration as root"
        );
    }
    if faults.is_empty() {
        // The status says the same where the standard output is closed.
        let _ = print("the configuration is right, and this machine has all that it names\n");
        ExitCode::SUCCESS
    } else {
        ExitCode::from(2)
    }
}

fn finish(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("wellspringd: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn print(text: &str) -> Result<(), String> {
    let failed = |reason: &dyn core::fmt::Display| format!("standard output: {reason}");
    if output_was_closed() {
        return Err(failed(&"it is closed"));
    }
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    printed.map_err(|error| failed(&error))
}

fn status(config: &Config, request: &StatusRequest) -> Result<(), String> {
    loop {
        let status = commands::status(config)?;
        let text = if request.json {
            format!("{status}\n")
        } else if request.html {
            page::html(&status)
        } else {
            status::text(&status)
        };
        if !request.watch {
            return print(&text);
        }
        // A terminal is cleared first; a pipe gets one status after the other.
        let clear = if request.json { "" } else { "\x1b[H\x1b[2J" };
        print(&format!("{clear}{text}"))?;
        std::thread::sleep(Duration::from_secs(1));
    }
}
