//! What several engines of this family use: limits, stemmers, counted terms.

use muster_kernel_words::tokens::{lower, words};
use rust_stemmers::{Algorithm, Stemmer};

use muster_engine::prelude::*;

/// Bytes of all texts of a call together.
pub(crate) const MAX_BYTES: usize = 4_000_000;

/// Refuses texts that are longer than `most` bytes together.
pub(crate) fn bounded<'a>(texts: impl IntoIterator<Item = &'a str>, most: usize) -> Result<(), Failure> {
    let bytes: usize = texts.into_iter().map(str::len).sum();
    if bytes > most {
        return Err(Failure::too_large(format!(
            "the texts have {bytes} bytes, {most} are allowed: send fewer at a time"
        )));
    }
    Ok(())
}

/// Returns the Snowball stemmer of a language by its ISO 639-1 code; `None` and a warning if there is none.
pub(crate) fn stemmer(language: &str, context: &Context) -> Option<Stemmer> {
    let algorithm = match base(language) {
        "ar" => Algorithm::Arabic,
        "da" => Algorithm::Danish,
        "de" => Algorithm::German,
        "el" => Algorithm::Greek,
        "en" => Algorithm::English,
        "es" => Algorithm::Spanish,
        "fi" => Algorithm::Finnish,
        "fr" => Algorithm::French,
        "hu" => Algorithm::Hungarian,
        "it" => Algorithm::Italian,
        "nb" | "nn" | "no" => Algorithm::Norwegian,
        "nl" => Algorithm::Dutch,
        "pt" => Algorithm::Portuguese,
        "ro" => Algorithm::Romanian,
        "ru" => Algorithm::Russian,
        "sv" => Algorithm::Swedish,
        "ta" => Algorithm::Tamil,
        "tr" => Algorithm::Turkish,
        _ => {
            let language: String = language.chars().take(20).collect();
            context.warn(format!("no_stemmer: there is none for {language:?}; words are counted as written"));
            return None;
        }
    };
    Some(Stemmer::create(algorithm))
}

/// Returns a language's code without its region: `pt` of `pt-BR`.
pub(crate) fn base(language: &str) -> &str {
    language.split(['-', '_']).next().unwrap_or_default()
}

/// Returns the words of a text in lower case, stemmed if a stemmer is given.
pub(crate) fn terms(text: &str, stemmer: Option<&Stemmer>) -> Vec<String> {
    let term = |(_, word): (usize, &str)| {
        let word = lower(word);
        // A stemmer's rules are for words of a language, not for texts without spaces; Finnish ones make 10 of 100.
        match stemmer.filter(|_| word.len() <= 100 && !word.contains(char::is_numeric)) {
            Some(stemmer) => stemmer.stem(&word).into_owned(),
            None => word,
        }
    };
    words(text).map(term).collect()
}

/// Number of distinct terms, and the terms of each text as numbers in order of first occurrence.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    numbers: std::collections::HashMap<String, u32>,
    /// Each term by its number.
    pub(crate) terms: Vec<String>,
}

impl Vocabulary {
    /// Returns the number of a term, which is added if it is new.
    pub(crate) fn number(&mut self, term: String) -> u32 {
        if let Some(number) = self.numbers.get(&term) {
            return *number;
        }
        let number = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
        self.terms.push(term.clone());
        self.numbers.insert(term, number);
        number
    }

    /// Returns the term with this number.
    pub(crate) fn term(&self, number: u32) -> &str {
        self.terms.get(number as usize).map_or("", String::as_str)
    }
}
