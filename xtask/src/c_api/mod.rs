//! `c-api`: the header and the man pages of the C library, made from its Rust source.
//!
//! ```text
//! parse    doc comments, constants, structs and signatures, as they stand in the source
//! header   wellspring.h
//! manual   man pages of section 3
//! ```
//!
//! cbindgen would make the header as well. It is MPL-2.0, brings ten crates, and makes no man pages.

mod header;
mod manual;
mod parse;

use parse::Module;
use std::fs;
use std::path::Path;

/// The modules of the library in the order of the header: the file, the page, and what it is about.
const MODULES: [(&str, &str, &str); 5] = [
    (
        "error",
        "ws_strerror",
        "errors of the random-number library",
    ),
    ("fill", "ws_fill", "random bytes and numbers fit for keys"),
    (
        "engine",
        "ws_stats",
        "the state of the generator of the process",
    ),
    (
        "rng",
        "ws_rng",
        "random-number generators that the caller owns",
    ),
    (
        "stream",
        "ws_stream",
        "random streams that can be repeated, not for keys",
    ),
];

/// Writes the header and the pages, or only compares them.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let door = root.join("doors/wellspring-c");
    let modules = modules(&door)?;
    let mut made = vec![("include/wellspring.h".to_owned(), header::text(&modules))];
    made.extend(manual::pages(&modules).map(|(name, text)| (format!("man/{name}"), text)));
    for (name, text) in made {
        let path = door.join(name);
        if check {
            let present = fs::read_to_string(&path).unwrap_or_default();
            if present != text {
                return Err(format!(
                    "{} is not what the source says. Run: cargo xtask c-api",
                    path.display()
                ));
            }
        } else {
            let folder = path.parent().unwrap_or(&door);
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&path, text))
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn modules(door: &Path) -> Result<Vec<Module>, String> {
    let read = |&(file, page, about)| {
        let path = door.join("src").join(file).with_extension("rs");
        let source = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let items = parse::items(&source).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Module { page, about, items })
    };
    MODULES.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_and_the_man_pages_are_those_of_the_source() {
        run(&crate::chores::root(), true).unwrap();
    }
}
