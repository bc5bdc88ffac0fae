//! q167: language detection.

use muster_media::languages::{Detection, TableError, UNDETERMINED, by_code, detect, detect_sentences};

use muster_engine::prelude::*;

/// Number of languages beside the best.
const ALTERNATIVES: usize = 3;
/// Code of a text that is in no language (ISO 639-2).
const NONE: &str = "und";
/// Confidence under which a warning says that it is low.
const LOW: f64 = 0.7;

#[derive(Input)]
pub struct Input {
    text: String,
    candidates: Vec<String>,
    per_sentence: bool,
}

#[derive(Output)]
pub struct Output {
    language: &'static str,
    name: &'static str,
    script: &'static str,
    confidence: f64,
    reliable: bool,
    alternatives: Vec<Alternative>,
    segments: Vec<Segment>,
}

#[derive(Output)]
struct Alternative {
    language: &'static str,
    confidence: f64,
}

#[derive(Output)]
struct Segment {
    text: String,
    language: &'static str,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    for (at, code) in input.candidates.iter().enumerate() {
        if by_code(code).is_none() {
            let code: String = code.chars().take(20).collect();
            let message = format!("{code:?} is none of the 84 languages: send ISO 639-1 codes such as \"en\"");
            return Err(Failure::invalid(&["candidates", &at.to_string()], message));
        }
    }
    let candidates: Vec<&str> = input.candidates.iter().map(String::as_str).collect();
    let table = context.languages().table()?;
    let damaged = |error: TableError| Failure::NoModel { id: "languages".to_owned(), why: error.to_string() };
    let detection = detect(table, &input.text, &candidates).map_err(damaged)?;
    let segments = match input.per_sentence {
        false => Vec::new(),
        true => detect_sentences(table, &input.text, &candidates).map_err(damaged)?,
    };
    let segments = segments.into_iter().map(|(text, found)| Segment { text: text.to_owned(), language: code(&found) });
    let best = detection.best();
    let confidence = best.map_or(0.0, |guess| guess.confidence.clamp(0.0, 1.0));
    match best {
        None => context.warn("undetermined: the text has no letters"),
        Some(_) if confidence < UNDETERMINED => context.warn("undetermined: the language is a guess"),
        Some(_) if confidence < LOW => context.warn("low_confidence: about one in four such answers is wrong"),
        Some(_) => {}
    }
    let others = detection.ranking.iter().skip(1).take(ALTERNATIVES);
    Ok(Output {
        language: code(&detection),
        name: best.map_or("Undetermined", |guess| guess.language.english.as_str()),
        script: detection.script,
        confidence,
        reliable: detection.is_reliable(),
        alternatives: others
            .map(|guess| Alternative { language: &guess.language.code, confidence: guess.confidence.clamp(0.0, 1.0) })
            .collect(),
        segments: segments.collect(),
    })
}

fn code(detection: &Detection) -> &'static str {
    detection.best().map_or(NONE, |guess| guess.language.code.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use muster_engine::prelude::*;

    #[test]
    fn an_absent_table_and_an_unknown_candidate_are_named() {
        let absent = crate::FAMILY.run(167, json!({ "text": "hello" }), &Context::default()).unwrap_err();
        assert!(absent.to_string().ends_with("fetch it with `muster models pull languages`"), "{absent}");
        let unknown =
            crate::FAMILY.run(167, json!({ "text": "hello", "candidates": ["en", "xx"] }), &Context::default());
        let Err(Failure::Invalid { problems }) = unknown else { panic!("{unknown:?}") };
        assert_eq!(problems[0].loc, ["candidates", "1"]);
    }
}
