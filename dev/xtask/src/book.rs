//! `book`: the pages as one book with a search, built by mdBook.
//!
//! mdBook makes pages of the files below one folder, and the book also has pages of the rooms. So this copies what
//! `docs/SUMMARY.md` lists, and the files to which those pages link, has mdBook make HTML of the copies, and looks up each
//! link of that HTML.

use crate::chores::tracked;
use crate::tidy::{outside_of_code, resolve, targets};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUMMARY: &str = "docs/SUMMARY.md";

/// Builds the book into `target/book/html`.
pub(crate) fn book(root: &Path) -> Result<(), String> {
    let copies = root.join("target/book");
    let source = copies.join("src");
    if source.exists() {
        fs::remove_dir_all(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    }
    let tracked: BTreeSet<String> = tracked(root)?.into_iter().collect();
    let summary = read(&root.join(SUMMARY))?;
    let pages: BTreeSet<String> = links(SUMMARY, &summary).collect();
    let forgotten = |path: &&String| {
        path.starts_with("docs/")
            && path.ends_with(".md")
            && *path != SUMMARY
            && !pages.contains(*path)
    };
    if let Some(path) = tracked.iter().find(forgotten) {
        return Err(format!("{SUMMARY} does not list {path}"));
    }
    for page in &pages {
        let text = read(&root.join(page))?;
        write(&source.join(index(page)), &with_indexes(&text))?;
        for target in links(page, &text).filter(|target| !target.ends_with(".md")) {
            if tracked.contains(&target) {
                write(&source.join(&target), &read(&root.join(&target))?)?;
            }
        }
    }
    write(
        &source.join("SUMMARY.md"),
        &from_the_root(&with_indexes(&summary)),
    )?;
    write(
        &copies.join("book.toml"),
        &read(&root.join("docs/book.toml"))?,
    )?;
    let built = Command::new("mdbook").arg("build").arg(&copies).status();
    let built = built.map_err(|error| format!("mdbook: {error}; cargo install --locked mdbook"))?;
    if !built.success() {
        return Err(format!("mdbook build: {built}"));
    }
    let html = copies.join("html");
    let broken = broken_links(&html)?;
    if broken.is_empty() {
        println!(
            "{} pages: {}",
            pages.len(),
            html.join("index.html").display()
        );
        return Ok(());
    }
    Err(format!(
        "{}\n{} broken links",
        broken.join("\n"),
        broken.len()
    ))
}

/// The files of the repository to which a page links.
fn links<'a>(page: &'a str, text: &'a str) -> impl Iterator<Item = String> + 'a {
    let all = outside_of_code(text).flat_map(|(_, line)| targets(line));
    let own = all.filter(|target| !target.contains("://") && !target.starts_with(['#', '/']));
    own.map(move |target| resolve(page, target.split('#').next().unwrap_or_default()))
}

/// The list of pages, whose links lead from `docs/`, with links that lead from the root of the repository.
fn from_the_root(summary: &str) -> String {
    let lines = summary.lines().map(|line| match line.split_once("](../") {
        Some((title, link)) => format!("{title}]({link}\n"),
        None => format!("{}\n", line.replace("](", "](docs/")),
    });
    lines.collect()
}

/// The name of a page in the book. mdBook makes `index.html` of a README.md, but leaves links to README.html as they are.
fn index(page: &str) -> String {
    page.replace("README.md", "index.md")
}

/// The text with the links to pages by their names in the book.
fn with_indexes(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (link, rest) = part.split_once(')').unwrap_or((part, ""));
        let end = if link.len() < part.len() { ")" } else { "" };
        format!("{text}]({}{end}{rest}", index(link))
    })
}

/// The links of the built pages that lead nowhere: no such file, or no such place in it.
fn broken_links(html: &Path) -> Result<Vec<String>, String> {
    let mut broken = Vec::new();
    for page in html_files(html)? {
        // The page for a wrong address has its links from the root of a site.
        if page.ends_with("404.html") {
            continue;
        }
        let text = read(&page)?;
        for target in ["href=\"", "src=\""]
            .iter()
            .flat_map(|attribute| text.split(attribute).skip(1))
        {
            let target = target.split('"').next().unwrap_or_default();
            if target.contains("://")
                || target.starts_with("mailto:")
                || target.starts_with("data:")
            {
                continue;
            }
            let (file, place) = target.split_once('#').unwrap_or((target, ""));
            let folder = page.parent().unwrap_or(html);
            let file = if file.is_empty() {
                page.clone()
            } else {
                folder.join(file)
            };
            let is_there = file.is_file()
                && (place.is_empty() || read(&file)?.contains(&format!("id=\"{place}\"")));
            if !is_there {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    Ok(broken)
}

/// All pages below a folder.
fn html_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(html_files(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            found.push(path);
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_pages_leads_from_the_root_and_to_the_names_of_the_book() {
        let summary =
            "# The book\n[a](../README.md)\n- [b](start/rust.md)\n    - [c](../engine/README.md)\n";
        let expected =
            "# The book\n[a](index.md)\n- [b](docs/start/rust.md)\n    - [c](engine/index.md)\n";
        assert_eq!(from_the_root(&with_indexes(summary)), expected);
        assert_eq!(
            with_indexes("README.md [a](x/README.md#b) (README.md"),
            "README.md [a](x/index.md#b) (README.md"
        );
    }

    #[test]
    fn links_to_missing_pages_and_places_are_found_and_no_others() {
        let folder = std::env::temp_dir().join(format!("xtask-book-{}", std::process::id()));
        let page = |name: &str, text: &str| write(&folder.join(name), text).unwrap();
        page("a/other.html", "<h1 id=\"here\">");
        page("a/picture.svg", "");
        page(
            "index.html",
            "<a href=\"a/other.html#here\"> <a href=\"https://example.com/x\"> <img src=\"a/picture.svg\">
             <a href=\"#top\" id=\"top\">",
        );
        let sound = broken_links(&folder);
        page(
            "a/bad.html",
            "<a href=\"other.html#there\"> <a href=\"none.html\"> <a href=\"../a\"> <a href=\"#nowhere\">",
        );
        let broken = broken_links(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(sound.unwrap(), [""; 0]);
        assert_eq!(broken.unwrap().len(), 4);
    }
}
