//! Numbers in prose. Pure.

/// A number with its precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figure {
    pub(super) value: f64,
    /// Half a unit of its last digit: the tolerance for rounding.
    pub(super) slack: f64,
    pub(super) percent: bool,
    /// Whether it was written with a sign.
    pub(super) signed: bool,
}

impl Figure {
    /// Returns whether the figure is compatible with a fact.
    pub(super) fn states(self, fact: f64) -> bool {
        let near = |value: f64, slack: f64, fact: f64| (value - fact).abs() <= slack + 1e-9 * fact.abs().max(1.0);
        let fact = if self.signed { fact } else { fact.abs() };
        near(self.value, self.slack, fact) || (self.percent && near(self.value / 100.0, self.slack / 100.0, fact))
    }

    /// Marks the figure as approximate: two of its digits are significant.
    pub(super) fn about(self) -> Self {
        let digits = self.value.abs().max(1e-12).log10().floor();
        Self { slack: self.slack.max(0.5 * 10f64.powf(digits - 1.0)), ..self }
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, slack: self.slack * factor, ..self }
    }
}

/// Suffixes that may follow a number without a space.
const UNITS: &[&str] = &[
    "ms", "s", "m", "h", "d", "b", "kb", "mb", "gb", "kib", "mib", "gib", "x", "px", "pt", "°", "°c", "km", "kg", "g",
    "cm", "mm",
];
const WORDS: &[(&str, f64)] = &[
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("thirteen", 13.0),
    ("fourteen", 14.0),
    ("fifteen", 15.0),
    ("sixteen", 16.0),
    ("seventeen", 17.0),
    ("eighteen", 18.0),
    ("nineteen", 19.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("seventy", 70.0),
    ("eighty", 80.0),
    ("ninety", 90.0),
];

/// Parses a number written as a word: `two` to `ninety`.
pub(super) fn word(text: &str) -> Option<Figure> {
    let found = WORDS.iter().find(|(word, _)| text.eq_ignore_ascii_case(word));
    found.map(|(_, value)| Figure { value: *value, slack: 0.0, percent: false, signed: false })
}

/// Parses `thousand` and similar words after a number.
pub(super) fn factor(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "hundred" => Some(1e2),
        "thousand" => Some(1e3),
        "million" | "millions" => Some(1e6),
        "billion" | "billions" => Some(1e9),
        _ => None,
    }
}

/// Parses a token as a number, with a sign or currency before it, thousands separators, and `%`, `k` or a unit after
/// it. Returns `None` for anything else, such as a date or a version.
pub(super) fn figure(token: &str) -> Option<Figure> {
    let token = token.trim_start_matches(['$', '€', '£', '~', '≈', '<', '>', '≤', '≥', '=']);
    let (signed, token) = match token.strip_prefix(['-', '−']) {
        Some(rest) => (Some(-1.0), rest),
        None => match token.strip_prefix('+') {
            Some(rest) => (Some(1.0), rest),
            None => (None, token),
        },
    };
    let token = token.trim_start_matches(['$', '€', '£']);
    let end = token.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '_' | '\u{202f}' | '’')));
    let (digits, unit) = token.split_at(end.unwrap_or(token.len()));
    let (value, decimals) = plain(digits)?;
    let slack = 0.5 * 10f64.powi(-decimals);
    let figure = Figure { value: value * signed.unwrap_or(1.0), slack, percent: false, signed: signed.is_some() };
    let unit = unit.to_lowercase();
    match unit.as_str() {
        "" => Some(figure),
        "%" => Some(Figure { percent: true, ..figure }),
        "k" => Some(figure.times(1e3)),
        unit if UNITS.contains(&unit) => Some(figure),
        _ => None,
    }
}

/// Parses digits with at most one point; commas, spaces and underscores are only allowed between groups of three.
fn plain(digits: &str) -> Option<(f64, i32)> {
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    if fraction.is_some_and(|fraction| fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let mut groups = whole.split([',', '_', '\u{202f}', '’']);
    let first = groups.next()?;
    let mut joined = first.to_owned();
    let mut grouped = false;
    for group in groups {
        if group.len() != 3 {
            return None;
        }
        grouped = true;
        joined.push_str(group);
    }
    if first.is_empty() || (grouped && first.len() > 3) || !joined.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let text = format!("{joined}.{}", fraction.unwrap_or("0"));
    let decimals = i32::try_from(fraction.map_or(0, str::len)).ok()?;
    Some((text.parse().ok()?, decimals))
}

/// Recognizes ordinals: `1st`, `2nd`, `3rd`, `4th`.
pub(super) fn is_ordinal(token: &str) -> bool {
    let digits = token.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let ending = token.get(digits.len()..).unwrap_or_default();
    (1..=2).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && matches!(ending, "st" | "nd" | "rd" | "th")
}
