//! What an entry lacks, wrong numbers, and entries that are there twice.

use std::sync::LazyLock;

use hayagriva::Entry;
use hayagriva::types::EntryType;
use muster_kernel_words::tokens::{fold, words};
use regex::Regex;

use super::Problem;

/// Likeness of titles from which two entries of one year are the same work, and letters that are compared.
const SAME: f64 = 0.9;
const COMPARED: usize = 200;

static DOI: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^10\.\d{4,9}(?:\.\d+)*/\S+$").ok());

/// Fields that an entry of its type needs and has not, and numbers whose form or check digit is wrong.
pub(super) fn problems(entry: &Entry) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut add = |message: String| found.push(Problem { key: entry.key().to_owned(), message });
    let titled = entry.parents().iter().any(|parent| parent.title().is_some());
    let people = entry.authors().is_some_and(|people| !people.is_empty());
    let edited = people || entry.editors().is_some_and(|people| !people.is_empty());
    let issued = |entry: &Entry| entry.publisher().is_some() || entry.organization().is_some();
    let published = issued(entry) || entry.parents().iter().any(issued);
    let required: &[(&str, bool)] = match entry.entry_type() {
        EntryType::Article => &[("author", people), ("title of the journal or proceedings", titled)],
        EntryType::Chapter | EntryType::Anthos | EntryType::Entry => {
            &[("author", people), ("title of the book", titled)]
        }
        EntryType::Book => &[("author or editor", edited), ("publisher", published)],
        EntryType::Thesis => &[("author", people), ("school", published)],
        EntryType::Report => &[("author", people || published), ("institution", published)],
        EntryType::Web | EntryType::Post | EntryType::Blog => &[("url", entry.url_any().is_some())],
        EntryType::Patent | EntryType::Manuscript => &[("author", people)],
        _ => &[],
    };
    let dated =
        matches!(entry.entry_type(), EntryType::Web | EntryType::Manuscript | EntryType::Misc | EntryType::Repository);
    let common = [("title", entry.title().is_some()), ("date", dated || entry.date_any().is_some())];
    for (name, has) in required.iter().chain(&common) {
        if !has {
            add(format!("{name} is missing"));
        }
    }
    for entry in std::iter::once(entry).chain(entry.parents()) {
        if let Some(doi) = entry.doi().filter(|doi| !DOI.as_ref().is_some_and(|form| form.is_match(bare(doi)))) {
            add(format!("{doi:?} is no DOI: it begins with 10., a number of the registrant and a slash"));
        }
        if let Some(isbn) =
            entry.isbn().filter(|isbn| !isbn.split([',', ' ']).filter(|part| !part.is_empty()).all(is_isbn))
        {
            add(format!("{isbn:?} is no ISBN: its length or check digit is wrong"));
        }
        if let Some(issn) =
            entry.issn().filter(|issn| !issn.split([',', ' ']).filter(|part| !part.is_empty()).all(is_issn))
        {
            add(format!("{issn:?} is no ISSN: its length or check digit is wrong"));
        }
    }
    found
}

/// A DOI without the address of its resolver.
fn bare(doi: &str) -> &str {
    let doi = doi.trim();
    ["https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/", "doi:"]
        .into_iter()
        .find_map(|prefix| doi.strip_prefix(prefix))
        .unwrap_or(doi)
        .trim()
}

/// The digits of a number with hyphens, X as ten; `None` if there is anything else.
fn digits(number: &str) -> Option<Vec<u32>> {
    let kept = number.trim().chars().filter(|letter| !matches!(letter, '-' | '‐' | '–'));
    let mut digits = Vec::new();
    for letter in kept {
        digits.push(match letter {
            'x' | 'X' => 10,
            other => other.to_digit(10)?,
        });
    }
    // X is a check digit only.
    let last = digits.len().saturating_sub(1);
    (!digits.iter().take(last).any(|digit| *digit == 10)).then_some(digits)
}

/// ISO 2108: ISBN-13 by weights 1 and 3 modulo 10, ISBN-10 by weights 10 to 1 modulo 11.
pub(super) fn is_isbn(number: &str) -> bool {
    let Some(digits) = digits(number) else { return false };
    match digits.len() {
        13 => {
            digits.iter().zip([1, 3].iter().cycle()).map(|(digit, weight)| digit * weight).sum::<u32>() % 10 == 0
                && digits.last().is_some_and(|last| *last < 10)
        }
        10 => digits.iter().zip((1..=10).rev()).map(|(digit, weight)| digit * weight).sum::<u32>() % 11 == 0,
        _ => false,
    }
}

/// ISO 3297: weights 8 to 1 modulo 11.
pub(super) fn is_issn(number: &str) -> bool {
    digits(number).is_some_and(|digits| {
        digits.len() == 8
            && digits.iter().zip((1..=8).rev()).map(|(digit, weight)| digit * weight).sum::<u32>() % 11 == 0
    })
}

/// Keys of entries that are one work: by one DOI, or by years that do not differ and titles that are almost equal.
pub(super) fn duplicates(entries: &[Entry]) -> Vec<Vec<String>> {
    let known: Vec<(String, Option<i32>, Option<String>)> = entries
        .iter()
        .map(|entry| {
            let title = entry.title().map(ToString::to_string).unwrap_or_default();
            let title: Vec<String> = words(&title).map(|(_, word)| fold(word)).collect();
            let title: String = title.join(" ").chars().take(COMPARED).collect();
            (title, entry.date_any().map(|date| date.year), entry.doi().map(|doi| bare(doi).to_lowercase()))
        })
        .collect();
    let same = |a: &(String, Option<i32>, Option<String>), b: &(String, Option<i32>, Option<String>)| {
        if let (Some(a), Some(b)) = (&a.2, &b.2) {
            return a == b;
        }
        let years = a.1.zip(b.1).is_none_or(|(a, b)| a == b);
        // A distance is at least the difference of the lengths.
        let (short, long) = (a.0.len().min(b.0.len()) as f64, a.0.len().max(b.0.len()) as f64);
        years && short > 0.0 && short >= (SAME - 0.1) * long && strsim::normalized_levenshtein(&a.0, &b.0) >= SAME
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, this) in known.iter().enumerate() {
        let is = |other: &usize| known.get(*other).is_some_and(|other| same(this, other));
        // An entry joins all that have one like it, which were apart until now.
        let (alike, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.iter().any(is));
        let mut joined: Vec<usize> = alike.into_iter().flatten().chain([at]).collect();
        joined.sort_unstable();
        groups = apart;
        groups.push(joined);
    }
    groups.sort();
    let key = |at: usize| entries.get(at).map(|entry| entry.key().to_owned());
    groups
        .into_iter()
        .filter(|group| group.len() > 1)
        .map(|group| group.into_iter().filter_map(key).collect())
        .collect()
}
