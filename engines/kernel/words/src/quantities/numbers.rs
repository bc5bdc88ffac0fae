//! Numbers in a text, with the unit after them.

use super::units::{UNITS, Unit};

/// Longest text that is searched, in bytes.
const MAX_TEXT: usize = 4 * 1024 * 1024;

/// A number that stands in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// First byte of the number.
    pub start: usize,
    /// End of the number and its unit.
    pub end: usize,
    /// Value, in its unit.
    pub value: f64,
    /// Unit; `None` if no known unit follows.
    pub unit: Option<&'static Unit>,
    /// Whether a unit follows that is not known, such as the `km/day` of "5 km/day".
    pub unknown_unit: bool,
}

/// Words before a number that make it a bound.
const BOUNDS: &[&str] = &[
    "over",
    "under",
    "above",
    "below",
    "least",
    "most",
    "than",
    "exceeds",
    "exceeding",
    "beyond",
    "maximum",
    "minimum",
    "max",
    "min",
    "within",
    "not",
    "if",
    "until",
    "after",
    "before",
    "<",
    ">",
    "<=",
    ">=",
    "≤",
    "≥",
];

/// Words between two numbers that make them a range.
const RANGES: &[&str] = &["to", "and", "or", "-", "–", "—", "..", "...", "±", "+/-", "/", "x", "×", "by"];

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Returns the numbers of a text that have one reading, in order. A text of more than 4 MiB has none.
pub fn quantities(text: &str) -> Vec<Quantity> {
    if text.len() > MAX_TEXT {
        return Vec::new();
    }
    let mut found: Vec<(Quantity, bool)> = Vec::new();
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if !bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
            continue;
        }
        let (end, read) = token(text, at);
        if let Some(quantity) = read {
            let plain = !is_bound(text, quantity.start);
            found.push((quantity, plain));
        }
        at = end.max(at + 1);
    }
    // The two numbers of a range have no reading of their own.
    let dimension = |quantity: &Quantity| quantity.unit.map(|unit| unit.dimension);
    let ranges: Vec<bool> = found
        .windows(2)
        .map(|pair| {
            let [(before, _), (after, _)] = pair else { return false };
            let between = text.get(before.end..after.start).unwrap_or_default().trim();
            // "between 10 and 20", but "10 m and 20 s" are two.
            let same = before.unit.is_none() || dimension(before) == dimension(after);
            (RANGES.contains(&between) || between == "−") && (same || between != "and")
        })
        .collect();
    for (at, (_, plain)) in found.iter_mut().enumerate() {
        let joined = |at: Option<usize>| at.and_then(|at| ranges.get(at)).copied().unwrap_or_default();
        *plain &= !joined(Some(at)) && !joined(at.checked_sub(1));
    }
    found.into_iter().filter(|(_, plain)| *plain).map(|(quantity, _)| quantity).collect()
}

/// Reads the token with digits at a place: its end, and the number that it is.
fn token(text: &str, first: usize) -> (usize, Option<Quantity>) {
    let before = text.get(..first).unwrap_or_default();
    let mut end = first;
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    while digit(end) || (matches!(bytes.get(end), Some(b'.' | b',' | b'\'' | b':' | b'/' | b'-')) && digit(end + 1)) {
        end += 1;
    }
    let mut raw = text.get(first..end).unwrap_or_default();
    // "3.5e6"
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digit(end + 1 + sign) {
            end += 1 + sign;
            while digit(end) {
                end += 1;
            }
            raw = text.get(first..end).unwrap_or_default();
        }
    }
    let (start, negative, attached) = sign(before, first);
    // Identifiers, as B12 or v2, have no value, nor have "ø5" or "#7".
    if attached {
        return (end, None);
    }
    let Some(mut value) = value(raw) else { return (end, None) };
    if negative {
        value = -value;
    }
    let rest = text.get(end..).unwrap_or_default();
    let (times, taken) = multiplier(rest);
    let after_number = end + taken;
    value *= times;
    let rest = text.get(after_number..).unwrap_or_default();
    match unit_after(rest, taken > 0) {
        UnitText::Known(unit, taken) => {
            let end = after_number + taken;
            (end, Some(Quantity { start, end, value, unit: Some(unit), unknown_unit: false }))
        }
        UnitText::Unknown => {
            (after_number, Some(Quantity { start, end: after_number, value, unit: None, unknown_unit: true }))
        }
        UnitText::None if is_day(before, rest) => (after_number, None),
        UnitText::None => {
            (after_number, Some(Quantity { start, end: after_number, value, unit: None, unknown_unit: false }))
        }
        UnitText::PartOfWord => (after_number, None),
    }
}

