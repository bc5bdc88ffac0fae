//! How a text names a parameter.

use std::ops::Range;

use crate::agent::parameter::Parameter;

/// Endings of names of parameters that are units.
const UNITS: &[&str] = &[
    "km2", "m3", "ha", "km", "mm", "m", "hpa", "kmh", "ms", "mmh", "gs", "c", "mhz", "dbm", "hours", "h", "minutes",
    "days", "s", "kg", "deg", "kpa", "cm", "km3", "gbq", "msv", "msvh", "kva", "litres", "ugm3", "mgl",
];

/// Most places of one label that are looked at.
const MAX_PLACES: usize = 64;

/// A place where a text names a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) span: Range<usize>,
    /// Whether it is the name with its unit, as `temperature_c`.
    pub(super) with_unit: bool,
}

/// Lower-cases ASCII, and writes `_` and `-` as spaces, so that bytes stay where they are.
pub(super) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '_' | '-' => ' ',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}

/// The phrases that name a parameter, and whether each has the unit.
pub(super) fn phrases(parameter: &Parameter) -> Vec<(String, bool)> {
    let whole = plain(&parameter.name);
    let mut found = Vec::new();
    let unit = whole.rsplit_once(' ').filter(|(_, unit)| UNITS.contains(unit) && !parameter.unit.is_empty());
    if let Some((stem, _)) = unit {
        found.push((stem.to_owned(), false));
    }
    // The name may be the unit: "days: 7".
    let has_unit = unit.is_some() || UNITS.contains(&whole.as_str());
    found.push((whole.clone(), has_unit));
    // "40 searcher hours", where the name ends in the unit.
    let ends_in_unit = |word: &str| {
        let last = word.rsplit(' ').next().unwrap_or_default();
        matches!((last, parameter.unit.as_str()), ("hours", "h") | ("minutes", "min") | ("days", "d"))
    };
    found.extend(parameter.words.iter().map(|word| plain(word)).map(|word| {
        let has_unit = ends_in_unit(&word);
        (word, has_unit)
    }));
    found.retain(|(phrase, _)| phrase.len() >= 2);
    // "p = 3": a letter alone is not a name.
    if whole.len() == 1 {
        found.extend([format!("{whole} ="), format!("{whole}=")].map(|phrase| (phrase, has_unit)));
    }
    found
}

/// Returns the places where a text (see [`plain`]) names a parameter. A place inside a longer name of another parameter
/// is none: "target time" does not name `time`.
pub(super) fn places(plain_text: &str, parameter: &Parameter, others: &[&Parameter]) -> Vec<Label> {
    let mut found = Vec::new();
    for (phrase, with_unit) in phrases(parameter) {
        found.extend(occurrences(plain_text, &phrase).map(|span| Label { span, with_unit }).take(MAX_PLACES));
    }
    for other in others.iter().filter(|other| other.name != parameter.name) {
        for (phrase, _) in phrases(other) {
            let longer: Vec<Range<usize>> = occurrences(plain_text, &phrase).take(MAX_PLACES).collect();
            found.retain(|label| {
                !longer.iter().any(|other| {
                    other.start <= label.span.start && label.span.end <= other.end && other.len() > label.span.len()
                })
            });
        }
    }
    // Of two of its own at one place the longer one.
    let all = found.clone();
    found.retain(|label| {
        !all.iter().any(|other| {
            other.span.start <= label.span.start
                && label.span.end <= other.span.end
                && other.span.len() > label.span.len()
        })
    });
    found
}

/// Returns where a phrase stands as whole words.
pub(super) fn occurrences<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    text.match_indices(phrase).map(|(at, found)| at..at + found.len()).filter(|span| {
        let before = text.get(..span.start).and_then(|text| text.chars().next_back());
        let after = text.get(span.end..).and_then(|text| text.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}
