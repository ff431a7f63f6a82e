//! `completions SHELL` and `man`: both are made from the definitions of the command line.

use crate::streams::{Failure, Output};
use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io;
use std::path::PathBuf;

/// The date in the pages: of the last change in what the command does.
const DATE: &str = "2026-11-27";

/// Print the completions of a shell
#[derive(Args)]
pub(crate) struct CompletionsRequest {
    /// The shell
    shell: Shell,
}

/// Print the man page
///
/// Of the command, or of one of its subcommands.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring man | man -l -
  wellspring man --output /usr/local/share/man/man1")]
pub(crate) struct ManRequest {
    /// The subcommand: bytes, seed, seed-show, ..
    subcommand: Option<String>,

    /// Write all pages into this folder: wellspring.1, wellspring-bytes.1, ..
    ///
    /// A folder that does not exist is made.
    #[arg(long, short, value_name = "FOLDER", conflicts_with = "subcommand")]
    output: Option<PathBuf>,
}

/// Prints the completions of a shell.
pub(crate) fn completions(
    request: &CompletionsRequest,
    mut definitions: clap::Command,
) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(request.shell, &mut definitions, "wellspring", &mut text);
    Output::standard()?.print(&String::from_utf8_lossy(&text))
}

/// Prints a page, or writes all pages.
pub(crate) fn man(request: &ManRequest, mut whole: clap::Command) -> Result<(), Failure> {
    whole.build();
    // The other pages say what `help` prints.
    let whole = whole.mut_subcommand("help", |help| help.hide(true));
    if let Some(folder) = &request.output {
        // If a file is in its place, the system would say that it exists.
        let made = if folder.is_dir() || !folder.exists() {
            std::fs::create_dir_all(folder)
        } else {
            #[cfg(unix)]
            let error = rustix::io::Errno::NOTDIR.into();
            #[cfg(not(unix))]
            let error = std::io::ErrorKind::NotADirectory.into();
            Err(error)
        };
        made.map_err(|error| Failure::input(format!("{}: {error}", folder.display())))?;
        return commands(&whole).try_for_each(|command| {
            let path = folder.join(format!("{}.1", page_name(command)));
            let text = page(command).map_err(Failure::work)?;
            let written = std::fs::write(&path, text);
            written.map_err(|error| Failure::work(format!("{}: {error}", path.display())))
        });
    }
    let command = match &request.subcommand {
        None => &whole,
        Some(name) => {
            let unknown = || Failure::input(format!("no subcommand is called '{name}'"));
            let wanted = format!("wellspring-{name}");
            let mut commands = commands(&whole);
            let found = commands.find(|command| page_name(command) == wanted);
            found.ok_or_else(unknown)?
        }
    };
    Output::standard()?.print(&page(command).map_err(Failure::work)?)
}

/// A command and all its subcommands.
fn commands(command: &clap::Command) -> Box<dyn Iterator<Item = &clap::Command> + '_> {
    let shown = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set());
    let below = shown.flat_map(commands);
    Box::new(std::iter::once(command).chain(below))
}

/// `wellspring` or `wellspring-bytes`.
fn page_name(command: &clap::Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// A man page. The sections come from clap_mangen, except for the end of the help text (examples, exit status): its
/// title becomes the title of a section, and its lines stay as they are.
fn page(command: &clap::Command) -> io::Result<String> {
    let man = Man::new(command.clone())
        .title(page_name(command).to_uppercase())
        .date(DATE)
        .source(concat!("wellspring ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let end = command.get_after_help().map(ToString::to_string);
    if let Some((title, lines)) = end.as_deref().and_then(|end| end.split_once(":\n")) {
        let mut roff = Roff::new();
        roff.control("SH", [title.to_uppercase().as_str()]);
        roff.control("nf", [])
            .text([roman(lines)])
            .control("fi", []);
        roff.to_writer(&mut page)?;
    }
    // clap_mangen writes three breaks in a row, and formatters warn about two of them.
    Ok(String::from_utf8_lossy(&page).replace("\n.br\n\n.br\n", "\n.sp\n"))
}
