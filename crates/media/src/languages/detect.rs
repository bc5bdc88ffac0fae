//! Which language a text is in: the table, corrected by script and by the rule for Maori.

use unicode_segmentation::UnicodeSegmentation;

use super::list::{Language, by_code};
use super::maori::maori;
use super::script::{dominant, script_of};
use super::table::{Guess, LanguageTable, TableError};

/// Confidence from which a detection is right in 99 % of the open cases.
pub const RELIABLE: f64 = 0.8;
/// Confidence under which a detection is no basis for a translation.
pub const UNDETERMINED: f64 = 0.3;
/// Characters at the start of a text by which it is judged; beyond them nothing changes.
const MOST_CHARACTERS: usize = 4_000;
/// Sentences of a text that are judged one by one.
const MOST_SENTENCES: usize = 1_000;

/// What language a text is in.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// Languages by likelihood, the best first; empty if the text has no letter of a known script.
    pub ranking: Vec<Guess>,
    /// ISO 15924 code of the script of most letters: that of the best language where it is written in it; `Zyyy` if there
    /// is no letter of a known script.
    pub script: &'static str,
}

impl Detection {
    /// Returns the most likely language.
    pub fn best(&self) -> Option<Guess> {
        self.ranking.first().copied()
    }

    /// Returns the most likely language if its confidence is at least [`UNDETERMINED`].
    pub fn determined(&self) -> Option<Guess> {
        self.best().filter(|guess| guess.confidence >= UNDETERMINED)
    }

    /// Returns whether the confidence is at least [`RELIABLE`].
    pub fn is_reliable(&self) -> bool {
        self.best().is_some_and(|guess| guess.confidence >= RELIABLE)
    }
}

/// Detects the language of a text by its first 4,000 characters. `candidates` restricts the languages by code; empty: all
/// 84.
///
/// # Errors
/// The table is damaged or cannot be read.
pub fn detect(table: &LanguageTable, text: &str, candidates: &[&str]) -> Result<Detection, TableError> {
    let end = text.char_indices().nth(MOST_CHARACTERS).map_or(text.len(), |(at, _)| at);
    let text = text.get(..end).unwrap_or(text);
    let written = dominant(text);
    if written.letters == 0 {
        return Ok(Detection { ranking: Vec::new(), script: written.script });
    }
    let mut ranking = table.rank(text, candidates)?;
    let by_script = written.language().map(|code| (code, written.share));
    let by_rule = || maori(text).map(|share| ("mi", share));
    let ruled = by_script.or_else(|| if written.script == "Latn" { by_rule() } else { None });
    if let Some((code, confidence)) = ruled.filter(|(code, _)| candidates.is_empty() || candidates.contains(code))
        && let Some(language) = by_code(code)
    {
        promote(&mut ranking, language, confidence);
    }
    let script = ranking.first().map_or(written.script, |guess| script_in(written.script, guess.language));
    Ok(Detection { ranking, script })
}

/// Chinese characters are the script of the language that they are in.
fn script_in(written: &'static str, language: &'static Language) -> &'static str {
    let is_han = written == "Hani" && ["Hans", "Jpan", "Kore"].contains(&language.script.as_str());
    if is_han { &language.script } else { written }
}

/// Puts a language first with at least this confidence; the others keep their proportions.
fn promote(ranking: &mut Vec<Guess>, language: &'static Language, confidence: f64) {
    let before = ranking.iter().position(|guess| guess.language.code == language.code);
    let before = before.map_or(0.0, |at| ranking.remove(at).confidence);
    let confidence = confidence.max(before);
    let rest: f64 = ranking.iter().map(|guess| guess.confidence).sum();
    if rest > 0.0 {
        ranking.iter_mut().for_each(|guess| guess.confidence *= (1.0 - confidence) / rest);
    }
    ranking.insert(0, Guess { language, confidence });
}

/// Detects the language of each sentence, of the first 1,000; sentences without a letter are left out.
///
/// # Errors
/// The table is damaged or cannot be read.
pub fn detect_sentences<'a>(
    table: &LanguageTable,
    text: &'a str,
    candidates: &[&str],
) -> Result<Vec<(&'a str, Detection)>, TableError> {
    let sentences = text.split_sentence_bounds().map(str::trim);
    let sentences = sentences.filter(|sentence| sentence.chars().any(|character| script_of(character).is_some()));
    sentences.take(MOST_SENTENCES).map(|sentence| Ok((sentence, detect(table, sentence, candidates)?))).collect()
}
