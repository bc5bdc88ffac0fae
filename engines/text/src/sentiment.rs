//! q170: sentiment of English messages by the lexicon and rules of VADER.

use std::collections::HashMap;
use std::sync::LazyLock;

use muster_engine::prelude::*;

use crate::support::{MAX_BYTES, bounded};

/// Texts of a call.
const MAX_TEXTS: usize = 20_000;
/// Compound score from which a text is positive, and below whose negative it is negative.
const POSITIVE: f64 = 0.05;
/// Change by a booster word, by capitals and by a negation.
const BOOST: f64 = 0.293;
const CAPITALS: f64 = 0.733;
const NEGATION: f64 = -0.74;
/// Approximates the greatest expected sum.
const ALPHA: f64 = 15.0;

const BOOSTERS: [&str; 60] = [
    "absolutely",
    "amazingly",
    "awfully",
    "completely",
    "considerable",
    "considerably",
    "decidedly",
    "deeply",
    "effing",
    "enormous",
    "enormously",
    "entirely",
    "especially",
    "exceptional",
    "exceptionally",
    "extreme",
    "extremely",
    "fabulously",
    "flippin",
    "flipping",
    "frackin",
    "fracking",
    "frickin",
    "fricking",
    "friggin",
    "frigging",
    "fuckin",
    "fucking",
    "fuggin",
    "fugging",
    "fully",
    "greatly",
    "hella",
    "highly",
    "hugely",
    "incredible",
    "incredibly",
    "intensely",
    "major",
    "majorly",
    "more",
    "most",
    "particularly",
    "purely",
    "quite",
    "really",
    "remarkably",
    "so",
    "substantially",
    "thoroughly",
    "total",
    "totally",
    "tremendous",
    "tremendously",
    "uber",
    "unbelievably",
    "unusually",
    "utter",
    "utterly",
    "very",
];
const DAMPENERS: [&str; 24] = [
    "almost",
    "barely",
    "hardly",
    "just enough",
    "kind of",
    "kind-of",
    "kinda",
    "kindof",
    "less",
    "little",
    "marginal",
    "marginally",
    "occasional",
    "occasionally",
    "partly",
    "scarce",
    "scarcely",
    "slight",
    "slightly",
    "somewhat",
    "sort of",
    "sort-of",
    "sorta",
    "sortof",
];
/// Negations beside the words with "n't".
const NEGATIONS: [&str; 37] = [
    "aint", "arent", "cannot", "cant", "couldnt", "darent", "despite", "didnt", "doesnt", "dont", "hadnt", "hasnt",
    "havent", "isnt", "mightnt", "mustnt", "neednt", "neither", "never", "none", "nope", "nor", "not", "nothing",
    "nowhere", "oughtnt", "rarely", "seldom", "shant", "shouldnt", "uh-uh", "uhuh", "wasnt", "werent", "without",
    "wont", "wouldnt",
];
const IDIOMS: [(&str, f64); 9] = [
    ("the shit", 3.0),
    ("the bomb", 3.0),
    ("bad ass", 1.5),
    ("badass", 1.5),
    ("bus stop", 0.0),
    ("yeah right", -2.0),
    ("kiss of death", -1.5),
    ("to die for", 3.0),
    ("beating heart", 3.5),
];

#[derive(Input)]
pub struct Input {
    texts: Vec<String>,
}

#[derive(Output)]
pub struct Output {
    results: Vec<Scores>,
    mean_compound: Option<f64>,
}

#[derive(Output)]
struct Scores {
    compound: f64,
    positive: f64,
    neutral: f64,
    negative: f64,
    label: Label,
}

#[derive(Clone, Copy, Words)]
enum Label {
    Positive,
    Neutral,
    Negative,
}

static LEXICON: LazyLock<HashMap<&'static str, f64>> = LazyLock::new(|| {
    let lines = include_str!("../data/vader_lexicon.tsv").lines().skip(1);
    lines.filter_map(|line| line.split_once('\t')).filter_map(|(word, mean)| Some((word, mean.parse().ok()?))).collect()
});

