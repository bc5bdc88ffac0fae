//! q165: translation by the engines of the server, else by names and a glossary.

mod chrf;
mod model;

use std::collections::{BTreeMap, HashMap, HashSet};

use muster_media::languages::{Dictionary, by_code, detect};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use muster_engine::prelude::*;

/// Characters of the longest text, as of POST /api/translate.
const MAX_CHARACTERS: usize = 20_000;
/// Terms of the largest glossary, and characters of a term.
const MAX_TERMS: usize = 200;
const MAX_TERM: usize = 200;
/// Words of the longest match.
const MAX_WORDS: usize = 12;
/// Untranslated words that are listed.
const MAX_UNTRANSLATED: usize = 200;

#[derive(Input)]
pub struct Input {
    text: String,
    to: String,
    from: Option<String>,
    glossary: BTreeMap<String, String>,
    use_model: bool,
}

#[derive(Output)]
pub struct Output {
    translation: String,
    from: String,
    to: String,
    method: Method,
    coverage: f64,
    untranslated: Vec<String>,
    /// chrF2 of the translation back into the language of the text; absent where no model translated.
    back_check: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Words)]
#[wire(case = "kebab")]
enum Method {
    Model,
    PhraseTable,
    Glossary,
    Identity,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let from = match &input.from {
        Some(from) => from.clone(),
        None => source(&input.text, context)?,
    };
    if from == input.to {
        let Input { text, to, .. } = input;
        let untranslated = Vec::new();
        return Ok(Output {
            translation: text,
            from,
            to,
            method: Method::Identity,
            coverage: 1.0,
            untranslated,
            back_check: None,
        });
    }
    let names = context.languages().dictionary();
    let dictionary = names.as_ref().ok().copied();
    let glossary = input.glossary.iter().map(|(term, word)| (fold(term), word.clone())).collect();
    let work = Matcher { dictionary, glossary, from: &from, to: &input.to }.translate(&input.text);
    if input.use_model
        && work.coverage() < 1.0
        && let Some(output) = model::translate(&input, &from, context)?
    {
        return Ok(output);
    }
    if let Err(absent) = names {
        context.warn(format!("names_absent: {absent}"));
    }
    let method = if work.names == 0 && work.terms > 0 { Method::Glossary } else { Method::PhraseTable };
    let coverage = work.coverage();
    let Work { out: translation, untranslated, .. } = work;
    Ok(Output { translation, from, to: input.to, method, coverage, untranslated, back_check: None })
}

fn check(input: &Input) -> Result<(), Failure> {
    if input.text.chars().nth(MAX_CHARACTERS).is_some() {
        return Err(Failure::too_large(format!(
            "the text has more than {MAX_CHARACTERS} characters: send parts of it"
        )));
    }
    let long = |text: &String| text.is_empty() || text.chars().nth(MAX_TERM).is_some();
    if input.glossary.len() > MAX_TERMS || input.glossary.iter().any(|(term, word)| long(term) || long(word)) {
        let message = format!("must have at most {MAX_TERMS} terms of 1 to {MAX_TERM} characters");
        return Err(Failure::invalid(&["glossary"], message));
    }
    for (field, code) in [("to", Some(&input.to)), ("from", input.from.as_ref())] {
        if code.is_some_and(|code| by_code(code).is_none()) {
            return Err(Failure::invalid(&[field], "is none of the 84 languages: GET /api/languages lists them"));
        }
    }
    Ok(())
}

/// Returns the language of the text.
fn source(text: &str, context: &Context) -> Result<String, Failure> {
    let detection = detect(context.languages().table()?, text, &[])
        .map_err(|error| Failure::NoModel { id: "languages".to_owned(), why: error.to_string() })?;
    let found = detection.determined().map(|guess| guess.language.code.clone());
    found.ok_or_else(|| Failure::invalid(&["from"], "could not be detected: name the language of the text"))
}

fn is_word(part: &&str) -> bool {
    part.chars().any(char::is_alphabetic)
}

fn fold(text: &str) -> String {
    let lower: String = text.nfc().flat_map(char::to_lowercase).nfc().collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Matcher<'a> {
    dictionary: Option<&'a Dictionary>,
    /// Translation by folded term.
    glossary: HashMap<String, String>,
    from: &'a str,
    to: &'a str,
}

