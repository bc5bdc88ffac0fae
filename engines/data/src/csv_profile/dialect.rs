//! Detects delimiter and quote by the consistency score of van den Burg, Nazabal and Sutton (2019).

use std::collections::HashMap;

use super::cell::{self, Kind};

/// In order of preference for equal scores.
const DELIMITERS: [u8; 8] = *b",;\t|:^~ ";
const QUOTES: [u8; 2] = *b"\"'";
/// Maximum number of rows and bytes examined per candidate.
const MAX_ROWS: usize = 200;
const MAX_BYTES: usize = 64 * 1024;
/// Equation 2's alpha: weight of a row with one field.
const ALPHA: f64 = 1e-3;
/// Section 3.3's lower bound of the type score.
const BETA: f64 = 1e-10;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dialect {
    pub delimiter: u8,
    pub quote: u8,
}

impl Dialect {
    pub fn reader(self, text: &[u8]) -> csv::Reader<&[u8]> {
        let mut builder = csv::ReaderBuilder::new();
        builder.delimiter(self.delimiter).quote(self.quote).has_headers(false).flexible(true).from_reader(text)
    }
}

/// Returns the dialect with the highest score; the first of equal ones.
pub fn detect(text: &str, delimiter: Option<u8>) -> Dialect {
    let head = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or_default();
    // A record that is cut in the middle would count as a different row pattern.
    let head = if head.len() < text.len() { head.rsplit_once('\n').map_or(head, |(whole, _)| whole) } else { head };
    let mut best = (Dialect { delimiter: delimiter.unwrap_or(b','), quote: b'"' }, 0.0);
    for quote in QUOTES.into_iter().filter(|&quote| quote == b'"' || head.as_bytes().contains(&quote)) {
        for delimiter in DELIMITERS.into_iter().filter(|&known| delimiter.is_none_or(|chosen| chosen == known)) {
            let dialect = Dialect { delimiter, quote };
            let score = if head.as_bytes().contains(&delimiter) { score(dialect, head) } else { 0.0 };
            if score > best.1 {
                best = (dialect, score);
            }
        }
    }
    best.0
}

/// Q = P * T: the pattern score (equation 2) times the type score (equation 5).
fn score(dialect: Dialect, text: &str) -> f64 {
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    let (mut cells, mut known) = (0_usize, 0_usize);
    for record in dialect.reader(text.as_bytes()).records().take(MAX_ROWS).flatten() {
        *lengths.entry(record.len()).or_default() += 1;
        cells += record.len();
        known += record.iter().filter(|cell| is_known(cell)).count();
    }
    let worth = |length: usize| ALPHA.max(length.saturating_sub(1) as f64) / length.max(1) as f64;
    // Sorted, so that rounding is reproducible.
    let mut lengths: Vec<(usize, usize)> = lengths.into_iter().collect();
    lengths.sort_unstable();
    let pattern =
        lengths.iter().map(|&(length, rows)| rows as f64 * worth(length)).sum::<f64>() / lengths.len().max(1) as f64;
    pattern * BETA.max(known as f64 / cells.max(1) as f64)
}

/// Returns whether a cell has a common type: empty, a number, a time, an address, a few plain words.
fn is_known(cell: &str) -> bool {
    let text = cell.trim();
    if cell::is_missing(text) || cell::classify(text).0 != Kind::Text {
        return true;
    }
    let bare = text.trim_start_matches(['$', '€', '£']).trim_end_matches('%');
    let amount = bare.len() < text.len() && cell::classify(&bare.replace(',', "")).0.is_number();
    let url = ["http://", "https://", "ftp://", "mailto:"].iter().any(|scheme| text.starts_with(scheme));
    let plain = |letter: char| letter.is_alphanumeric() || " .-_/()&'!?+#@:".contains(letter);
    let words = text.chars().all(plain) && text.starts_with(|first: char| first.is_alphanumeric() || first == '(');
    let clock = text.len() <= 8 && text.contains(':') && text.chars().all(|c| c.is_ascii_digit() || c == ':');
    // A colon within words indicates a key and a value, or a time.
    amount || url || clock || (words && !text.contains(':'))
}