static EMOJI: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("../data/vader_emoji.tsv").lines().skip(1);
    lines
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(sign, name)| Some((sign.chars().next()?, name)))
        .collect()
});

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    bounded(input.texts.iter().map(String::as_str), MAX_BYTES)?;
    if input.texts.len() > MAX_TEXTS {
        let message = format!("{} texts, {MAX_TEXTS} are allowed: send fewer at a time", input.texts.len());
        return Err(Failure::too_large(message));
    }
    let results: Vec<Scores> = input.texts.iter().map(|text| score(text)).collect();
    let foreign = |text: &String| {
        let (all, other) = text
            .chars()
            .filter(|letter| letter.is_alphabetic())
            .fold((0_usize, 0_usize), |counts, letter| (counts.0 + 1, counts.1 + usize::from(!letter.is_ascii())));
        other * 2 > all
    };
    if input.texts.iter().any(foreign) {
        context.warn("language: a text is mostly in another script; the lexicon is English and finds nothing there");
    }
    let sum: f64 = results.iter().map(|scores| scores.compound).sum();
    let mean_compound = (!results.is_empty()).then(|| sum / results.len() as f64);
    Ok(Output { results, mean_compound })
}

/// A word or emoticon.
struct Word {
    lower: String,
    /// Whether its letters are all capitals.
    capitals: bool,
    /// Its valence in the lexicon.
    valence: Option<f64>,
    boost: f64,
    negates: bool,
}

impl Word {
    fn of(token: &str) -> Self {
        let stripped = token.trim_matches(|sign: char| sign.is_ascii_punctuation());
        // What is left of an emoticon is short.
        let token = if stripped.chars().nth(2).is_none() { token } else { stripped };
        let lower = token.to_lowercase();
        let mut cased = token.chars().filter(|letter| letter.is_lowercase() || letter.is_uppercase()).peekable();
        let capitals = cased.peek().is_some() && cased.all(char::is_uppercase);
        Self {
            capitals,
            valence: LEXICON.get(lower.as_str()).copied(),
            boost: boost(&lower),
            negates: NEGATIONS.contains(&lower.as_str()) || lower.contains("n't"),
            lower,
        }
    }
}

fn boost(words: &str) -> f64 {
    if BOOSTERS.contains(&words) {
        BOOST
    } else if DAMPENERS.contains(&words) {
        -BOOST
    } else {
        0.0
    }
}

fn score(text: &str) -> Scores {
    let text = described(text);
    let words: Vec<Word> = text.split_whitespace().map(Word::of).collect();
    let loud = words.iter().filter(|word| word.capitals).count();
    let mixed = loud > 0 && loud < words.len();
    let mut valences: Vec<f64> = (0..words.len()).map(|at| valence(&words, at, mixed)).collect();
    if let Some(but) = words.iter().position(|word| word.lower == "but") {
        for (at, valence) in valences.iter_mut().enumerate() {
            *valence *= match at.cmp(&but) {
                std::cmp::Ordering::Less => 0.5,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => 1.5,
            };
        }
    }
    summed(&valences, emphasis(&text))
}

/// The text with each emoji replaced by its description.
fn described(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = true;
    for letter in text.chars() {
        match EMOJI.get(&letter) {
            Some(name) => {
                if !blank {
                    out.push(' ');
                }
                out.push_str(name);
                blank = false;
            }
            None => {
                out.push(letter);
                blank = letter == ' ';
            }
        }
    }
    out
}

/// Emphasis by exclamation and question marks.
fn emphasis(text: &str) -> f64 {
    let count = |sign: u8| text.bytes().filter(|byte| *byte == sign).count();
    let questions = match count(b'?') {
        0 | 1 => 0.0,
        few @ (2 | 3) => few as f64 * 0.18,
        _ => 0.96,
    };
    count(b'!').min(4) as f64 * 0.292 + questions
}

/// Valence of a word in its place.
fn valence(words: &[Word], at: usize, mixed: bool) -> f64 {
    let before = |back: usize| at.checked_sub(back).and_then(|at| words.get(at));
    let is = |back: usize, wanted: &[&str]| before(back).is_some_and(|word| wanted.contains(&word.lower.as_str()));
    let next = words.get(at + 1);
    let Some(word) = words.get(at) else { return 0.0 };
    if word.boost != 0.0 || (word.lower == "kind" && next.is_some_and(|next| next.lower == "of")) {
        return 0.0;
    }
    let Some(own) = word.valence else { return 0.0 };
    // "no" before a word of the lexicon negates it and has no valence of its own.
    let mut valence = if word.lower == "no" && next.is_some_and(|next| next.valence.is_some()) { 0.0 } else { own };
    if is(1, &["no"]) || is(2, &["no"]) || (is(3, &["no"]) && is(1, &["or", "nor"])) {
        valence = own * NEGATION;
    }
    if word.capitals && mixed {
        valence += if valence > 0.0 { CAPITALS } else { -CAPITALS };
    }
    for back in 1..=3 {
        let Some(other) = before(back).filter(|other| other.valence.is_none()) else { continue };
        let fade = match back {
            1 => 1.0,
            2 => 0.95,
            _ => 0.9,
        };
        valence += fade * boosted(other, valence, mixed);
        valence = negated(valence, back, other, &is);
        if back == 3 {
            valence = idiom(valence, words, at);
        }
    }
    if is(1, &["least"]) && before(1).is_some_and(|word| word.valence.is_none()) && !is(2, &["at", "very"]) {
        valence *= NEGATION;
    }
    valence
}

