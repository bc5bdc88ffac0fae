//! Reader of the tables in `data/`: lines of numbers after a head and comments.

/// Returns the cells of each line; comments (`#`) and the line of names are left out.
pub fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.skip(1).map(|line| line.split(',').map(str::trim).collect())
}

/// Returns a cell as a number; NaN where there is none, which tests of the tables find.
pub fn number(row: &[&str], at: usize) -> f64 {
    row.get(at).and_then(|cell| cell.parse().ok()).unwrap_or(f64::NAN)
}
