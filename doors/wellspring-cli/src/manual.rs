//! `completions SHELL` and `man`: both from the definitions of the command line.

use crate::args::{ManRequest, definitions};
use crate::failure::Failure;
use crate::output::Output;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io;

/// When the pages were last changed in more than wording.
const DATE: &str = "2026-11-21";

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definitions(), "wellspring", &mut text);
    print(&text)
}

/// Prints a page, or writes all pages.
pub(crate) fn man(request: &ManRequest) -> Result<(), Failure> {
    let mut whole = definitions();
    whole.build();
    if let Some(folder) = &request.output {
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
    print(&page(command).map_err(Failure::work)?)
}

/// A command and all below it.
fn commands(command: &clap::Command) -> Box<dyn Iterator<Item = &clap::Command> + '_> {
    let below = command.get_subcommands().flat_map(commands);
    Box::new(std::iter::once(command).chain(below))
}

/// `wellspring` or `wellspring-bytes`.
fn page_name(command: &clap::Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// A man page. The sections are clap_mangen's, except for what the help says at its end: there a title stands
/// over lines that stay as they are.
fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
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
    // Three breaks in a row, of which roff takes one and formatters complain about two.
    let page = String::from_utf8_lossy(&page).replace("\n.br\n\n.br\n", "\n.sp\n");
    Ok(page.into_bytes())
}

fn print(text: &[u8]) -> Result<(), Failure> {
    let mut output = Output::standard()?;
    output
        .write(text)
        .map_err(|error| output.failure(&error, ""))
}
