//! Identifies the licence of a text.

use std::sync::OnceLock;

use spdx::text::LICENSE_TEXTS;

use super::expression;
use muster_engine::Context;

/// Minimum similarity for a text to be identified as a licence.
const ENOUGH: f64 = 0.8;

/// Sorted hashes of a text's word bigrams.
type Pairs = Vec<u64>;

/// Share of a licence's word pairs with which a longer text contains it.
const CONTAINED: f64 = 0.95;
/// Licences of fewer pairs are contained in too many texts.
const SUBSTANTIAL: usize = 60;
/// Where the conditions end; SPDX's texts go on with instructions, which few projects copy.
const END: &str = "END OF TERMS AND CONDITIONS";
/// Maximum number of further licences that a warning names.
const MAX_NAMED: usize = 10;

/// Returns the licence if the text is similar enough to one, and the similarity to the nearest.
pub(super) fn identify(text: &str, context: &Context) -> (Option<String>, f64) {
    if let Some(tag) = tagged(text) {
        return (Some(tag), 1.0);
    }
    let pairs_of_text = pairs(text);
    let mut best = ("", 0.0);
    for (name, known) in library() {
        // A text of very different length cannot be nearer than the best so far.
        let (few, many) = (pairs_of_text.len().min(known.len()), pairs_of_text.len().max(known.len()));
        if 2.0 * few as f64 / ((few + many).max(1)) as f64 <= best.1 {
            continue;
        }
        let likeness = dice(&pairs_of_text, known);
        if likeness > best.1 {
            best = (name, likeness);
        }
    }
    let (name, likeness) = best;
    let found = if likeness >= ENOUGH { Some((name, likeness)) } else { contained(&pairs_of_text, context) };
    let Some((name, likeness)) = found else {
        if let Some(named) = noticed(text) {
            context.warn(format!("notice: the text names {named} and is not the licence itself"));
            return (Some(named.to_owned()), 1.0);
        }
        context.warn(match name {
            "" => "unknown: the text is like no licence of SPDX's list".to_owned(),
            name => format!("unknown: the text is not a licence of the SPDX list; the nearest is {name}"),
        });
        return (None, likeness);
    };
    if name.ends_with("-only") {
        context.warn(format!(
            "version: {name} and its -or-later have the same text: the notice in the source files determines which applies"
        ));
    }
    (Some(name.to_owned()), likeness)
}

/// Returns the largest licence that a longer text contains as a whole, and how much of it; a warning names the others.
fn contained(text: &[u64], context: &Context) -> Option<(&'static str, f64)> {
    let mut inside: Vec<(&'static str, usize, f64)> = library()
        .iter()
        .filter(|(_, known)| known.len() >= SUBSTANTIAL && known.len() <= text.len())
        .filter_map(|(name, known)| {
            let common = common(text, known);
            let share = common as f64 / known.len() as f64;
            (share >= CONTAINED).then_some((*name, common, share))
        })
        .collect();
    // Of equal ones the nearest; the library is sorted by the length of names.
    inside.sort_by(|a, b| b.1.cmp(&a.1).then(b.2.total_cmp(&a.2)));
    let &(name, size, share) = inside.first()?;
    let part = 100.0 * size as f64 / text.len().max(1) as f64;
    context.warn(format!("contains: {name} is {part:.0} % of the text: read the rest"));
    let mut others: Vec<&str> = Vec::new();
    // A licence whose words are those of the largest is a part of it, not a further one.
    let largest =
        library().iter().filter(|(other, _)| *other == name).map(|(_, pairs)| pairs).max_by_key(|pairs| pairs.len())?;
    for (other, _, _) in &inside {
        let own = library()
            .iter()
            .any(|(id, pairs)| id == other && (common(largest, pairs) as f64) < 0.8 * pairs.len() as f64);
        if own && !others.contains(other) {
            others.push(other);
        }
    }
    others.truncate(MAX_NAMED);
    if !others.is_empty() {
        context.warn(format!("contains: also the words of {}", others.join(", ")));
    }
    Some((name, share))
}

/// Notices that the licences themselves give for source files, as words.
const NOTICES: [(&str, &str); 12] = [
    ("licensed under the apache license version 2 0", "Apache-2.0"),
    ("subject to the terms of the mozilla public license v 2 0", "MPL-2.0"),
    (
        "gnu affero general public license as published by the free software foundation either version 3",
        "AGPL-3.0-or-later",
    ),
    ("gnu affero general public license as published by the free software foundation version 3", "AGPL-3.0-only"),
    (
        "gnu lesser general public license as published by the free software foundation either version 2 1",
        "LGPL-2.1-or-later",
    ),
    (
        "gnu lesser general public license as published by the free software foundation either version 3",
        "LGPL-3.0-or-later",
    ),
    ("gnu general public license as published by the free software foundation either version 2", "GPL-2.0-or-later"),
    ("gnu general public license as published by the free software foundation either version 3", "GPL-3.0-or-later"),
    ("gnu general public license version 2 as published by the free software foundation", "GPL-2.0-only"),
    ("gnu general public license as published by the free software foundation version 2", "GPL-2.0-only"),
    ("gnu general public license as published by the free software foundation version 3", "GPL-3.0-only"),
    ("use of this source code is governed by a bsd style license", "LicenseRef-BSD-style"),
];

/// A licence that the text only names.
fn noticed(text: &str) -> Option<&'static str> {
    let words = words(text).join(" ");
    NOTICES.into_iter().find(|(notice, _)| words.contains(notice)).map(|(_, name)| name)
}