/// Returns where a number with its sign begins, whether it is negative, and whether it is attached to a word.
fn sign(before: &str, first: usize) -> (usize, bool, bool) {
    let Some(last) = before.chars().next_back() else { return (first, false, false) };
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '#' | '.' | ',' | '/' | '\\' | '@' | '$' | '€' | '£');
    if !matches!(last, '-' | '−' | '+') {
        return (first, false, word(last));
    }
    let start = first - last.len_utf8();
    match before.get(..start).and_then(|before| before.chars().next_back()) {
        None => (start, last != '+', false),
        Some(c) if c.is_whitespace() || matches!(c, '(' | '[' | '=' | ':' | ',' | '|' | '"') => {
            (start, last != '+', false)
        }
        // "F-16", "2-3"
        Some(_) => (start, false, true),
    }
}

/// Returns the value of digits with points, commas and apostrophes; `None` if they have no single reading.
fn value(raw: &str) -> Option<f64> {
    if raw.contains([':', '/', '-']) && !raw.contains(['e', 'E']) {
        return None;
    }
    if raw.matches('.').count() > 1 {
        return None;
    }
    let (mantissa, _) = raw.split_once(['e', 'E']).unwrap_or((raw, ""));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let separated = whole.contains([',', '\'']);
    if separated {
        let mut groups = whole.split([',', '\'']);
        let lead = groups.next().unwrap_or_default();
        if !(1..=3).contains(&lead.len()) || lead == "0" || groups.any(|group| group.len() != 3) {
            return None;
        }
    }
    if fraction.contains([',', '\'']) {
        return None;
    }
    let plain: String = raw.chars().filter(|c| !matches!(c, ',' | '\'')).collect();
    plain.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Reads a word that multiplies: its factor and length.
fn multiplier(rest: &str) -> (f64, usize) {
    let trimmed = rest.trim_start_matches([' ', '\u{a0}']);
    let skipped = rest.len() - trimmed.len();
    for (word, factor) in [("million", 1e6), ("billion", 1e9), ("thousand", 1e3), ("hundred", 1e2)] {
        if let Some(head) = trimmed.get(..word.len())
            && head.eq_ignore_ascii_case(word)
            && trimmed.get(word.len()..).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        {
            return (factor, skipped + word.len());
        }
    }
    (1.0, 0)
}

enum UnitText {
    Known(&'static Unit, usize),
    /// Something like a unit, as "km/day".
    Unknown,
    None,
    /// Letters directly after the number: "3rd".
    PartOfWord,
}

/// Reads the unit after a number, the longest spelling that ends with a word.
fn unit_after(rest: &str, after_word: bool) -> UnitText {
    let trimmed = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    let skipped = rest.len() - trimmed.len();
    // "a 30-m dam"
    let (trimmed, skipped) = match trimmed.strip_prefix('-') {
        Some(inner) if skipped == 0 && inner.starts_with(char::is_alphabetic) => (inner, 1),
        _ => (trimmed, skipped),
    };
    // "5 degrees" of what? A text may end a sentence: only one space or none stands before a unit.
    let mut best: Option<(&'static Unit, usize)> = None;
    let mut cut = false;
    for unit in UNITS {
        for spelling in unit.spellings {
            if !starts(trimmed, spelling) {
                continue;
            }
            let next = trimmed.get(spelling.len()..).unwrap_or_default().chars().next();
            let ends_in_letter = spelling.chars().next_back().is_some_and(char::is_alphanumeric);
            let continues = next
                .is_some_and(|c| (ends_in_letter && c.is_alphanumeric()) || matches!(c, '/' | '^' | '²' | '³' | '·'));
            if continues {
                let divided = next.is_some_and(|c| !c.is_alphanumeric());
                cut |= divided;
                continue;
            }
            if best.is_none_or(|(_, length)| spelling.len() > length) {
                best = Some((unit, spelling.len()));
            }
        }
    }
    match best {
        Some((unit, length)) => UnitText::Known(unit, skipped + length),
        None if cut => UnitText::Unknown,
        None if skipped == 0 && !after_word && rest.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
            UnitText::PartOfWord
        }
        None => UnitText::None,
    }
}

/// Whole words are compared without their case, symbols with it.
fn starts(text: &str, spelling: &str) -> bool {
    let Some(head) = text.get(..spelling.len()) else { return false };
    let word = spelling.len() > 4 && spelling.chars().all(|c| c.is_ascii_lowercase() || c == ' ');
    if word { head.eq_ignore_ascii_case(spelling) } else { head == spelling }
}

/// Whether the words before a number make it a bound.
fn is_bound(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default().trim_end();
    let last = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    if last.ends_with(['<', '>', '≤', '≥', '±', '~']) && !last.ends_with('~') {
        return true;
    }
    let last = last.to_lowercase();
    if BOUNDS.contains(&last.as_str()) {
        return true;
    }
    // "up to 20", "between 3"
    last == "between" || (last == "to" && before.trim_end_matches(['t', 'o', 'T', 'O']).trim_end().ends_with("up"))
}

/// Whether a bare number is part of a date: "3 May", "May 3".
fn is_day(before: &str, rest: &str) -> bool {
    let month = |word: &str| {
        let word: String = word.chars().take(3).collect::<String>().to_lowercase();
        MONTHS.contains(&word.as_str())
    };
    let capital = |word: &str| word.starts_with(char::is_uppercase);
    let next = rest.split_whitespace().next().unwrap_or_default();
    let last = before.split_whitespace().next_back().unwrap_or_default().trim_end_matches(',');
    (capital(next) && next.len() >= 3 && month(next))
        || (capital(last) && last.len() >= 3 && month(last) && last.len() <= 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(f64, Option<&'static str>, &str)> {
        quantities(text)
            .into_iter()
            .map(|quantity| {
                (quantity.value, quantity.unit.map(|unit| unit.symbol), &text[quantity.start..quantity.end])
            })
            .collect()
    }

    #[test]
    fn numbers_and_their_units_are_found() {
        for (text, value, unit, taken) in [
            ("A dam of 30 m holds", 30.0, Some("m"), "30 m"),
            ("winds of 120 km/h now", 120.0, Some("km/h"), "120 km/h"),
            ("1,250,000 people", 1_250_000.0, None, "1,250,000"),
            ("it holds 2.5 million m3.", 2_500_000.0, Some("m3"), "2.5 million m3"),
            ("-5.5 °C at dawn", -5.5, Some("degC"), "-5.5 °C"),
            ("−5 °C", -5.0, Some("degC"), "−5 °C"),
            ("temperature 38.5C", 38.5, Some("degC"), "38.5C"),
            ("a 10-km zone", 10.0, Some("km"), "10-km"),
            ("3.2e3 Pa", 3200.0, Some("Pa"), "3.2e3 Pa"),
            ("spo2: 91%", 91.0, Some("%"), "91%"),
            ("a 54 year old man", 54.0, Some("yr"), "54 year old"),
            ("12 Knots", 12.0, Some("kt"), "12 Knots"),
            ("creatinine 110 µmol/L", 110.0, Some("umol/L"), "110 µmol/L"),
        ] {
            assert_eq!(found(text), [(value, unit, taken)], "{text}");
        }
    }

    #[test]
    fn what_has_no_single_reading_is_left_out() {
        for text in [
            "10 to 20 m",
            "10-20 m",
            "10–20 m",
            "between 5 and 9 km",
            "over 200 people",
            "at least 3 days",
            "< 5 m",
            "≥5 m",
            "up to 40 km",
            "12:30",
            "2026-11-21",
            "3 May 2026",
            "B12",
            "PM2.5",
            "v1.2.3",
            "1.2.3",
            "3,5 m",
            "120/80",
            "3rd",
            "F-16",
            "$500",
            "x_3",
            "5 ± 1 m",
            "2 x 3 m",
            "10.0.0.1",
            "3'50",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn an_unknown_unit_is_reported_as_such() {
        let quantity = &quantities("5 km/day")[0];
        assert!(quantity.unknown_unit && quantity.unit.is_none());
        let quantity = &quantities("5 horses")[0];
        assert!(!quantity.unknown_unit && quantity.unit.is_none());
    }

    #[test]
    fn hostile_texts_end_soon() {
        for text in [
            "1".repeat(100_000),
            "1,".repeat(100_000),
            "-1".repeat(100_000),
            "1 m ".repeat(100_000),
            "1e9".repeat(50_000),
        ] {
            let _ = quantities(&text);
        }
        let _ = quantities(&"é1°".repeat(10_000));
    }
}
