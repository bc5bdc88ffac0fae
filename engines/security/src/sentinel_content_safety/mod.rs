//! q144: unsafe content.

mod bayes;
mod crisis;
mod lexicon;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::decode::{embedded, joined_letters, plain, readings, unescaped, visible};
use crate::verdict::{Verdict, listed, place};

/// Maximum length of a text, in bytes.
const MAX_TEXT: usize = 262_144;
/// Weight at which content is as likely unsafe as not.
const EVEN: f64 = 2.2;
/// What naive Bayes adds at most and takes off at most, and what it is multiplied by.
const BAYES: (f64, f64, f64) = (-0.8, 1.6, 1.0);
/// Part of a phrase's weight that stays after a negation, and what a harmless context takes off.
const NEGATED: f64 = 0.25;
const HARMLESS: f64 = 1.6;
/// Default threshold of a category, the part of a threshold from which a text is worth a look, and the score from which it
/// is critical.
const THRESHOLD: f64 = 0.5;
const NOTICE: f64 = 0.6;
const CRITICAL: f64 = 0.9;
/// Findings that are listed.
const MAX_LISTED: usize = 100;

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    text: String,
    language: String,
    thresholds: BTreeMap<String, f64>,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    categories: BTreeMap<&'static str, f64>,
    crisis: bool,
}

/// Categories, after the hazards of AILuminate 1.0 and the moderation categories of OpenAI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
#[wire(case = "kebab")]
enum Category {
    Violence,
    SelfHarm,
    Sexual,
    Hate,
    Dangerous,
    Harassment,
}

impl Category {
    const COUNT: usize = 6;

    fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(category, _)| *category)
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Violence => "threatens with or calls for violence (AILuminate: violent crimes)",
            Self::SelfHarm => "speaks of suicide or self-harm (AILuminate: suicide and self-harm)",
            Self::Sexual => "is sexually explicit (AILuminate: sexual content)",
            Self::Hate => "attacks people for what they are (AILuminate: hate)",
            Self::Dangerous => {
                "asks for or gives instructions that endanger others (AILuminate: indiscriminate weapons, non-violent crimes)"
            }
            Self::Harassment => "insults or pursues a person (OpenAI: harassment)",
        }
    }
}

/// What was found of a category: the sentence with the highest score.
#[derive(Debug, Clone, Copy, Default)]
struct Worst {
    score: f64,
    /// Where the sentence begins, if it stands in the text as it is.
    at: Option<usize>,
    risk: bool,
}

/// Judges each sentence alone, so another sentence never makes a text safer.
///
/// # Errors
/// `Invalid` (a threshold of no category, or beyond 0 to 1), `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { text, language, thresholds } = input;
    if text.len() > MAX_TEXT {
        let why = format!("text has {} bytes, at most {MAX_TEXT} are allowed: send it in parts", text.len());
        return Err(Failure::too_large(why));
    }
    for (name, threshold) in &thresholds {
        if Category::named(name).is_none() {
            let words: Vec<&str> = Category::ALL.iter().map(|(_, word)| *word).collect();
            return Err(Failure::invalid(&["thresholds", name], format!("must be one of {}", words.join(", "))));
        }
        if !(0.0..=1.0).contains(threshold) {
            return Err(Failure::invalid(&["thresholds", name], "must be between 0 and 1"));
        }
    }
    if !matches!(language.as_str(), "en" | "de" | "fr" | "es") {
        cx.warn(format!(
            "language: there are no phrases in {language}; those of English, German, French and Spanish apply"
        ));
    }
    let mut worst = [Worst::default(); Category::COUNT];
    for (sentence, at) in sentences(&text) {
        judge(&plain(sentence), Some(at), &mut worst);
    }
    for form in forms(&text) {
        for (sentence, _) in sentences(&form) {
            judge(&plain(sentence), None, &mut worst);
        }
    }
    let mut findings = Vec::new();
    let mut verdict = Verdict::Clear;
    let mut crisis = false;
    for ((category, word), worst) in Category::ALL.iter().zip(worst) {
        let threshold = thresholds.get(*word).copied().unwrap_or(THRESHOLD);
        let over = worst.score > 0.0 && worst.score >= threshold;
        let urgent = over && worst.risk;
        crisis |= urgent;
        let (own, severity) = match worst.score {
            _ if urgent => (Verdict::Critical, Severity::Critical),
            CRITICAL.. if over => (Verdict::Critical, Severity::High),
            _ if over => (Verdict::Warn, Severity::Medium),
            score if score > 0.0 && score >= NOTICE * threshold => (Verdict::Notice, Severity::Low),
            _ => continue,
        };
        verdict = verdict.max(own);
        findings.push(Finding {
            rule: (*word).to_owned(),
            severity,
            message: category.title().to_owned(),
            location: worst.at.map(|at| place(&text, at)),
            evidence: None,
        });
    }
    if crisis {
        findings.push(Finding {
            rule: "crisis-advice".to_owned(),
            severity: Severity::Critical,
            message: crisis::advice(&language),
            location: None,
            evidence: None,
        });
    }
    let categories: BTreeMap<&'static str, f64> =
        Category::ALL.iter().zip(worst).map(|((_, word), worst)| (*word, worst.score)).collect();
    let score = categories.values().copied().fold(0.0, f64::max);
    Ok(Output { verdict, score, findings: listed(findings, MAX_LISTED, cx), categories, crisis })
}

