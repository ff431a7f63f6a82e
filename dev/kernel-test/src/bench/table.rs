//! Figures in columns.

/// A title, a head, rows and a note. Each column is as wide as its widest cell: names to the left, figures to the right.
pub(super) fn table(title: &str, head: &[&str], rows: Vec<Vec<String>>, note: &str) -> String {
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(rows).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let mut text = format!("{title}\n");
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            text += &match column {
                0 => format!("  {cell:width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    format!("{text}  {note}\n\n")
}

/// Three digits, or all there are before the point.
pub(super) fn digits(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_their_heads() {
        let rows = vec![vec!["x".into(), digits(10.04), digits(400.4)]];
        let text = table("T", &["", "a", "bbbb"], rows, "N");
        assert_eq!(text, "T\n        a  bbbb\n  x  10.0   400\n  N\n\n");
    }
}