/// What was translated so far.
#[derive(Default)]
struct Work {
    out: String,
    /// Words by whether and how they were translated.
    names: usize,
    terms: usize,
    left: usize,
    untranslated: Vec<String>,
    seen: HashSet<String>,
}

impl Work {
    fn coverage(&self) -> f64 {
        let all = self.names + self.terms + self.left;
        if all == 0 { 1.0 } else { (self.names + self.terms) as f64 / all as f64 }
    }
}

impl Matcher<'_> {
    fn translate(&self, text: &str) -> Work {
        let words: Vec<(usize, usize)> = text
            .split_word_bound_indices()
            .filter(|(_, part)| is_word(part))
            .map(|(at, part)| (at, at + part.len()))
            .collect();
        let (mut work, mut nth, mut written) = (Work::default(), 0, 0);
        while let Some(&(start, end)) = words.get(nth) {
            work.out.push_str(text.get(written..start).unwrap_or_default());
            let spans = words.get(nth..).unwrap_or_default().iter().take(MAX_WORDS).enumerate().rev();
            let found = spans
                .filter_map(|(more, &(_, end))| Some((more + 1, end, text.get(start..end)?)))
                .find_map(|(count, end, span)| Some((count, end, self.look_up(span)?)));
            match found {
                Some((count, end, (translation, is_term))) => {
                    *(if is_term { &mut work.terms } else { &mut work.names }) += count;
                    work.out.push_str(&translation);
                    (nth, written) = (nth + count, end);
                }
                None => {
                    let word = text.get(start..end).unwrap_or_default();
                    work.left += 1;
                    if work.untranslated.len() < MAX_UNTRANSLATED && work.seen.insert(word.to_owned()) {
                        work.untranslated.push(word.to_owned());
                    }
                    work.out.push_str(word);
                    (nth, written) = (nth + 1, end);
                }
            }
        }
        work.out.push_str(text.get(written..).unwrap_or_default());
        work
    }

    /// Returns the translation of these words, and whether it is a term of the glossary.
    fn look_up(&self, span: &str) -> Option<(String, bool)> {
        if let Some(term) = self.glossary.get(&fold(span)) {
            return Some((term.clone(), true));
        }
        let named = self.dictionary?.translate(span, self.from, self.to)?;
        Some((named.translation, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(text: &str, glossary: &[(&str, &str)]) -> Work {
        let json = r#"{"en": {"1": ["fire"], "2": ["fire engine"], "3": ["cat"]}, "pt": {"1": ["fogo"], "2": ["carro do corpo de bombeiros"], "3": ["gato"]}}"#;
        let dictionary = Dictionary::parse(json.as_bytes()).unwrap();
        let glossary = glossary.iter().map(|(term, word)| (fold(term), (*word).to_owned())).collect();
        Matcher { dictionary: Some(&dictionary), glossary, from: "en", to: "pt" }.translate(text)
    }

    #[test]
    fn the_longest_match_counts_and_the_rest_stays() {
        let work = matched("A fire engine, 3 fires;\n Fire: 12.5 %{x}!", &[]);
        assert_eq!(work.out, "A carro do corpo de bombeiros, 3 fires;\n Fogo: 12.5 %{x}!");
        assert_eq!(work.untranslated, ["A", "fires", "x"]);
        assert!((work.coverage() - 0.5).abs() < 1e-12, "3 of 6 words");
    }

    #[test]
    fn the_glossary_comes_before_the_names() {
        let work = matched("Fire engine and CAT", &[("fire engine", "viatura"), ("and", "e")]);
        assert_eq!((work.out.as_str(), work.terms, work.names), ("viatura e Gato", 3, 1));
    }

    #[test]
    fn unknown_codes_and_large_inputs_are_named() {
        let run = |input| crate::FAMILY.run(165, input, &Context::default()).unwrap_err();
        let unknown = run(serde_json::json!({ "text": "x", "to": "tlh" }));
        assert!(matches!(&unknown, Failure::Invalid { problems } if problems[0].loc == ["to"]));
        let long = run(serde_json::json!({ "text": "x".repeat(20_001), "from": "en", "to": "pt" }));
        assert!(matches!(long, Failure::TooLarge { .. }));
        let absent = run(serde_json::json!({ "text": "hello", "to": "pt" }));
        assert!(matches!(absent, Failure::NoModel { .. }));
    }
}
