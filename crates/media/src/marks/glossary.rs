//! Terms that a caller wants translated in one way.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};

use super::{Mark, MarkKind, after, before, is_word};

/// Terms of a glossary.
pub const MAX_TERMS: usize = 200;
/// Characters of a term or of its translation.
pub const MAX_TERM_CHARS: usize = 200;

/// Why a glossary is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlossaryError {
    /// Too many terms.
    #[error("a glossary has at most {MAX_TERMS} terms, this one has {0}: leave some out")]
    TooMany(usize),
    /// A term or translation is empty, too long, or of several lines.
    #[error("term {0:?} of the glossary: a term and its translation have 1 to {MAX_TERM_CHARS} characters on one line")]
    Term(String),
}

/// Terms and their translations; a term found in a text becomes its translation exactly once each time.
#[derive(Debug, Clone, Default)]
pub struct Glossary {
    /// By the term in lower case.
    translations: HashMap<String, String>,
    pattern: Option<Regex>,
}

impl Glossary {
    /// A glossary of terms and their translations. Terms are found without regard to case, as whole words; longer ones
    /// first. A term listed again replaces the one before.
    ///
    /// # Errors
    /// There are too many terms, or one is empty or too long.
    pub fn new<'a>(terms: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, GlossaryError> {
        let mut translations = HashMap::new();
        for (count, (term, translation)) in terms.into_iter().enumerate() {
            let fine =
                |text: &str| (1..=MAX_TERM_CHARS).contains(&text.chars().count()) && !text.contains(char::is_control);
            let (term, translation) = (term.trim(), translation.trim());
            if !fine(term) || !fine(translation) {
                return Err(GlossaryError::Term(term.chars().take(MAX_TERM_CHARS).collect()));
            }
            if count >= MAX_TERMS {
                return Err(GlossaryError::TooMany(count + 1));
            }
            translations.insert(term.to_lowercase(), translation.to_owned());
        }
        let mut terms: Vec<&String> = translations.keys().collect();
        terms.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        let escaped: Vec<String> = terms.iter().map(|term| regex::escape(term)).collect();
        let build = || RegexBuilder::new(&escaped.join("|")).case_insensitive(true).size_limit(64 << 20).build().ok();
        let pattern = if escaped.is_empty() { None } else { build() };
        Ok(Self { translations, pattern })
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.translations.is_empty()
    }

    pub(super) fn find(&self, text: &str) -> Vec<Mark> {
        let Some(pattern) = &self.pattern else { return Vec::new() };
        let found = pattern.find_iter(text).filter(|found| is_whole(text, found.start(), found.end()));
        let mark = |found: regex::Match<'_>| {
            let translation = self.translations.get(&found.as_str().to_lowercase())?;
            Some(Mark { range: found.range(), kind: MarkKind::Term, replacement: Some(translation.clone()) })
        };
        found.filter_map(mark).collect()
    }
}

/// Whether a match is not a part of a longer word. Scripts without spaces between words have no such parts.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let joined = |one: Option<char>, other: Option<char>| {
        let spaced = |character: Option<char>| character.is_some_and(|it| is_word(it) && !is_unspaced(it));
        spaced(one) && spaced(other)
    };
    !joined(before(text, start), after(text, start)) && !joined(before(text, end), after(text, end))
}

/// Scripts written without spaces: Thai to Myanmar, Khmer, Kana, Han.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}