/// Other readings of the whole text: without escapes and invisible characters, with joined letters, with look-alikes as
/// Latin letters, and texts in Base64 or hexadecimal digits. Only those that differ.
fn forms(text: &str) -> Vec<String> {
    let bare = visible(&unescaped(text));
    let mut forms = vec![joined_letters(&bare)];
    forms.extend(readings(&plain(&bare)));
    forms.extend(embedded(text));
    forms.push(bare);
    forms.retain(|form| form != text);
    forms
}

/// Sentences with their offsets.
fn sentences(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let end = |letter: char| matches!(letter, '.' | '!' | '?' | '\n' | ';' | '。' | '！' | '？' | '¿' | '¡');
    let mut at = 0;
    text.split_inclusive(end).filter_map(move |part| {
        let start = at + (part.len() - part.trim_start().len());
        at += part.len();
        let sentence = part.trim();
        sentence.chars().any(char::is_alphanumeric).then_some((sentence, start))
    })
}

/// Keeps the score of a sentence in each category in which it is the worst so far.
fn judge(sentence: &str, at: Option<usize>, worst: &mut [Worst; Category::COUNT]) {
    let harmless = lexicon::in_harmless_context(sentence);
    let mut weights = [0.0_f64; Category::COUNT];
    let mut risks = [false; Category::COUNT];
    for phrase in lexicon::PHRASES.iter() {
        let Some(found) = phrase.pattern.find(sentence) else { continue };
        let before = sentence.get(..found.start()).unwrap_or_default();
        let negated = phrase.context && lexicon::negated(before);
        let off = if phrase.context && harmless { HARMLESS } else { 0.0 };
        let weight = (phrase.weight * if negated { NEGATED } else { 1.0 } - off).max(0.0);
        let class = phrase.category as usize;
        if let (Some(sum), Some(risk)) = (weights.get_mut(class), risks.get_mut(class)) {
            // The heaviest phrase counts in full, others for a part: they say the same again.
            *sum = sum.max(weight) + 0.3 * sum.min(weight);
            *risk |= phrase.risk && !negated && !(harmless && phrase.context);
        }
    }
    let (least, most, factor) = BAYES;
    let evidence = bayes::evidence(sentence);
    for (((weight, risk), evidence), worst) in weights.iter().zip(risks).zip(evidence).zip(worst) {
        let learned = (evidence * factor).clamp(least, most);
        let total = if *weight > 0.0 { weight + learned } else { learned - 0.4 };
        // Without a phrase, only what was learned well counts, and never more than a notice.
        if *weight <= 0.0 && learned < 0.9 {
            continue;
        }
        let score = (1e4 / (1.0 + (EVEN - total).exp())).round() / 1e4;
        if score > worst.score {
            *worst = Worst { score, at, risk: risk || worst.risk };
        } else {
            worst.risk |= risk;
        }
    }
}
