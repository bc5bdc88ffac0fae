//! q163: answer grounding and guardrail.

pub(crate) mod claims;
pub(crate) mod repair;
#[cfg(test)]
mod tests;

use muster_kernel_schema::Schema;
use muster_kernel_words::tokens::{fold, words};

use muster_engine::prelude::*;

use claims::{Status, Text, check};

/// Bytes of the answer and of all sources, and banned phrases.
const MAX_ANSWER: usize = 100_000;
const MAX_SOURCES: usize = 2_000_000;
const MAX_BANNED: usize = 1_000;
/// Errors of the schema that are listed.
const MAX_ERRORS: usize = 100;

#[derive(Input)]
pub struct Input {
    answer: String,
    sources: Vec<Source>,
    schema: Option<Value>,
    banned: Vec<String>,
    minimum_support: f64,
}

#[derive(Input)]
struct Source {
    id: String,
    text: String,
}

#[derive(Output)]
pub struct Output {
    accepted: bool,
    support: f64,
    claims: Vec<Claim>,
    numbers_missing: Vec<String>,
    schema_errors: Vec<String>,
    repaired: Option<Value>,
}

#[derive(Output)]
struct Claim {
    text: String,
    status: Status,
    source: String,
    score: f64,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let Input { answer, sources, schema, banned, minimum_support } = input;
    let bytes: usize = sources.iter().map(|source| source.text.len()).sum();
    if answer.len() > MAX_ANSWER || bytes > MAX_SOURCES || banned.len() > MAX_BANNED {
        return Err(Failure::too_large(format!(
            "an answer of {} bytes, sources of {bytes}, {} banned phrases; allowed are {MAX_ANSWER}, {MAX_SOURCES} and {MAX_BANNED}",
            answer.len(),
            banned.len()
        )));
    }
    let (repaired, schema_errors) = match &schema {
        Some(schema) => structured(&answer, schema)?,
        None => (None, Vec::new()),
    };
    let texts: Vec<Text<'_>> = sources.iter().map(|source| Text { id: &source.id, text: &source.text }).collect();
    let checked = if sources.is_empty() { Vec::new() } else { check(&answer, &texts)? };
    if sources.is_empty() {
        context.warn("no_sources: nothing can be supported; only the schema and banned phrases were checked");
    }
    let (support, numbers_missing) = (claims::support(&checked), claims::missing(&checked));
    let banned = found_banned(&answer, &banned);
    for phrase in &banned {
        context.warn(format!("banned: the answer has {phrase:?}"));
    }
    // Without sources a schema is all that an answer can be held to; an answer without both is not accepted.
    let grounded = match sources.is_empty() {
        true => schema.is_some(),
        false => claims::accepted(&checked, minimum_support),
    };
    Ok(Output {
        accepted: grounded && schema_errors.is_empty() && banned.is_empty(),
        support,
        claims: checked
            .into_iter()
            .map(|claim| Claim { text: claim.text, status: claim.status, source: claim.source, score: claim.score })
            .collect(),
        numbers_missing,
        schema_errors,
        repaired,
    })
}

/// The answer as JSON, repaired where it must be, and how it differs from the schema.
fn structured(answer: &str, schema: &Value) -> Result<(Option<Value>, Vec<String>), Failure> {
    let schema = Schema::new(schema, false).map_err(|error| Failure::invalid(&["schema"], error.to_string()))?;
    let Some(value) = repair::json(answer) else {
        return Ok((None, vec!["the answer holds no JSON".to_owned()]));
    };
    let (errors, _) = schema.errors(&value, MAX_ERRORS);
    let errors = errors.into_iter().map(|error| format!("{}: {}", error.instance_path, error.message)).collect();
    Ok((Some(value), errors))
}

/// The banned phrases that occur as whole words, without regard to case and diacritics.
fn found_banned<'a>(answer: &str, banned: &'a [String]) -> Vec<&'a String> {
    let joined = |text: &str| format!(" {} ", words(text).map(|(_, word)| fold(word)).collect::<Vec<_>>().join(" "));
    let answer = joined(answer);
    banned.iter().filter(|phrase| joined(phrase).len() > 2 && answer.contains(&joined(phrase))).collect()
}
