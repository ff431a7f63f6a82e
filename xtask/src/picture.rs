//! `picture`: draws `docs/flow.txt` as `docs/flow.svg`: columns of boxes, read from top to bottom.
//!
//! The drawing is 400 pixels wide, with letters of 11 pixels and more, so that it is legible on a telephone. It has a
//! background of its own and colours for dark mode.

use std::fmt::Write;
use std::fs;
use std::path::Path;

const TEXT: &str = "docs/flow.txt";
const DRAWING: &str = "docs/flow.svg";

// All sizes are in pixels.
const WIDTH: usize = 400;
const MARGIN: usize = 8;
const GUTTER: usize = 24;
const TITLE: usize = 30;
const BOX: usize = 56;
const GAP: usize = 18;
const LINE: usize = 14;

/// The longest title, line of a note in a box, and line below the columns, in characters. A character of 11 pixels is
/// at most 6.5 wide in common fonts.
const TITLE_COLUMNS: usize = 22;
const BOX_COLUMNS: usize = 26;
const LINK_COLUMNS: usize = 58;

const STYLE: &str = "\
.paper{fill:#fff}.box{fill:#eef3fb;stroke:#3b6ea8}.arrow{stroke:#444;fill:none}.link{stroke:#a8480b;fill:none;\
stroke-dasharray:4 3}.head{fill:#444}.linkhead{fill:#a8480b}text{fill:#111;font:11px sans-serif}.title{font-weight:bold;\
font-size:12px}.name{font:bold 13px monospace}\
@media(prefers-color-scheme:dark){.paper{fill:#14181d}.box{fill:#1f2a38;stroke:#7fb0ea}.arrow{stroke:#bbb}\
.head{fill:#bbb}.link{stroke:#ffa657}.linkhead{fill:#ffa657}text{fill:#eee}}";

/// Draws, or only compares.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let text = fs::read_to_string(root.join(TEXT)).map_err(|error| format!("{TEXT}: {error}"))?;
    let drawn = draw(&parse(&text)?)?;
    let path = root.join(DRAWING);
    if !check {
        return fs::write(path, drawn).map_err(|error| format!("{DRAWING}: {error}"));
    }
    match fs::read_to_string(path) {
        Ok(stored) if stored == drawn => Ok(()),
        Ok(_) => Err(format!(
            "{DRAWING} is not what {TEXT} says: run cargo xtask picture"
        )),
        Err(error) => Err(format!("{DRAWING}: {error}")),
    }
}

/// The content of the text.
#[derive(Debug, Default, PartialEq, Eq)]
struct Picture<'a> {
    columns: Vec<Column<'a>>,
    links: Vec<Link<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Column<'a> {
    title: &'a str,
    /// Names and notes.
    boxes: Vec<(&'a str, &'a str)>,
}

#[derive(Debug, PartialEq, Eq)]
struct Link<'a> {
    from: &'a str,
    to: &'a str,
    note: &'a str,
}

fn parse(text: &str) -> Result<Picture<'_>, String> {
    let mut picture = Picture::default();
    let lines = (1..).zip(text.lines());
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let fault = || format!("{TEXT}:{number}: a title, a box or a link is wanted: {line}");
        if let Some(title) = line.strip_prefix("way ") {
            let boxes = Vec::new();
            picture.columns.push(Column { title, boxes });
            continue;
        }
        let (name, note) = line.split_once(": ").ok_or_else(fault)?;
        if let Some(ends) = name.strip_prefix("link ") {
            let (from, to) = ends.split_once(" -> ").ok_or_else(fault)?;
            picture.links.push(Link { from, to, note });
        } else {
            let column = picture.columns.last_mut().ok_or_else(fault)?;
            column.boxes.push((name, note));
        }
    }
    Ok(picture)
}

/// The positions of the boxes.
struct Layout {
    box_width: usize,
    /// Rows of the longest column. Columns end in the same row.
    rows: usize,
}

impl Layout {
    fn left(&self, column: usize) -> usize {
        MARGIN + column * (self.box_width + GUTTER)
    }

    fn top(&self, column: &Column, row: usize) -> usize {
        MARGIN + TITLE + (self.rows - column.boxes.len() + row) * (BOX + GAP)
    }

    fn bottom(&self) -> usize {
        MARGIN + TITLE + self.rows * (BOX + GAP)
    }
}

fn draw(picture: &Picture) -> Result<String, String> {
    let columns = picture.columns.len().max(1);
    let layout = Layout {
        box_width: (WIDTH - 2 * MARGIN - (columns - 1) * GUTTER) / columns,
        rows: picture
            .columns
            .iter()
            .map(|column| column.boxes.len())
            .max()
            .unwrap_or(0),
    };
    let mut body = String::new();
    for (number, column) in picture.columns.iter().enumerate() {
        draw_column(&layout, number, column, &mut body)?;
    }
    let mut bottom = layout.bottom();
    for link in &picture.links {
        draw_link(&layout, picture, link, &mut body)?;
        let sentence = format!("{} \u{2192} {}: {}", link.from, link.to, link.note);
        for line in wrap(&sentence, LINK_COLUMNS) {
            bottom += LINE;
            text(&mut body, "note", MARGIN, bottom, &line);
        }
    }
    let height = bottom + MARGIN;
    let titles: Vec<&str> = picture.columns.iter().map(|column| column.title).collect();
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n{body}</svg>\n",
        escape(&titles.join("; "))
    ))
}

