//! q181: crisis message triage.

mod people;
mod terms;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use muster_kernel_words::bayes::ComplementBayes;

use muster_engine::prelude::*;

use crate::support::{MAX_BYTES, base, bounded};
use terms::{Hit, Words as Joined, find};

/// Messages of a call, and pieces of evidence of each.
const MAX_MESSAGES: usize = 20_000;
const MAX_EVIDENCE: usize = 20;
/// Difference of scores within which naive Bayes decides.
const TIE: f64 = 1.0;
/// Numbers of people from which a message is more urgent by one point and by two.
const MANY: i64 = 10;
const VERY_MANY: i64 = 100;
const GROUPS: [&str; 7] =
    ["children", "infants", "elderly", "pregnant", "disabled", "chronically-ill", "unaccompanied"];

#[derive(Input)]
pub struct Input {
    messages: Vec<Message>,
}

#[derive(Input)]
struct Message {
    id: String,
    text: String,
    time: Option<Timestamp>,
    language: Option<String>,
}

#[derive(Output)]
pub struct Output {
    messages: Vec<Judged>,
    queue: Vec<String>,
    counts: BTreeMap<&'static str, usize>,
}

#[derive(Output)]
struct Judged {
    id: String,
    category: Category,
    urgency: i64,
    people: i64,
    vulnerable: Vec<&'static str>,
    evidence: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
enum Category {
    Rescue,
    Medical,
    WaterFood,
    Shelter,
    Infrastructure,
    MissingPerson,
    Security,
    Donation,
    Information,
    Other,
}

impl Category {
    /// Points of urgency that the category has by itself; `None` where nobody needs help at once.
    fn points(self) -> Option<i64> {
        match self {
            Self::Rescue => Some(2),
            Self::Medical
            | Self::WaterFood
            | Self::Shelter
            | Self::Infrastructure
            | Self::MissingPerson
            | Self::Security => Some(1),
            Self::Donation | Self::Information | Self::Other => None,
        }
    }
}

/// Points of a message by itself: one of no known category may still speak of danger or of people who need help.
fn base_points(category: Category, hits: &[Hit]) -> Option<i64> {
    let unknown = category == Category::Other && hits.iter().all(|hit| hit.term.kind != Category::Other.word());
    if unknown { Some(0) } else { category.points() }
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let messages = input.messages;
    bounded(messages.iter().map(|message| message.text.as_str()), MAX_BYTES)?;
    if messages.len() > MAX_MESSAGES {
        let message = format!("{} messages, {MAX_MESSAGES} are allowed: send them in parts", messages.len());
        return Err(Failure::too_large(message));
    }
    Failure::unless_distinct("messages", "message", messages.iter().map(|message| message.id.as_str()))?;
    let scored: Vec<(Judged, i64)> = messages.iter().map(|message| judge(message, cx)).collect();
    let mut order: Vec<(&(Judged, i64), Option<Timestamp>)> =
        scored.iter().zip(messages.iter().map(|message| message.time)).collect();
    // The sort is stable: of equal messages the earlier one in the input comes first, and one without a time last.
    // Of messages with the highest urgency those with more points come first: trapped children before many without water.
    order.sort_by_key(|((judged, points), time)| {
        let first = (std::cmp::Reverse(judged.urgency), std::cmp::Reverse(*points), std::cmp::Reverse(judged.people));
        (first, time.is_none(), *time)
    });
    let queue = order.into_iter().map(|((judged, _), _)| judged.id.clone()).collect();
    let judged: Vec<Judged> = scored.into_iter().map(|(judged, _)| judged).collect();
    let mut counts = BTreeMap::new();
    for judged in &judged {
        *counts.entry(judged.category.word()).or_default() += 1;
    }
    Ok(Output { messages: judged, queue, counts })
}

/// Judges a message; also returns its points of urgency, of which there may be more than the scale has.
fn judge(message: &Message, cx: &Context) -> (Judged, i64) {
    let language = message.language.as_deref().map(|language| base(language).to_lowercase());
    if let Some(language) = language.as_deref().filter(|language| !terms::has(language)) {
        let language: String = language.chars().take(20).collect();
        cx.warn(format!("no_terms: there are none for {language:?}; those of en, es, fr and de were used"));
    }
    let words = Joined::of(&message.text);
    let hits = find(&words, language.as_deref().filter(|language| terms::has(language)));
    let category = category(&hits, &words);
    let of = |kind: &str| hits.iter().filter(|hit| hit.term.kind == kind).collect::<Vec<_>>();
    let vulnerable: Vec<&'static str> = GROUPS.into_iter().filter(|group| !of(group).is_empty()).collect();
    let written = people::count(&message.text, &words.joined);
    let people = if written == 0 { i64::from(!of("one").is_empty()) } else { written };
    let strongest = |kind: &str| of(kind).iter().map(|hit| hit.term.weight as i64).max().unwrap_or_default();
    let own = base_points(category, &hits);
    let points = own.map_or(0, |base| {
        let eased = of("eased").iter().map(|hit| hit.term.weight as i64).min().unwrap_or_default();
        base + strongest("critical")
            + strongest("urgent")
            + i64::from(!vulnerable.is_empty())
            + i64::from(people >= MANY)
            + i64::from(people >= VERY_MANY)
            + eased
    });
    let decides = |hit: &&Hit| {
        hit.term.kind == category.word()
            || (own.is_some()
                && (matches!(hit.term.kind, "critical" | "urgent" | "eased") || GROUPS.contains(&hit.term.kind)))
    };
    let mut evidence: Vec<String> = Vec::new();
    for text in hits.iter().filter(decides).filter_map(|hit| message.text.get(hit.range.clone())) {
        if evidence.len() < MAX_EVIDENCE && !evidence.iter().any(|known| known == text) {
            evidence.push(text.to_owned());
        }
    }
    let urgency = (1 + points).clamp(1, 5);
    (Judged { id: message.id.clone(), category, urgency, people, vulnerable, evidence }, points)
}

/// The category whose terms weigh most; among those that are nearly equal naive Bayes chooses. Without a term `other`.
fn category(hits: &[Hit], words: &Joined) -> Category {
    let score = |category: &Category| -> f64 {
        let mut seen = BTreeSet::new();
        let of = hits.iter().filter(|hit| hit.term.kind == category.word() && seen.insert(hit.number));
        of.map(|hit| hit.term.weight).sum()
    };
    let scores: Vec<(Category, f64)> = Category::ALL.iter().map(|(category, _)| (*category, score(category))).collect();
    let best = scores.iter().map(|(_, score)| *score).fold(0.0, f64::max);
    if best <= 0.0 {
        return Category::Other;
    }
    let tied: Vec<Category> = scores
        .iter()
        .filter(|(_, score)| *score > 0.0 && *score >= best - TIE)
        .map(|(category, _)| *category)
        .collect();
    match tied.as_slice() {
        [only] => *only,
        _ => likeliest(&tied, words),
    }
}

/// The class of the first of the tied categories that naive Bayes finds likeliest.
fn likeliest(tied: &[Category], words: &Joined) -> Category {
    let scores = BAYES.scores(&words.list());
    let mut best = (Category::Other, f64::NEG_INFINITY);
    for ((category, _), score) in Category::ALL.iter().zip(scores) {
        if tied.contains(category) && score > best.1 {
            best = (*category, score);
        }
    }
    best.0
}

/// Trained on the development half of the labelled set.
static BAYES: LazyLock<ComplementBayes> = LazyLock::new(|| {
    let rows: Vec<(usize, Vec<String>)> = labelled(include_str!("../../data/triage_dev.tsv"))
        .map(|row| (row.category as usize, Joined::of(row.text).list()))
        .collect();
    ComplementBayes::train(Category::ALL.len(), rows.iter().map(|(class, words)| (*class, words.as_slice())))
});

/// A message of the labelled set.
struct Row {
    category: Category,
    #[cfg_attr(not(test), allow(dead_code, reason = "only the tests measure urgency"))]
    urgent: bool,
    text: &'static str,
}

fn labelled(file: &'static str) -> impl Iterator<Item = Row> {
    file.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut cells = line.splitn(4, '\t');
        let (category, urgent, _, text) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
        let (category, _) = Category::ALL.iter().find(|(_, word)| *word == category)?;
        Some(Row { category: *category, urgent: urgent == "1", text })
    })
}