fn boosted(word: &Word, valence: f64, mixed: bool) -> f64 {
    if word.boost == 0.0 {
        return 0.0;
    }
    let boost = if valence < 0.0 { -word.boost } else { word.boost };
    match word.capitals && mixed {
        true if valence > 0.0 => boost + CAPITALS,
        true => boost - CAPITALS,
        false => boost,
    }
}

fn negated(valence: f64, back: usize, word: &Word, is: &dyn Fn(usize, &[&str]) -> bool) -> f64 {
    let emphasised = match back {
        2 => is(2, &["never"]) && is(1, &["so", "this"]),
        3 => (is(3, &["never"]) && is(2, &["so", "this"])) || is(1, &["so", "this"]),
        _ => false,
    };
    let undoubted = match back {
        2 => is(2, &["without"]) && is(1, &["doubt"]),
        3 => is(3, &["without"]) && (is(2, &["doubt"]) || is(1, &["doubt"])),
        _ => false,
    };
    match (emphasised, undoubted) {
        (true, _) => valence * 1.25,
        (_, true) => valence,
        _ if word.negates => valence * NEGATION,
        _ => valence,
    }
}

/// Replaces the valence by that of an idiom around the word, and adds what pairs such as "kind of" take off.
fn idiom(valence: f64, words: &[Word], at: usize) -> f64 {
    let phrase = |from: usize, to: usize| {
        let words = words.get(at + from - 3..at + to - 3 + 1)?;
        Some(words.iter().map(|word| word.lower.as_str()).collect::<Vec<_>>().join(" "))
    };
    let known = |phrase: Option<String>| {
        let phrase = phrase?;
        IDIOMS.iter().find(|(idiom, _)| *idiom == phrase).map(|(_, valence)| *valence)
    };
    // Places are counted from three words before: 3 is the word itself.
    let around = [(2, 3), (1, 3), (1, 2), (0, 2), (0, 1)].into_iter().find_map(|(from, to)| known(phrase(from, to)));
    let mut valence = around.unwrap_or(valence);
    for after in [(3, 4), (3, 5)] {
        valence = known(phrase(after.0, after.1)).unwrap_or(valence);
    }
    let pairs = [(0, 2), (0, 1), (1, 2)].into_iter().filter_map(|(from, to)| phrase(from, to));
    valence + pairs.map(|pair| boost(&pair)).sum::<f64>()
}

fn summed(valences: &[f64], emphasis: f64) -> Scores {
    let sum: f64 = valences.iter().sum();
    let signed = |sum: f64| match sum {
        sum if sum > 0.0 => sum + emphasis,
        sum if sum < 0.0 => sum - emphasis,
        sum => sum,
    };
    let sum = signed(sum);
    let compound = (sum / (sum * sum + ALPHA).sqrt()).clamp(-1.0, 1.0);
    // Each word counts one more than its valence, as a neutral word counts one.
    let mut positive: f64 = valences.iter().filter(|valence| **valence > 0.0).map(|valence| valence + 1.0).sum();
    let mut negative: f64 = valences.iter().filter(|valence| **valence < 0.0).map(|valence| 1.0 - valence).sum();
    let neutral = valences.iter().filter(|valence| **valence == 0.0).count() as f64;
    if positive > negative {
        positive += emphasis;
    } else if positive < negative {
        negative += emphasis;
    }
    let all = positive + negative + neutral;
    let share = |part: f64| if all > 0.0 { round(part / all, 1e3) } else { 0.0 };
    let label = match compound {
        high if high >= POSITIVE => Label::Positive,
        low if low <= -POSITIVE => Label::Negative,
        _ => Label::Neutral,
    };
    Scores {
        compound: round(compound, 1e4),
        positive: share(positive),
        neutral: share(neutral),
        negative: share(negative),
        label,
    }
}

fn round(value: f64, digits: f64) -> f64 {
    (value * digits).round() / digits
}