fn draw_column(
    layout: &Layout,
    number: usize,
    column: &Column,
    body: &mut String,
) -> Result<(), String> {
    let (left, width) = (layout.left(number), layout.box_width);
    let first = layout.top(column, 0);
    if column.title.chars().count() > TITLE_COLUMNS {
        return Err(format!(
            "{TEXT}: the title {} is longer than {TITLE_COLUMNS}",
            column.title
        ));
    }
    text(body, "title", left, first - 10, column.title);
    for (row, (name, note)) in column.boxes.iter().enumerate() {
        let top = layout.top(column, row);
        let _ = writeln!(
            body,
            "<rect class=\"box\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{BOX}\" rx=\"5\"/>"
        );
        text(body, "name", left + 7, top + 18, name);
        let lines = wrap(note, BOX_COLUMNS);
        if lines.len() > 2 {
            return Err(format!(
                "{TEXT}: the note of {name} is longer than two lines of {BOX_COLUMNS}"
            ));
        }
        for (line, words) in lines.iter().enumerate() {
            text(body, "note", left + 7, top + 33 + line * LINE, words);
        }
        if row > 0 {
            let (x, tip) = (left + width / 2, top - 1);
            let start = top - GAP;
            let _ = writeln!(
                body,
                "<path class=\"arrow\" d=\"M{x} {start}V{}\"/>",
                tip - 6
            );
            let _ = writeln!(body, "<path class=\"head\" d=\"M{x} {tip}l-4 -7h8z\"/>");
        }
    }
    Ok(())
}

/// From the right side of a box through the gutter to the left side of a box in the next column.
fn draw_link(
    layout: &Layout,
    picture: &Picture,
    link: &Link,
    body: &mut String,
) -> Result<(), String> {
    let find = |name: &str| {
        let places = picture.columns.iter().enumerate();
        let mut found = places.filter_map(|(number, column)| {
            let row = column.boxes.iter().position(|(other, _)| *other == name)?;
            Some((number, layout.top(column, row) + BOX / 2))
        });
        found
            .next()
            .ok_or_else(|| format!("{TEXT}: no box is called {name}"))
    };
    let ((from, start), (to, end)) = (find(link.from)?, find(link.to)?);
    if from + 1 != to {
        return Err(format!(
            "{TEXT}: a link leads from a column to the next one"
        ));
    }
    let (left, right) = (layout.left(from) + layout.box_width, layout.left(to));
    let (middle, tip) = (left + GUTTER / 2 - 3, right - 1);
    let _ = writeln!(
        body,
        "<path class=\"link\" d=\"M{left} {start}H{middle}V{end}H{}\"/>",
        tip - 6
    );
    let _ = writeln!(
        body,
        "<path class=\"linkhead\" d=\"M{tip} {end}l-7 -4v8z\"/>"
    );
    Ok(())
}

fn text(body: &mut String, class: &str, x: usize, y: usize, words: &str) {
    let _ = writeln!(
        body,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>",
        escape(words)
    );
}

/// Lines of at most `columns` characters, broken at spaces.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: &str = "# a picture\nway Left\na: first\nb: second\n\nway Right\nc: third & last\nlink b -> c: joined.\n";

    #[test]
    fn every_box_title_and_link_is_drawn() {
        let drawn = draw(&parse(FLOW).unwrap()).unwrap();
        for words in [
            "Left",
            "Right",
            "first",
            "second",
            "third &amp; last",
            "b \u{2192} c: joined.",
        ] {
            assert!(drawn.contains(&format!(">{words}<")), "{words}");
        }
        assert_eq!(drawn.matches("class=\"box\"").count(), 3);
        assert_eq!(drawn.matches("class=\"arrow\"").count(), 1);
        assert_eq!(drawn.matches("class=\"link\"").count(), 1);
    }

    #[test]
    fn columns_end_in_the_same_row() {
        let picture = parse(FLOW).unwrap();
        let layout = Layout {
            box_width: 180,
            rows: 2,
        };
        let [left, right] = &picture.columns[..] else {
            panic!()
        };
        assert_eq!(layout.top(left, 1), layout.top(right, 0));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        assert!(parse("a: no column\n").is_err());
        assert!(parse("way A\nno note\n").is_err());
        let draw = |text: &str| draw(&parse(text).unwrap());
        assert!(
            draw("way A\na: x\nlink a -> b: y\n").is_err(),
            "there is no b"
        );
        let long = "word ".repeat(20);
        assert!(
            draw(&format!("way A\na: {long}\n")).is_err(),
            "the note is too long"
        );
    }

    #[test]
    fn a_drawing_that_differs_from_its_text_is_found() {
        let root = std::env::temp_dir().join(format!("wellspring-picture-{}", std::process::id()));
        fs::create_dir_all(root.join("docs")).unwrap();
        fs::write(root.join(TEXT), FLOW).unwrap();
        assert!(run(&root, true).is_err(), "there is no drawing");
        run(&root, false).unwrap();
        assert!(run(&root, true).is_ok());
        fs::write(root.join(TEXT), FLOW.replace("third", "fourth")).unwrap();
        assert!(run(&root, true).is_err());
        fs::remove_dir_all(root).unwrap();
    }
}