/// SPDX 2.3, Annex E: the short identifier in a comment.
fn tagged(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.split_once("SPDX-License-Identifier:"))?.1;
    let tag = line.trim().trim_end_matches("*/").trim_end_matches("-->").trim();
    expression::parse(tag).ok().map(|_| tag.to_owned())
}

/// Texts of the list, without deprecated names and duplicates.
fn library() -> &'static [(&'static str, Pairs)] {
    static LIBRARY: OnceLock<Vec<(&'static str, Pairs)>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let current = |name: &str| spdx::license_id(name).is_some_and(|id| !id.is_deprecated());
        let texts = LICENSE_TEXTS.iter().filter(|(name, _)| current(name) && !name.ends_with("-or-later"));
        let mut library: Vec<(&str, Pairs)> = Vec::new();
        for (name, text) in texts {
            library.push((name, pairs(text)));
            if let Some(end) = text.find(END) {
                let conditions = text.get(..end + END.len()).unwrap_or_default();
                library.push((name, pairs(conditions)));
            }
        }
        // Of equal texts, the shortest name is reported.
        library.sort_by_key(|(name, _)| (name.len(), *name));
        library
    })
}

/// The coefficient of Dice (1945) and Sorensen (1948): twice what is common over what both have, as multisets.
pub(super) fn dice(a: &[u64], b: &[u64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    2.0 * common(a, b) as f64 / (a.len() + b.len()) as f64
}

/// What both multisets have, each sorted.
fn common(a: &[u64], b: &[u64]) -> usize {
    let (few, mut many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut common = 0;
    for run in few.chunk_by(|x, y| x == y) {
        let Some(value) = run.first() else { continue };
        let from = many.partition_point(|other| other < value);
        let to = many.partition_point(|other| other <= value);
        common += run.len().min(to - from);
        many = many.get(to..).unwrap_or_default();
    }
    common
}

pub(super) fn pairs(text: &str) -> Pairs {
    let words = words(text);
    let mut pairs: Pairs = words.windows(2).map(|pair| hash(&pair.join(" "))).collect();
    pairs.sort_unstable();
    pairs
}

/// FNV-1a (Fowler, Noll, Vo 1991), 64 bits.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Significant words by SPDX 2.3, Annex B: without white space, punctuation, case, comment markers, bullets and list
/// numbers, copyright notices and titles, and with one spelling of each word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for line in text.lines() {
        let line = line.trim_matches(|c: char| c.is_whitespace() || "/*#;|<>!-=".contains(c)).to_lowercase();
        if notice(&line) {
            continue;
        }
        let line = line.replace("https://", "http://");
        let parts = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.extend(parts.skip_while(|word| bullet(&line, word)).map(spelled));
    }
    words
}

/// Longest copyright line, in bytes: a longer one holds the licence as well, whose line ends were lost.
const MAX_NOTICE: usize = 250;

/// A copyright or title line.
fn notice(line: &str) -> bool {
    let copyright = line.len() <= MAX_NOTICE && line.strip_prefix("portions ").unwrap_or(line).starts_with("copyright");
    let whose =
        line.contains("(c)") || line.contains('©') || line.contains('<') || line.chars().any(|c| c.is_ascii_digit());
    let title = line.split_whitespace().count() <= 6
        && (line.ends_with("license")
            || line.ends_with("licence")
            || line.ends_with("license)")
            || line.starts_with("the mit license"));
    (copyright && whose) || title || line.trim_end_matches('.') == "all rights reserved"
}

/// `1.`, `(a)`, `iv)` at a line's beginning.
fn bullet(line: &str, word: &str) -> bool {
    let numbered = word.len() <= 2 && word.chars().all(|c| c.is_ascii_digit())
        || word.len() == 1 && word != "a"
        || matches!(word, "ii" | "iii" | "iv" | "vi" | "vii");
    let at = line.find(word).map(|at| at + word.len());
    let after = at.and_then(|at| line.get(at..)).and_then(|rest| rest.chars().next());
    (numbered && matches!(after, Some('.' | ')' | ':'))) || (word == "a" && after == Some(')'))
}

/// Normalises spelling by SPDX's list of equivalent words.
fn spelled(word: &str) -> String {
    match word {
        "licence" | "licences" | "licenced" => word.replacen("licenc", "licens", 1),
        "acknowledgement" => "acknowledgment".to_owned(),
        "acknowledgements" => "acknowledgments".to_owned(),
        "analogue" => "analog".to_owned(),
        "authorisation" | "authorise" | "authorised" => word.replacen("authoris", "authoriz", 1),
        "favour" | "favourite" => word.replacen("our", "or", 1),
        "fulfil" | "fulfilment" => word.replacen("fulfil", "fulfill", 1),
        "initialise" | "initialised" | "organisation" | "organisations" | "recognise" | "recognised"
        | "utilisation" | "utilise" => word.replace("is", "iz"),
        "judgement" => "judgment".to_owned(),
        "modelled" => "modeled".to_owned(),
        "sublicence" => "sublicense".to_owned(),
        "wilful" => "willful".to_owned(),
        word => word.to_owned(),
    }
}
